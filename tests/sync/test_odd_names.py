"""A source may hold names that cannot be governed: they are left out and told, and stop nothing else."""

from __future__ import annotations

import pytest

from policies.models import Backend, BackendFinding, Discovery
from policies.sync import worker
from policies.sync.discovery import discoveries
from tests.factories import the
from tests.sync.conftest import Source, discover_now

SCHEMA = 'CREATE SCHEMA "sk\nl"; CREATE TABLE "sk\nl".inside (id int)'
TABLE = 'CREATE TABLE stock."bo\txes" (id int)'
COLUMN = 'CREATE TABLE stock.columns ("co\rl" int)'
LOGIN = """CREATE ROLE "lo\ngin" LOGIN; GRANT USAGE ON SCHEMA stock TO "lo\ngin";
           CREATE TABLE stock.owned (id int); ALTER TABLE stock.owned OWNER TO "lo\ngin" """


@pytest.mark.parametrize("odd", [SCHEMA, TABLE, COLUMN, LOGIN], ids=["schema", "table", "column", "login"])
def test_one_odd_name_stops_nothing(governed: Backend, source: Source, odd: str) -> None:
    try:
        source.run(odd)
        source.run("CREATE TABLE stock.plain (id int)")
        discovery = discover_now(governed)
        assert the("table", "shop.stock.plain")
        left_out = {SCHEMA: 2, TABLE: 1}.get(odd, 0)
        assert len(discovery.left_out) == left_out
        worker.look(governed, whole=True)
        findings = BackendFinding.objects.filter(kind="unknown", what__contains="cannot be governed")
        assert findings.count() == left_out
    finally:
        source.run('DROP TABLE IF EXISTS stock.owned; DROP SCHEMA IF EXISTS "sk\nl" CASCADE')
        if odd is LOGIN:
            source.run('DROP OWNED BY "lo\ngin"; DROP ROLE "lo\ngin"')


def test_what_is_left_out_is_told_escaped(governed: Backend, source: Source) -> None:
    source.run(TABLE)
    reading = Discovery.objects.create(backend=governed, by="system")
    discoveries.run_waiting()
    reading.refresh_from_db()
    assert reading.error == ""
    assert reading.left_out == ["table stock.bo\\txes cannot be governed: its name has control characters"]


def test_a_renamed_one_keeps_its_rights_until_its_name_is_taken(governed: Backend, source: Source) -> None:
    before = the("table", "shop.stock.items")
    source.run('ALTER TABLE stock.items RENAME TO "it\nems"')
    discovery = discover_now(governed)
    assert (discovery.vanished, len(discovery.left_out)) == ([], 1)
    assert the("table", "shop.stock.items") == before
    source.run("CREATE TABLE stock.items (id int)")
    discover_now(governed)
    assert the("table", "shop.stock.items").id != before.id

"""What people of a metalake can do in a real Trino, which asks the console before each operation."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest

from accounts import people, tokens
from authzsite.api.trino.operations import OPERATIONS
from policies.models import AccessRecord
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.factories import a_role, acting, owned, the, under
from tests.real.trino.conftest import PEOPLE, TABLES, Lake, committed
from tests.real.trino.server import Refused

pytestmark = [pytest.mark.seed("S4-003"), pytest.mark.django_db]
EVERYBODYS = {"columns", "tables", "views", "schemata", "table_privileges", "roles"}
EVERYBODYS |= {"applicable_roles", "enabled_roles"}
LETS = [
    # statement, who may
    ("SELECT count(*) FROM shop.sales.orders", "marek olivia mia"),
    ("SELECT item FROM shop.sales.orders WHERE id = 1", "marek olivia mia"),
    ("SELECT count(*) FROM shop.sales.orders o JOIN lake.raw.events e ON o.id = e.id", "marek mia"),
    ("SELECT count(*) FROM shop.stock.items", "marek"),
    ("SELECT count(*) FROM lake.raw.events", "marek mia carl wren"),
    ("SELECT count(*) FROM lake.raw.bills", "marek"),
    ("SELECT abs(-1)", "marek olivia mia carl wren ana"),
    ("SHOW SCHEMAS FROM shop", "marek olivia mia carl ana"),
    ("SHOW TABLES FROM shop.sales", "marek olivia mia carl"),
    ("SHOW COLUMNS FROM shop.sales.orders", "marek olivia mia"),
    ("DESCRIBE lake.raw.bills", "marek"),
    ("SHOW CREATE TABLE shop.sales.customers", "marek olivia mia"),
    ("INSERT INTO lake.raw.events VALUES 4", "marek wren"),
    ("INSERT INTO shop.sales.orders SELECT max(id) + 1, 'fig' FROM shop.sales.orders", "marek olivia"),
    ("DELETE FROM shop.sales.customers", "marek olivia"),
    ("TRUNCATE TABLE lake.raw.bills", "marek"),
    ("COMMENT ON TABLE shop.stock.items IS 'x'", "marek"),
    ("ALTER TABLE shop.stock.items ADD COLUMN price int", "marek"),
    ("SELECT * FROM TABLE(shop.system.query(query => 'SELECT 1 AS one'))", ""),
    ("CALL shop.system.execute(query => 'SELECT 1')", ""),
    ("CALL system.runtime.kill_query(query_id => 'x', message => 'y')", ""),
    ("SELECT count(*) FROM system.runtime.queries", ""),
    ("SELECT count(*) FROM system.metadata.catalogs", "marek olivia mia carl wren ana"),
    ("SET SESSION query_max_run_time = '1h'", "marek olivia mia carl wren ana"),
]


@pytest.mark.parametrize(("statement", "expected"), LETS, ids=[statement for statement, _ in LETS])
def test_who_may_run_a_statement(lake: Lake, statement: str, expected: str) -> None:
    assert [name for name in PEOPLE if lake.trino.lets(name, statement)] == expected.split()


def names(lake: Lake, person: str, statement: str) -> list[str]:
    """The first column, in order, without what Trino has in every catalog."""
    return sorted(
        {row[0] for row in lake.trino.query(person, statement)} - EVERYBODYS - {"information_schema"}
    )


LISTS = [
    # statement, person, what it shows them
    ("SHOW CATALOGS", "mia", "lake shop system"),
    ("SHOW CATALOGS", "wren", "lake system"),
    ("SHOW CATALOGS", "zoe", ""),
    ("SHOW SCHEMAS FROM shop", "mia", "sales"),
    ("SHOW SCHEMAS FROM shop", "ana", ""),
    ("SHOW SCHEMAS FROM shop", "marek", "public sales stock"),
    ("SHOW TABLES FROM shop.sales", "mia", "customers orders"),
    ("SHOW TABLES FROM shop.sales", "carl", ""),
    ("SHOW TABLES FROM lake.raw", "mia", "events"),
    ("SHOW TABLES FROM lake.raw", "marek", "bills events"),
    ("SELECT table_name FROM shop.information_schema.tables", "mia", "customers orders"),
    ("SELECT table_name FROM shop.information_schema.tables", "ana", ""),
    ("SELECT column_name FROM lake.information_schema.columns WHERE table_schema = 'raw'", "wren", "id"),
    ("SELECT table_name FROM system.jdbc.tables WHERE table_schem = 'sales'", "mia", "customers orders"),
    ("SELECT table_name FROM system.jdbc.tables WHERE table_schem = 'sales'", "ana", ""),
]


@pytest.mark.parametrize(("statement", "person", "shown"), LISTS)
def test_lists_hold_what_the_person_may_see(lake: Lake, statement: str, person: str, shown: str) -> None:
    if person == "zoe":
        with pytest.raises(Refused, match="PERMISSION_DENIED"):
            lake.trino.query(person, statement)
    else:
        assert names(lake, person, statement) == shown.split()


def reads(lake: Lake, person: str, table: str) -> bool:
    return lake.trino.lets(person, f"SELECT 1 FROM {table} LIMIT 1")


def decided(lake: Lake, person: str, table: str) -> bool:
    """What the console answers to the same question by AuthZEN."""
    body = {
        "subject": {"type": "user", "id": person},
        "action": {"name": "read"},
        "resource": {"type": "table", "id": f"demo/{table}"},
    }
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {lake.gate.token}"}
    url = f"{lake.site}/access/v1/evaluation"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310 - loopback
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        return bool(json.load(answer)["decision"])


def test_trino_reads_what_the_console_says(lake: Lake, figures: Any) -> None:
    pairs = [(person, table) for person in PEOPLE for table in TABLES]
    there = {pair: reads(lake, *pair) for pair in pairs}
    here = {pair: decided(lake, *pair) for pair in pairs}
    assert there == here
    assert {person for (person, _), yes in here.items() if yes} == {"marek", "olivia", "mia", "carl", "wren"}
    figures.note("People × tables", asked=len(pairs), allowed=sum(here.values()), differences=0)


def test_the_next_query_knows_what_was_granted_and_revoked(lake: Lake) -> None:
    table, by = "lake.raw.bills", acting("marek")
    assert not reads(lake, "mia", table)
    mia, codes = people.ensure("user", "mia"), ("SELECT_TABLE",)
    committed(lambda: grants.add(GrantRequest(the("table", table), (mia,), codes), by=by))
    assert reads(lake, "mia", table)
    committed(lambda: grants.remove(the("table", table), [mia], codes, by=by))
    assert not reads(lake, "mia", table)


def test_a_table_is_made_where_one_may_and_read_once_it_is_known(lake: Lake) -> None:
    made = "CREATE TABLE lake.raw.{} (id int)"
    assert [name for name in PEOPLE if lake.trino.lets(name, made.format(f"by_{name}"))] == ["marek", "wren"]
    assert not reads(lake, "wren", "lake.raw.by_wren"), "nobody has said whose it is"
    committed(lambda: owned(under(the("schema", "lake.raw"), "table", "by_wren")[0], "wren"))
    assert reads(lake, "wren", "lake.raw.by_wren") and not reads(lake, "mia", "lake.raw.by_wren")
    assert lake.trino.lets("wren", "DROP TABLE lake.raw.by_wren")


def test_a_view_passes_on_only_what_its_maker_may_pass_on(lake: Lake) -> None:
    draws = "allow CREATE_VIEW on schema lake.raw"
    committed(lambda: a_role(the("metalake"), "drawer", draws, held_by=("mia",)))
    view = "CREATE VIEW lake.raw.{} AS SELECT id FROM lake.raw.events"
    with pytest.raises(Refused, match="PERMISSION_DENIED"):
        lake.trino.query("mia", view.format("copied"))  # who only reads cannot let others read
        lake.trino.query("mia", "SELECT * FROM lake.raw.copied")
    lake.trino.query("marek", view.format("shown"))
    committed(lambda: owned(under(the("schema", "lake.raw"), "view", "shown")[0], "marek"))
    assert not reads(lake, "ana", "lake.raw.shown")
    way = ("allow USE_SCHEMA on schema lake.raw", "allow SELECT_VIEW on view lake.raw.shown")
    committed(lambda: a_role(the("metalake"), "viewer", *way, held_by=("ana",)))
    assert reads(lake, "ana", "lake.raw.shown") and not reads(lake, "ana", "lake.raw.events")


def test_a_refusal_is_recorded_and_what_a_list_leaves_out_is_not(lake: Lake) -> None:
    refused = AccessRecord.objects.filter(kind=AccessRecord.Kind.REFUSED, via="trino")
    before = refused.count()
    assert names(lake, "carl", "SHOW TABLES FROM lake.raw") == ["events"]
    assert refused.count() == before
    with pytest.raises(Refused, match="Access Denied: Cannot select from columns"):
        lake.trino.query("carl", "SELECT item FROM shop.sales.orders")
    assert refused.filter(object_name__endswith="shop.sales.orders").exists()


def test_nothing_runs_while_the_console_does_not_answer(lake: Lake) -> None:
    lake.gate.open = False
    try:
        for person in ("marek", "mia"):
            with pytest.raises(Refused):
                lake.trino.query(person, "SELECT count(*) FROM lake.raw.events")
    finally:
        lake.gate.open = True
    assert reads(lake, "mia", "lake.raw.events")


def test_nothing_runs_for_a_caller_who_may_not_ask(lake: Lake) -> None:
    good = lake.gate.token
    lake.gate.token = committed(lambda: tokens.create(people.ensure("user", "ana")))
    try:
        assert reads(lake, "ana", "lake.raw.events") is False
        with pytest.raises(Refused):
            lake.trino.query("mia", "SELECT count(*) FROM lake.raw.events")
    finally:
        lake.gate.token = good


def test_nobody_is_somebody_else(lake: Lake) -> None:
    assert lake.trino.query("marek", "SELECT current_user", as_="marek") == [["marek"]]
    with pytest.raises(Refused, match="cannot impersonate"):
        lake.trino.query("ana", "SELECT current_user", as_="marek")


def test_each_operation_that_trino_asks_is_known(lake: Lake, figures: Any) -> None:
    """Runs last: what the statements above made the plug-in ask."""
    none_in_the_law = {"GetRowFilters", "GetColumnMask"}
    refused_to_all = {"ExecuteProcedure"}
    assert set(lake.gate.asked) - none_in_the_law - refused_to_all <= set(OPERATIONS)
    assert none_in_the_law <= set(lake.gate.asked)
    figures.note(
        "Operations that the plug-in asked about",
        kinds=len(lake.gate.asked),
        questions=lake.gate.asked.total(),
    )

"""Who is denied a table does not read its rows through another: a partition, or what inherits."""

from __future__ import annotations

import pytest

from lakewarden.backends.base import FoundObject
from lakewarden.backends.decisions import same_rows
from policies.models import Backend, BackendFinding
from policies.sync import worker
from tests.factories import a_role, the
from tests.sync.conftest import Source, demo_members, discover_now, governed, source

__all__ = ["demo_members", "governed", "source"]

PARTITIONED = """
    CREATE TABLE sales.wages (day date NOT NULL, sum int) PARTITION BY RANGE (day);
    CREATE TABLE sales.wages_2024 PARTITION OF sales.wages
        FOR VALUES FROM ('2024-01-01') TO ('2025-01-01') PARTITION BY RANGE (day);
    CREATE TABLE sales.wages_may PARTITION OF sales.wages_2024
        FOR VALUES FROM ('2024-05-01') TO ('2024-06-01');
"""
INHERITED = """
    CREATE TABLE sales.wages (day date NOT NULL, sum int);
    CREATE TABLE sales.wages_2024 () INHERITS (sales.wages);
    CREATE TABLE sales.wages_may () INHERITS (sales.wages_2024);
"""
FAMILY = ("sales.wages", "sales.wages_2024", "sales.wages_may")


@pytest.mark.parametrize("tables", [PARTITIONED, INHERITED], ids=["partitions", "inheritance"])
@pytest.mark.parametrize("denied", FAMILY)
def test_who_is_denied_one_gets_none_that_shows_its_rows(
    governed: Backend, source: Source, tables: str, denied: str
) -> None:
    source.run(tables)
    discover_now(governed)
    worker.deliver(governed)
    assert all(source.reads("mia", table) for table in FAMILY)
    a_role(the("metalake"), "not_wages", f"deny SELECT_TABLE on table shop.{denied}", held_by=("mia",))
    report = worker.deliver(governed)
    assert report is not None and report.in_sync
    assert not any(source.reads("mia", table) for table in FAMILY)
    assert source.reads("mia", "sales.orders")
    [finding] = BackendFinding.objects.filter(kind="unknown", what__startswith=f"{denied} is denied")
    assert all(table in finding.what for table in FAMILY if table != denied)


def test_two_that_a_third_is_a_part_of_show_its_rows_both() -> None:
    """Who is denied staff reads no clerks, who are of both, through payees."""
    parts = {"staff": (), "payees": (), "others": (), "clerks": (("hr", "staff"), ("hr", "payees"))}
    tables = [FoundObject("table", ("hr", name), name, part_of=part_of) for name, part_of in parts.items()]
    shown = {path[1]: {other[1] for other in others} for path, others in same_rows(tables).items()}
    assert shown == {
        "staff": {"clerks", "payees"},
        "payees": {"clerks", "staff"},
        "clerks": {"staff", "payees"},
    }

"""The numbers of Home, for who owns very much."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from catalog.models import Placement
from catalog.nodes import Numbers, any_along, on_or_below
from policies.decisions.lookups import counts
from policies.models import Event
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.factories import a_person, acting, the
from tests.policies.conftest import make_shop

VERY_MANY = range(1_000_000_000, 1_000_070_000)
"""More numbers than one statement may have parameters."""


@pytest.mark.parametrize("beside", [(), VERY_MANY], ids=["one object", "70,000 objects"])
def test_changes_are_counted_however_much_one_owns(beside: range, db: None) -> None:
    make_shop()
    orders = the("table", "shop.sales.orders")
    grants.add(GrantRequest(orders, (a_person("ana"),), ("SELECT_TABLE",)), by=acting("olivia"))
    yesterday = timezone.now() - timedelta(days=1)
    counts_by_day = counts.changes_by_day({orders.id, *beside}, ["grant.added"], since=yesterday)
    assert sum(counts_by_day.values()) >= 1
    none = counts.changes_by_day({orders.id, *beside}, ["grant.added"], since=timezone.now())
    assert not none


def test_those_are_counted_who_hold_something_at_a_moment(db: None) -> None:
    make_shop()
    sales = the("schema", "shop.sales")
    before = timezone.now()
    assert counts.people({sales.id}, at=(before,)) == [3]  # Olivia owns it; Mia and Carl, analysts, read it
    made = grants.add(
        GrantRequest(the("table", "shop.sales.orders"), (a_person("ana"),), ("SELECT_TABLE",)),
        by=acting("olivia"),
    )
    now = timezone.now()
    assert made
    assert counts.people({sales.id, *VERY_MANY}, at=(now, before)) == [4, 3]
    assert counts.people({the("schema", "shop.stock").id}, at=(now,)) == [0]
    assert counts.people({sales.id}, at=(before - timedelta(days=1),)) == [0]


def test_what_lies_below_is_found_however_many_are_asked_of(db: None) -> None:
    make_shop()
    for name, inside in (("shop.sales", 5), ("shop.stock", 2), ("shop.sales.orders", 1)):
        node = the("table" if name.endswith("orders") else "schema", name)
        few, many = (Numbers.of({node.id, *beside}) for beside in ((), VERY_MANY))
        with CaptureQueriesContext(connection) as asked:
            below = [set(Placement.objects.filter(on_or_below(keys))) for keys in (few, many, many)]
        assert len(below[0]) == inside
        assert below[0] == below[1] == below[2]
        assert len(asked) == 4  # of many it is asked once which hold anything
        along = [set(Event.objects.filter(any_along("object_key", "lineage", keys))) for keys in (few, many)]
        assert along[0] == along[1] == set(Event.objects.filter(lineage__contains=[node.id]))

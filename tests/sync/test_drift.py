"""What changes between two looks: names that swap, tables that move, a catalog that goes."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts import people
from policies.models import Backend, Counter
from policies.services import grants, objects, roles
from policies.services.grants import GrantRequest
from policies.sync import reconcile, worker
from policies.sync.connections.opening import open_backend
from tests.factories import AUTHORITY, BY, a_role, acting, the, under
from tests.sync.conftest import Source, discover_now

ORDERS, CUSTOMERS = "shop.sales.orders", "shop.sales.customers"


def grant_ana() -> None:
    wish = GrantRequest(the("table", ORDERS), (people.ensure("user", "ana"),), ("SELECT_TABLE",))
    grants.add(wish, by=acting("olivia"))


def test_tables_that_swapped_their_names_keep_their_facts(governed: Backend, source: Source) -> None:
    grant_ana()
    orders, customers = the("table", ORDERS).id, the("table", CUSTOMERS).id
    source.run(
        "ALTER TABLE sales.orders RENAME TO t; ALTER TABLE sales.customers RENAME TO orders;"
        "ALTER TABLE sales.t RENAME TO customers"
    )
    assert discover_now(governed).renamed == 2
    assert (the("table", CUSTOMERS).id, the("table", ORDERS).id) == (orders, customers)
    worker.deliver(governed)
    assert source.reads("ana", "sales.customers")
    assert not source.reads("ana", "sales.orders")


def test_a_table_that_moved_stands_below_its_new_schema_alone(governed: Backend, source: Source) -> None:
    orders = the("table", ORDERS).id
    source.run("ALTER TABLE sales.orders SET SCHEMA stock")
    assert discover_now(governed).renamed == 1
    assert the("table", "shop.stock.orders").id == orders
    worker.deliver(governed)
    # Mia reads sales and no longer what left it
    assert not source.reads("mia", "stock.orders")
    assert source.reads("mia", "sales.customers")


def test_a_catalog_that_is_dropped_takes_its_rights_out_there_with_it(
    governed: Backend, source: Source
) -> None:
    worker.deliver(governed)
    assert source.reads("mia")
    objects.drop(the("catalog", "shop"), by=BY, authority=AUTHORITY)
    report = worker.deliver(governed)
    assert report is not None
    assert report.settled
    assert not source.reads("mia")
    assert source.reads("legacy")
    assert not source.run("SELECT rolname FROM pg_roles WHERE rolname LIKE 'lw%'")


def test_an_object_registered_by_hand_is_what_the_source_has_under_that_name(
    governed: Backend, source: Source
) -> None:
    [by_hand] = under(the("schema", "shop.stock"), "table", "parcels")
    [schema] = under(the("catalog", "shop"), "schema", "returns")
    source.run(
        "CREATE TABLE stock.parcels (id int); CREATE SCHEMA returns; CREATE TABLE returns.labels (id int)"
    )
    discovery = discover_now(governed)
    assert (discovery.taken_up, discovery.added) == (2, 1)
    assert the("table", "shop.stock.parcels").id == by_hand.id
    assert the("table", "shop.returns.labels").lineage[-2] == schema.id
    source.run("ALTER TABLE stock.parcels RENAME TO boxes")
    assert discover_now(governed).renamed == 1
    assert the("table", "shop.stock.boxes").id == by_hand.id


def test_a_role_held_no_longer_is_left_though_another_gives_the_same(
    governed: Backend, source: Source
) -> None:
    rules = ("allow USE_SCHEMA on schema shop.stock", "allow SELECT_TABLE on schema shop.stock")
    root, ana = the("metalake"), people.ensure("user", "ana")
    a_role(root, "lasting", *rules, held_by=("ana",))
    past = a_role(root, "past", *rules)
    end = timezone.now() - timedelta(minutes=1)
    roles.assign(past, ana, valid_until=end, by=BY, authority=AUTHORITY)
    worker.deliver(governed)
    assert source.reads("ana", "stock.items")
    with closing(open_backend(governed, the("catalog", "shop"))) as out_there:
        assert "ana" not in out_there.observe().members.get(f"role:{past.id}", ())


def test_a_revision_is_proved_only_when_all_that_was_read_is_at_least_as_new(
    governed: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    reconcile.reconcile(governed)  # which system it is, is on record from now on
    real, before = reconcile.Wanted, Counter.objects.get().revision

    def and_then_somebody_writes(*what: object, **more: object) -> object:
        a_role(the("metalake"), "late")
        return real(*what, **more)

    monkeypatch.setattr(reconcile, "Wanted", and_then_somebody_writes)
    assert reconcile.reconcile(governed).revision == before

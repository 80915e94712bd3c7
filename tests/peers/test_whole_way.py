"""A realm here and a metalake of another console: what is decided here is what the other's law answers."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts import people
from lakewarden.backends.base import Right
from policies.models import Backend, BackendFinding
from policies.services import grants, members, roles
from policies.services.grants import GrantRequest
from policies.sync import worker
from policies.sync.actions import foreign_rights
from policies.sync.connections import registration
from policies.sync.connections.trial import tried
from tests.factories import AUTHORITY, BY, KEPT, a_metalake, a_role, acting, admit, owned, the, under
from tests.peers.worlds import Lake

pytestmark = pytest.mark.django_db
ORDERS = "shop.sales.orders"


@pytest.fixture
def lake(peer) -> Lake:
    there = Lake(peer, realm="demo", mark="-")
    there.schema("sales")
    there.table("sales", "orders")
    return there


@pytest.fixture
def governed(lake: Lake) -> Backend:
    """Metalake demo here, with the same catalog, connected to the lake over there."""
    root = a_metalake()
    [shop] = under(root, "catalog", "shop")
    [sales] = under(shop, "schema", "sales")
    under(sales, "table", "orders")
    admit(root, "olivia", "ana", "group:staff")
    owned(shop, "olivia")
    return registration.connect(
        root, "", "gravitino", lake.url, policy="repair", registered=KEPT, by=BY, authority=AUTHORITY
    )


def reads(lake: Lake, person: str) -> bool:
    return lake.may(person, "SELECT", "sales", "orders")


def settled(row: Backend) -> bool:
    report = worker.now(row)
    assert report.error == "", report.error
    return report.settled


READER = (
    "allow USE_CATALOG on catalog shop",
    "allow USE_SCHEMA on schema shop.sales",
    "allow SELECT_TABLE on table shop.sales.orders",
)


def test_what_is_decided_here_is_answered_there(governed: Backend, lake: Lake) -> None:
    role = a_role(the("metalake"), "reader", *READER, held_by=("ana",))
    assert not reads(lake, "ana")
    assert settled(governed)
    assert reads(lake, "ana")
    deny = a_role(the("metalake"), "not_now", "deny SELECT_TABLE on schema shop.sales", held_by=("ana",))
    assert settled(governed)
    assert not reads(lake, "ana")
    roles.unassign(deny, people.ensure("user", "ana"), by=BY, authority=AUTHORITY)
    assert settled(governed)
    assert reads(lake, "ana")
    roles.unassign(role, people.ensure("user", "ana"), by=BY, authority=AUTHORITY)
    assert settled(governed)
    assert not reads(lake, "ana")


def test_a_group_gives_there_what_it_gives_here(governed: Backend, lake: Lake) -> None:
    a_role(the("metalake"), "reader", *READER, held_by=("group:staff",))
    assert settled(governed)
    assert not reads(lake, "bo")
    admit(the("metalake"), "bo")
    staff, bo = people.ensure("group", "staff"), people.ensure("user", "bo")
    members.join_group(staff, bo, by=BY, authority=AUTHORITY)
    assert settled(governed)
    assert reads(lake, "bo")
    members.leave_group(staff, bo, by=BY, authority=AUTHORITY)
    assert settled(governed)
    assert not reads(lake, "bo")


def test_a_grant_is_there_only_while_its_time_lasts(governed: Backend, lake: Lake, monkeypatch) -> None:
    ana, soon = people.ensure("user", "ana"), timezone.now() + timedelta(hours=1)
    a_role(the("metalake"), "way", *READER[:2], held_by=("ana",))
    grants.add(
        GrantRequest(the("table", ORDERS), (ana,), ("SELECT_TABLE",), valid_until=soon), by=acting("olivia")
    )
    assert settled(governed)
    assert reads(lake, "ana")
    now = timezone.now
    monkeypatch.setattr(timezone, "now", lambda: now() + timedelta(hours=1))
    assert settled(governed)
    assert not reads(lake, "ana")


def test_the_owner_here_is_the_owner_there(governed: Backend, lake: Lake) -> None:
    assert settled(governed)
    shop = lake.on("GET", "/owners/catalog/shop")
    assert shop["owner"] == {"name": "olivia", "type": "user"}
    lake.on("POST", "/users", {"name": "bo"})
    lake.on("PUT", "/owners/catalog/shop", {"name": "bo", "type": "USER"})
    shown = worker.now(governed, dry_run=True)
    assert (shown.missing, shown.foreign) == (2, 1)
    assert settled(governed)
    assert lake.on("GET", "/owners/catalog/shop")["owner"]["name"] == "olivia"


def test_a_grant_made_by_hand_there_is_seen_here_and_adopted(governed: Backend, lake: Lake) -> None:
    lake.on("POST", "/users", {"name": "carl"})
    for right in (
        Right("catalog", (), "USE_CATALOG"),
        Right("schema", ("sales",), "USE_SCHEMA"),
        Right("table", ("sales", "orders"), "SELECT_TABLE"),
    ):
        lake.give_by_hand(right, "carl")
    assert settled(governed)
    assert reads(lake, "carl")
    findings = BackendFinding.objects.filter(kind="foreign", holder="carl").order_by("place")
    assert [(item.place, item.what) for item in findings] == [
        ("shop", "USE_CATALOG"),
        ("shop.sales", "USE_SCHEMA"),
        (ORDERS, "SELECT_TABLE"),
    ]
    admit(the("metalake"), "carl")
    for item in findings:
        foreign_rights.adopt(item.pk, by=acting("olivia"))
    worker.deliver(governed)
    assert settled(governed)
    assert reads(lake, "carl")
    assert not BackendFinding.objects.filter(kind="foreign", holder="carl").exists()
    assert not BackendFinding.objects.filter(kind="missing").exists()


def test_an_account_that_sees_not_everything_removes_nothing(governed: Backend, lake: Lake) -> None:
    role = a_role(the("metalake"), "reader", *READER, held_by=("ana",))
    assert settled(governed)
    lake.on("PUT", "/owners/metalake/" + lake.name, {"name": "ana", "type": "USER"})
    roles.unassign(role, people.ensure("user", "ana"), by=BY, authority=AUTHORITY)
    report = worker.now(governed)
    assert not report.complete
    assert not report.settled
    findings = tried("gravitino", lake.url, realm="demo").findings
    assert ["does not own the metalake" in item.text for item in findings if item.blocks] == [True]


def test_a_good_connection_is_told_of_in_words(governed: Backend, lake: Lake) -> None:
    findings = tried("gravitino", lake.url, realm="demo").findings
    assert findings
    assert all(item.ok for item in findings), findings
    assert any("a Lakewarden of its own" in item.text for item in findings)

"""What somebody registered before a system is connected: told with owner and grants, decided, recorded."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from accounts import people
from catalog.nodes import Node
from lakewarden.backends import kinds
from policies.authority import Actor
from policies.errors import Invalid, Refused
from policies.models import Backend, Event, Grant, Ownership, UserDuty
from policies.services import duties, objects
from policies.services.objects import NewObject
from policies.sync import worker
from policies.sync.connections import by_hand, registration
from tests.console.settings.test_owners_and_members import posted
from tests.console.sync.connection_form import repairing
from tests.console.test_forms import hidden
from tests.factories import AUTHORITY, BY, a_role, owned, the, under
from tests.sync.conftest import Source, demo_members, discover_now, source

__all__ = ["demo_members", "source"]
Enter = Callable[[str], Client]
KEEP, HAND_OVER = by_hand.Decision(by_hand.KEEP), by_hand.Decision(by_hand.HAND_OVER)
POSTGRESQL = kinds.get("postgresql")


@pytest.fixture
def squatted(demo_members: Node) -> Node:
    """Olivia's catalog shop; Ana registered its sales.orders by hand, Mia may read it by a role."""
    [shop] = under(demo_members, "catalog", "shop")
    owned(shop, "olivia")
    [sales] = under(shop, "schema", "sales")
    ana = people.ensure("user", "ana")
    objects.register(sales, [NewObject("table", "orders")], owner=ana, by=BY, authority=AUTHORITY)
    a_role(demo_members, "peeking", "allow SELECT_TABLE on table shop.sales.orders", held_by=("mia",))
    people.make_account("mia")
    mia = people.ensure("user", "mia")
    duties.give(the("table", "shop.sales.orders"), "break_glass", mia, by=BY, authority=AUTHORITY)
    a_role(demo_members, "entering", "allow USE_CATALOG on metalake", "allow USE_SCHEMA on metalake")
    return shop


def connect(root: Node, source: Source, **more: Any) -> Backend:
    more = {"by": BY, "authority": AUTHORITY, **more}
    return registration.connect(root, "shop", "postgresql", source.url(), policy="repair", **more)


def owner_of(name: str) -> list[str]:
    rows = Ownership.objects.open().filter(securable=the("table", name).id)
    return [row.owner.name for row in rows.select_related("owner")]


def test_nothing_is_connected_until_somebody_decides_on_what_was_registered(
    squatted: Node, demo_members: Node, source: Source
) -> None:
    with pytest.raises(Invalid) as raised:
        connect(demo_members, source)
    text = str(raised.value)
    assert "catalog shop (owner olivia)" in text
    assert "table shop.sales.orders (owner ana; SELECT_TABLE for role peeking, break_glass for mia)" in text
    assert not Backend.objects.exists()


def test_what_is_kept_is_in_the_record_and_bound(squatted: Node, demo_members: Node, source: Source) -> None:
    row = connect(demo_members, source, registered=KEEP)
    data = Event.objects.get(kind="backend.connected").data
    assert (data["registered"], data["many"]) == ("keep", 2)
    assert data["names"] == ["shop", "shop.sales.orders"]
    assert owner_of("shop.sales.orders") == ["ana"]
    discover_now(row)
    shown = [item.text for item in by_hand.registered(squatted, POSTGRESQL, now_connected=True)]
    assert "table shop.sales.orders (owner ana; SELECT_TABLE for role peeking, break_glass for mia)" in shown


def test_what_is_handed_over_belongs_to_the_owner_of_the_catalog_and_opens_nothing_to_others(
    squatted: Node, demo_members: Node, source: Source
) -> None:
    row = connect(demo_members, source, registered=HAND_OVER)
    assert owner_of("shop.sales.orders") == []
    orders = the("table", "shop.sales.orders").id
    assert not Grant.objects.open().filter(securable=orders).exists()
    assert not UserDuty.objects.filter(content_object=orders).exists()
    assert Ownership.objects.open().get(securable=squatted.id).owner.name == "olivia"
    discover_now(row)
    worker.deliver(row)
    assert source.reads("olivia")
    assert not source.reads("ana")
    assert not source.reads("mia")
    assert Event.objects.get(kind="backend.connected").data["registered"] == "hand-over"


def test_an_owner_who_owns_all_above_anyway_is_nothing_to_decide(demo_members: Node, source: Source) -> None:
    [shop] = under(demo_members, "catalog", "shop")
    owned(shop, "marek")
    under(shop, "schema", "sales")
    assert connect(demo_members, source)


def test_who_may_only_connect_hands_nothing_over(squatted: Node, demo_members: Node, source: Source) -> None:
    people.make_account("carl")
    carl = people.ensure("user", "carl")
    duties.give(demo_members, "connect_backend", carl, by=BY, authority=AUTHORITY)
    by = Actor(carl, "console")
    authority = registration.authority_to_connect(by, demo_members)
    with pytest.raises(Refused):
        connect(demo_members, source, registered=HAND_OVER, by=by, authority=authority)
    assert owner_of("shop.sales.orders") == ["ana"]


def test_who_agrees_by_connecting_again_decides_on_it_again(
    squatted: Node, demo_members: Node, source: Source
) -> None:
    """What was read meanwhile bears the mark of the source; what it says of owners was never agreed to."""
    people.make_account("carl")
    carl = people.ensure("user", "carl")
    duties.give(demo_members, "connect_backend", carl, by=BY, authority=AUTHORITY)
    by = Actor(carl, "console")
    authority = registration.authority_to_connect(by, demo_members)
    row = connect(demo_members, source, registered=KEEP, by=by, authority=authority)
    assert row.awaits == Backend.Awaits.NEW
    discover_now(row)
    arguments = ("connect", "demo/shop", "postgresql", "--url", source.url(), "--mode", "report")
    output = StringIO()
    with pytest.raises(SystemExit):
        call_command(*arguments, stdout=output, stderr=output)
    assert "registered by hand: table shop.sales.orders (owner ana; SELECT_TABLE" in output.getvalue()
    row.refresh_from_db()
    assert row.awaits == Backend.Awaits.NEW
    call_command(*arguments, "--registered", "hand-over", stdout=output, stderr=output)
    row.refresh_from_db()
    assert (owner_of("shop.sales.orders"), row.awaits) == ([], "")


def test_the_command_lists_them_and_takes_the_decision(
    squatted: Node, demo_members: Node, source: Source
) -> None:
    arguments = ("connect", "demo/shop", "postgresql", "--url", source.url())
    output = StringIO()
    with pytest.raises(SystemExit):
        call_command(*arguments, stdout=output, stderr=output)
    assert "registered by hand: table shop.sales.orders (owner ana; SELECT_TABLE" in output.getvalue()
    assert not Backend.objects.exists()
    call_command(*arguments, "--registered", "hand-over", stdout=output, stderr=output)
    assert owner_of("shop.sales.orders") == []


def test_who_may_create_tables_names_none_in_what_is_connected(demo_members: Node, source: Source) -> None:
    connect(demo_members, source)
    [sales] = under(the("catalog", "shop"), "schema", "sales")
    new, ana = [NewObject("table", "orders")], Actor(people.ensure("user", "ana"), "console")
    with pytest.raises(Refused, match="is connected"):
        objects.register(sales, new, owner=ana.principal, by=ana, authority=AUTHORITY)
    [mine] = under(sales, "table", "mine")
    with pytest.raises(Refused, match="is connected"):
        objects.rename(mine, "orders", by=ana, authority=AUTHORITY)
    marek = Actor(people.ensure("user", "marek"), "console")
    assert objects.register(sales, new, by=marek, authority=AUTHORITY)


def test_the_page_shows_them_and_asks(
    squatted: Node, demo_members: Node, source: Source, signed_in: Enter
) -> None:
    marek, page = signed_in("marek"), f"/realms/{demo_members.id}/connect?kind=postgresql"
    tried = posted(marek, page, **repairing(source), step="try").content
    assert b"table shop.sales.orders (owner ana; SELECT_TABLE for role peeking, break_glass for mia)" in tried
    assert b"checked" not in tried.partition(b'name="registered"')[2].partition(b"</fieldset>")[0]
    undecided = posted(marek, page, **repairing(source), step="connect")
    assert b"Not connected." in undecided.content
    assert not Backend.objects.exists()

    seen = hidden(tried, "registered_seen")
    a_role(demo_members, "later", "allow SELECT_TABLE on table shop.sales.orders", held_by=("carl",))
    keep = repairing(source, registered="keep", registered_seen=seen)
    assert b"has changed since" in posted(marek, page, **keep, step="connect").content
    posted(marek, page, **repairing(source, registered="hand-over", registered_seen=seen), step="connect")
    assert not Backend.objects.exists()
    seen = hidden(posted(marek, page, **repairing(source), step="try").content, "registered_seen")
    posted(marek, page, **repairing(source, registered="hand-over", registered_seen=seen), step="connect")
    assert owner_of("shop.sales.orders") == []


def test_who_agrees_to_a_connection_sees_what_was_registered_before(
    squatted: Node, demo_members: Node, source: Source, signed_in: Enter, settings: Any
) -> None:
    by = Actor(people.ensure("user", "marek"), "console")
    authority = registration.authority_to_connect(by, demo_members)
    row = connect(demo_members, source, registered=KEEP, by=by, authority=authority)
    settings.LAKEWARDEN_SERVICE_ADMINS = ["sam"]
    page = signed_in("sam").get(f"/sync/{row.pk}/agree").content
    assert b"table shop.sales.orders (owner ana; SELECT_TABLE for role peeking, break_glass for mia)" in page

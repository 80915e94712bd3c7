"""Groups: site admins alone fill and empty them, and see first what that does in every realm."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.models import Membership
from accounts.people import ensure, find, make_account
from catalog.nodes import Node
from policies.models import AccessRecord, Change
from policies.services import duties
from tests.console.settings.test_owners_and_members import posted
from tests.console.test_forms import can_read
from tests.factories import AUTHORITY, BY, a_metalake, a_person, a_role, admit, owned, the, under
from tests.markup import markup

Enter = Callable[[str], Client]


@pytest.fixture
def sam(shop: Node, signed_in: Enter, settings: Any) -> Client:
    """A site admin, who is in no realm."""
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    return signed_in("sam")


def page_of(name: str, what: str) -> str:
    return f"/groups/{ensure('group', name).pk}/{what}"


def inside(group: str) -> set[str]:
    rows = Membership.objects.open().filter(group=ensure("group", group)).select_related("member")
    return {row.member.name for row in rows}


def undo_on(client: Client, address: str) -> str:
    match = re.search(r'action="(/undo/\d+)"', client.get(address).content.decode())
    assert match is not None, "no Undo is offered"
    return match[1]


def test_what_somebody_gains_by_a_group_is_shown_before_it_is_saved(sam: Client) -> None:
    before = Change.objects.count()
    body = sam.post(page_of("analysts", "join"), {"find": "ana", "step": "look"}).content.decode()
    assert "may use schema sales and read all tables in sales" in body
    assert "1</b><span>person gains rights" in body
    assert inside("analysts") == {"mia", "carl"}
    assert Change.objects.count() == before
    assert AccessRecord.objects.filter(kind="looked").exists()


def test_joining_gives_it_and_can_be_undone(sam: Client) -> None:
    orders = the("table", "shop.sales.orders")
    assert not can_read("ana", orders)
    answer = posted(sam, page_of("analysts", "join"), who="user:ana", step="save", reason="New in the team")
    assert can_read("ana", orders)
    assert Change.objects.latest("revision").reason == "New in the team"
    sam.post(undo_on(sam, answer["Location"]))
    assert not can_read("ana", orders)
    assert inside("analysts") == {"mia", "carl"}


def test_leaving_names_what_is_lost_and_can_be_undone(sam: Client) -> None:
    orders, address = the("table", "shop.sales.orders"), page_of("analysts", "leave?who=user:mia")
    body = sam.get(address).content.decode()
    assert "loses use of schema sales and read on all tables in sales" in body
    answer = posted(sam, address)
    assert not can_read("mia", orders)
    sam.post(undo_on(sam, answer["Location"]))
    assert can_read("mia", orders)


def test_objects_of_one_name_are_told_apart(sam: Client, shop: Node) -> None:
    under(shop, "catalog", "lake")
    under(the("catalog", "lake"), "schema", "sales")
    a_role(
        shop,
        "lake",
        "allow USE_CATALOG on catalog lake",
        "allow USE_SCHEMA on schema lake.sales",
        held_by=("group:analysts",),
    )
    body = sam.get(page_of("analysts", "leave?who=user:mia")).content.decode()
    assert "loses use of schema shop.sales and read on all tables in shop.sales" in body
    assert "loses use of schema lake.sales" in body
    assert "loses use of catalog lake" in body


def test_who_keeps_it_by_another_path_is_told_so(sam: Client, shop: Node) -> None:
    rights = [f"allow {item} on schema shop.sales" for item in ("USE_SCHEMA", "SELECT_TABLE")]
    a_role(shop, "again", *rights, held_by=("mia",))
    body = markup(sam.get(page_of("analysts", "leave?who=user:mia")))
    assert "Nobody</strong> gains or loses access now." in body


def test_a_denial_that_stays_is_said(sam: Client) -> None:
    posted(sam, page_of("analysts", "leave?who=user:carl"))
    body = sam.post(page_of("analysts", "join"), {"who": "user:carl", "step": "look"}).content.decode()
    assert "use schema sales" in body
    assert "read all tables" not in body  # no_contractors denies it to Carl directly


def test_every_realm_that_admits_the_group_counts_and_no_other(sam: Client) -> None:
    second, third = a_metalake("second"), a_metalake("third")
    admit(second, "group:analysts", "ana")
    admit(third, "ana", "group:staff")
    for root, group in ((second, "group:analysts"), (third, "group:staff")):
        under(root, "catalog", "lake")
        a_role(root, "reach", "allow USE_CATALOG on catalog lake", held_by=(group,))
    body = sam.post(page_of("analysts", "join"), {"who": "user:ana", "step": "look"}).content.decode()
    assert body.count("use catalog lake") == 1


def test_what_a_group_owns_and_its_duties_come_with_it(sam: Client) -> None:
    owned(the("schema", "shop.stock"), "group:analysts")
    duties.give(the("metalake"), "view_history", ensure("group", "analysts"), by=BY, authority=AUTHORITY)
    body = sam.post(page_of("analysts", "join"), {"who": "user:ana", "step": "look"}).content.decode()
    assert "grant access to stock" in body
    assert "may read the history of demo" in body


@pytest.mark.parametrize("name", ["marek", "olivia", "mia"])
def test_nobody_else_changes_a_group(name: str, sam: Client, shop: Node, signed_in: Enter) -> None:
    client, refused = signed_in(name), AccessRecord.objects.filter(kind="refused", operation="service_admin")
    form = {"who": "user:ana", "step": "save", "nonce": "a" * 20}
    for address in (page_of("analysts", "join"), page_of("analysts", "leave?who=user:mia"), "/groups/new"):
        assert "Only a site admin can do this. Site admin: sam." in client.get(address).content.decode()
        assert client.post(address, form).status_code == 403
    assert inside("analysts") == {"mia", "carl"}
    assert refused.count() == 3


def test_who_cannot_change_a_group_reads_who_can(sam: Client, signed_in: Enter) -> None:
    body = signed_in("marek").get(f"/people/{ensure('group', 'analysts').pk}/groups").content.decode()
    assert "why-not-join" in body
    assert "Only a site admin can change who is in a group. Site admin: sam." in body
    assert "Take out" not in body
    own = sam.get(f"/people/{ensure('group', 'analysts').pk}/groups").content.decode()
    assert "why-not-join" not in own
    assert "Take out" in own


def test_a_service_admin_makes_a_group_once(sam: Client) -> None:
    posted(sam, "/groups/new", name="night shift")
    assert find("group", "night shift") is not None
    assert posted(sam, "/groups/new", name="night shift").status_code == 422
    assert posted(sam, "/groups/new", name="").status_code == 422
    assert posted(sam, "/groups/new", name="a\x01b").status_code == 422
    assert "created group night shift" in sam.get("/history").content.decode()


def test_a_group_is_in_no_group(sam: Client) -> None:
    posted(sam, page_of("analysts", "join"), who="group:staff", step="save")
    assert "staff" not in inside("analysts")


def test_the_groups_that_sign_in_reads_follow(sam: Client) -> None:
    account = make_account("ana")
    posted(sam, page_of("analysts", "join"), who="user:ana", step="save")
    assert account.groups.filter(name="analysts").exists()


def test_a_service_admin_knows_names_and_no_access(sam: Client) -> None:
    assert "<b>carl</b>" in sam.get("/people").content.decode()
    body = sam.get(f"/people/{a_person('carl').pk}").content.decode()
    assert "sales" not in body

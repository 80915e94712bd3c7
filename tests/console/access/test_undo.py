"""Undo: what the viewer just did to roles, owners, members and rights, taken back by the opposite change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from catalog.nodes import Node
from policies.decisions.lookups.visible_objects import owner_of
from policies.models import Assignment, Change, Grant, Ownership, RealmMember
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.console.people.test_groups import undo_on
from tests.console.settings.test_owners_and_members import members, posted
from tests.console.test_forms import can_read
from tests.factories import a_person, a_role, acting, admit, owned, the

Enter = Callable[[str], Client]
FACTS = (RealmMember, Assignment, Grant, Ownership)


def facts() -> set[tuple[Any, ...]]:
    """Everything that is true now, by what it says, not by its number or how it came about."""
    return {
        (
            model.__name__,
            *(
                getattr(row, field.attname)
                for field in model._meta.concrete_fields
                if field.name not in ("id", "opened", "closed", "origin", "role", "seal")
            ),
        )
        for model in FACTS
        for row in model.objects.open()
    }


def role(name: str) -> int:
    return the("role", name).id


CASES = {
    "a role given": lambda: (f"/roles/{role('browse')}/assign", {"who": "user:mia", "step": "save"}),
    "a role given until a day": lambda: (
        f"/roles/{role('browse')}/assign",
        {"who": "user:mia", "until": "month", "step": "save"},
    ),
    "a role taken back": lambda: (f"/roles/{role('sales_read')}/unassign?who=group:analysts", {}),
    "an owner set": lambda: (
        f"/objects/{the('schema', 'shop.sales').id}/owner",
        {"who": "user:ana", "step": "save"},
    ),
    "the first owner of an object": lambda: (
        f"/objects/{the('table', 'shop.sales.orders').id}/owner",
        {"who": "user:ana", "step": "save"},
    ),
    "a member added": lambda: (f"/realms/{the('metalake').id}/members/add", {"kind": "user", "name": "noah"}),
    "a member removed": lambda: (f"/realms/{the('metalake').id}/members/remove?who=user:ana", {}),
    "an owning member removed": lambda: (f"/realms/{the('metalake').id}/members/remove?who=user:olivia", {}),
    "what a role gives on an object": lambda: (
        f"/roles/{role('sales_read')}/give/{the('schema', 'shop.sales').id}",
        {"SELECT_TABLE": "", "CREATE_TABLE": "deny", "step": "save"},
    ),
}


@pytest.fixture
def marek(shop: Node, signed_in: Enter) -> Client:
    """The owner of the realm; Ana has an own role, and something was granted to Ana directly."""
    a_role(shop, "extra", "allow USE_SCHEMA on schema shop.sales", held_by=("ana",))
    orders = the("table", "shop.sales.orders")
    grants.add(GrantRequest(orders, (a_person("ana"),), ("SELECT_TABLE",)), by=acting("olivia"))
    return signed_in("marek")


@pytest.mark.parametrize("case", CASES)
def test_undo_brings_back_what_was_true(case: str, marek: Client) -> None:
    before, (address, form) = facts(), CASES[case]()
    answer = posted(marek, address, **form)
    assert facts() != before
    marek.post(undo_on(marek, answer["Location"]))
    assert facts() == before
    assert Change.objects.latest("revision").reason.startswith("Undoes change ")


def test_it_is_undone_once(marek: Client) -> None:
    address, form = CASES["a role given"]()
    answer = posted(marek, address, **form)
    undo = undo_on(marek, answer["Location"])
    marek.post(undo)
    before = Change.objects.count()
    assert "Not undone." in marek.get(marek.post(undo)["Location"]).content.decode()
    assert Change.objects.count() == before


def test_another_s_change_is_not_one_s_own_to_undo(marek: Client, signed_in: Enter) -> None:
    address, form = CASES["a role taken back"]()
    answer = posted(marek, address, **form)
    undo = undo_on(marek, answer["Location"])
    signed_in("olivia").post(undo)
    assert not can_read("mia", the("table", "shop.sales.orders"))


def test_who_may_no_more_cannot_undo(marek: Client, signed_in: Enter) -> None:
    olivia = signed_in("olivia")
    posted(olivia, f"/objects/{the('schema', 'shop.sales').id}/owner", who="user:ana", step="save")
    revision = Change.objects.latest("revision").revision
    page = olivia.get("/").content.decode()
    assert f"/undo/{revision}" not in page  # Olivia could not, so it is not offered
    olivia.post(f"/undo/{revision}")
    assert owner_of(the("schema", "shop.sales")) == a_person("ana")


def test_a_member_who_was_given_something_since_stays(marek: Client, shop: Node) -> None:
    answer = posted(marek, f"/realms/{shop.id}/members/add", kind="user", name="noah")
    undo = undo_on(marek, answer["Location"])
    a_role(shop, "given", held_by=("noah",))
    marek.post(undo)
    assert "user:noah" in members(shop)


def test_what_was_handed_on_since_stays_where_it_is(marek: Client) -> None:
    orders = the("table", "shop.sales.orders")
    answer = posted(marek, f"/objects/{orders.id}/owner", who="user:ana", step="save")
    undo = undo_on(marek, answer["Location"])
    owned(orders, "mia")
    marek.post(undo)
    assert owner_of(orders) == a_person("mia")


def test_a_role_that_is_gone_is_not_brought_back(marek: Client, shop: Node) -> None:
    admit(shop, "noah")
    answer = posted(marek, f"/roles/{role('extra')}/assign", who="user:noah", step="save")
    undo = undo_on(marek, answer["Location"])
    posted(marek, f"/roles/{role('extra')}/delete")
    assert marek.post(undo).status_code == 302
    assert not Assignment.objects.open().filter(holder=a_person("noah")).exists()

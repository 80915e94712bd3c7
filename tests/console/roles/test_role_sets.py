"""Roles on many objects at once, foretold for all of them; two roles, or a person and a role, compared."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from catalog.nodes import Node
from policies.models import AccessRecord, Change, Grant
from policies.previews import roles
from policies.previews.roles import RoleChange, of_role_change
from policies.services.roles import Privilege
from tests.console.people.test_groups import undo_on
from tests.console.test_forms import can_read, hidden
from tests.factories import a_role, owned, the, under
from tests.kept import kept
from tests.markup import markup

Enter = Callable[[str], Client]
TABLES = ("orders", "customers", "refunds")


def table(name: str) -> Node:
    return the("table", f"shop.sales.{name}")


def many(role: str, query: str = "", what: str = "/give") -> str:
    return f"/roles/{the('role', role).id}/many{what}?{query}"


def saved(client: Client, address: str, **form: str) -> object:
    """What a browser would send after it looked."""
    body = client.post(address, {"step": "look", **form}).content
    names = {"nonce", "seen", "foretold"} if b'name="foretold"' in body else {"nonce", "seen"}
    return client.post(address, {**{name: hidden(body, name) for name in names}, "step": "save", **form})


def make_crew(shop: Node) -> Node:
    """A role that lets Ana into schema sales, and gives nothing in it yet."""
    return a_role(shop, "crew", "allow USE_SCHEMA on schema shop.sales", held_by=("ana",))


crew = kept(make_crew, on="shop")


def test_privileges_are_set_on_all_that_a_filter_finds_in_one_change(crew: Node, signed_in: Enter) -> None:
    marek, before = signed_in("marek"), Change.objects.count()
    looked = marek.post(many("crew", "q=e"), {"step": "look", "SELECT_TABLE": "allow"}).content.decode()
    assert "ana" in looked
    assert "may read orders" in looked
    assert "may read refunds" in looked
    assert not Grant.objects.open().filter(role=crew.id, privilege="SELECT_TABLE").exists()
    answer = saved(marek, many("crew", "q=e"), SELECT_TABLE="allow", reason="Season")
    assert Change.objects.count() == before + 1
    assert [can_read("ana", table(name)) for name in TABLES] == [True, True, True]
    marek.post(undo_on(marek, answer["Location"]))  # type: ignore[index]
    assert [can_read("ana", table(name)) for name in TABLES] == [False, False, False]


def test_only_the_marked_are_changed_and_the_rest_is_left_as_it_is(crew: Node, signed_in: Enter) -> None:
    marek, query = signed_in("marek"), f"o={table('orders').id}&o={table('refunds').id}"
    saved(marek, many("crew", query), SELECT_TABLE="allow", MODIFY_TABLE="deny")
    assert [can_read("ana", table(name)) for name in TABLES] == [True, False, True]
    saved(marek, many("crew", f"o={table('orders').id}"), SELECT_TABLE="none")
    assert [can_read("ana", table(name)) for name in TABLES] == [False, False, True]
    denied = Grant.objects.open().filter(role=crew.id, effect="deny")
    assert denied.count() == 2  # what was left as it is stays


def test_nobody_sets_what_is_not_theirs_to_give(crew: Node, signed_in: Enter) -> None:
    a_role(the("metalake"), "seen_by_olivia", held_by=("olivia",))
    olivia = signed_in("olivia")
    body = olivia.get(many("seen_by_olivia", "type=table", "")).content.decode()
    assert "<b>orders</b>" in body
    assert "<b>items</b>" not in body  # Olivia owns sales, not stock
    saved(olivia, many("seen_by_olivia", f"o={table('orders').id}"), SELECT_TABLE="allow")
    assert Grant.objects.open().filter(securable=table("orders").id).count() == 1
    items = the("table", "shop.stock.items").id
    assert olivia.post(many("seen_by_olivia", f"o={items}"), {"step": "save"}).status_code == 302
    assert not Grant.objects.open().filter(securable=items).exists()


def test_what_somebody_changed_meanwhile_is_not_saved(crew: Node, signed_in: Enter) -> None:
    marek = signed_in("marek")
    body = marek.post(many("crew"), {"step": "look", "SELECT_TABLE": "allow"}).content
    saved(signed_in("marek"), many("crew", f"o={table('orders').id}"), SELECT_TABLE="allow")
    form = {name: hidden(body, name) for name in ("nonce", "seen", "foretold")}
    answer = marek.post(many("crew"), {**form, "step": "save", "SELECT_TABLE": "allow"})
    assert answer.status_code == 422
    assert b"Someone changed what this role gives" in answer.content
    assert not can_read("ana", table("refunds"))


def test_all_objects_are_foretold_not_only_the_first(crew: Node) -> None:
    names = [f"n{at:03}" for at in range(60)]
    made = under(the("schema", "shop.sales"), "table", *names)
    adds = tuple((node, Privilege("SELECT_TABLE")) for node in made)
    previews = of_role_change(crew, RoleChange(adds=adds))
    assert len(previews.parts) == 60
    assert previews.left_out == 0
    assert all(preview.count("gain") == 1 for _, preview in previews.parts)


def test_what_is_too_much_to_foretell_is_counted_and_said(
    crew: Node, signed_in: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roles, "ASKED", 1)
    body = markup(signed_in("marek").post(many("crew"), {"step": "look", "SELECT_TABLE": "allow"}))
    assert "more objects</strong> are not in the preview" in body


def test_many_lines_become_one_for_each_person(crew: Node, signed_in: Enter) -> None:
    under(the("schema", "shop.sales"), "table", *(f"n{at:03}" for at in range(60)))
    body = signed_in("marek").post(many("crew", "q=n0"), {"step": "look", "SELECT_TABLE": "allow"}).content
    assert b"may do more on 60 objects" in body
    assert len(body) < 100_000


# Comparing


def test_two_roles_side_by_side(crew: Node, signed_in: Enter) -> None:
    body = signed_in("marek").get("/roles/compare?a=sales_read&b=crew").content.decode()
    assert "sales_read and crew" in body
    assert "They differ" in body
    only = signed_in("marek").get("/roles/compare?a=browse&b=crew&only=first").content.decode()
    assert "<b>shop</b>" in only
    assert "<b>sales</b>" not in only


def test_a_person_and_a_role(crew: Node, signed_in: Enter) -> None:
    body = signed_in("marek").get("/roles/compare?a=mia&b=sales_read").content.decode()
    assert "<b>sales</b>" in body
    assert "Both" in body
    assert AccessRecord.objects.filter(kind="looked").exists()


def test_only_what_one_may_see_is_compared(crew: Node, signed_in: Enter) -> None:
    mia = signed_in("mia")
    hidden_role = mia.get("/roles/compare?a=sales_read&b=no_contractors").content.decode()
    absent = mia.get("/roles/compare?a=sales_read&b=no_such_role").content.decode()
    for body, name in ((hidden_role, "no_contractors"), (absent, "no_such_role")):
        assert f"No role or person called {name} is visible to you." in body
    stranger = mia.get("/roles/compare?a=sales_read&b=carl").content.decode()
    assert "No role or person called carl is visible to you." in stranger
    a_role(the("metalake"), "wide", "allow SELECT_TABLE on table shop.stock.items", held_by=("mia",))
    assert "<b>items</b>" not in mia.get("/roles/compare?a=wide&b=sales_read").content.decode()


def test_owning_is_told_apart(crew: Node, signed_in: Enter) -> None:
    marek, chip = signed_in("marek"), '<span class="chip owner">'
    assert chip not in markup(marek.get("/roles/compare?a=mia&b=crew"))
    owned(table("orders"), "mia")
    assert chip in markup(marek.get("/roles/compare?a=mia&b=crew"))

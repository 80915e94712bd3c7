"""Roles: which one sees, what they give and to whom, and each change foretold before it is made."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client

from catalog.models import Placement
from catalog.nodes import Node
from policies.decisions import ask
from policies.models import Assignment, Change, Grant
from policies.previews.roles import RoleChange, of_role_change
from policies.services.roles import Privilege
from tests.console.test_forms import hidden
from tests.factories import a_person, a_role, owned, the
from tests.markup import markup

Enter = Callable[[str], Client]


def can(name: str, node: Node, action: str = "read") -> bool:
    return bool(ask.ask(a_person(name), action, node))


def orders() -> Node:
    return the("table", "shop.sales.orders")


def posted(client: Client, address: str, **form: object) -> object:
    """What a browser would send: the form's own hidden fields and what was typed."""
    page = client.get(address).content
    return client.post(address, {"nonce": hidden(page, "nonce"), "seen": hidden(page, "seen"), **form})


def test_one_sees_the_roles_one_holds_owns_or_may_give(shop: Node, signed_in: Enter) -> None:
    marek, mia = (markup(signed_in(name).get("/roles")) for name in ("marek", "mia"))
    assert all(f"<b>{name}</b>" in marek for name in ("browse", "sales_read", "no_contractors"))
    assert "<b>no_contractors</b>" not in mia
    assert "Create a role" in mia
    assert 'aria-disabled="true" aria-describedby="why-no-role"' in mia


def test_a_hidden_role_is_not_there(shop: Node, signed_in: Enter) -> None:
    role = the("role", "no_contractors").id
    for tab in ("", "/assign", "/delete", "/give", "/unassign?who=user:carl"):
        assert signed_in("mia").get(f"/roles/{role}{tab}").status_code == 404
    assert signed_in("marek").get(f"/roles/{orders().id}").status_code == 404  # a table is no role


def test_a_role_s_page_tells_what_it_gives_and_who_holds_it(shop: Node, signed_in: Enter) -> None:
    body = signed_in("marek").get(f"/roles/{the('role', 'sales_read').id}").content.decode()
    assert "Use schema" in body
    assert "<b>analysts</b>" in body
    assert "mia" in body
    own = signed_in("mia").get(f"/roles/{the('role', 'sales_read').id}").content.decode()
    assert "Other members are shown to people who may assign the role." in own
    assert 'aria-describedby="why-not-assign"' in own


def test_who_may_not_give_a_role_is_refused(shop: Node, signed_in: Enter) -> None:
    role, mia = the("role", "sales_read").id, signed_in("mia")
    for tab in ("/assign", "/delete", "/unassign?who=group:analysts"):
        assert mia.get(f"/roles/{role}{tab}").status_code == 403
        assert mia.post(f"/roles/{role}{tab}", {"step": "save", "who": "user:mia"}).status_code == 403


def test_a_role_is_made_filled_given_taken_and_deleted(shop: Node, signed_in: Enter) -> None:
    marek = signed_in("marek")
    page = marek.get(f"/roles/new?in={shop.id}").content
    marek.post(f"/roles/new?in={shop.id}", {"name": "orders_read", "nonce": hidden(page, "nonce")})
    role = the("role", "orders_read")

    give = f"/roles/{role.id}/give/{orders().id}"
    posted(marek, give, SELECT_TABLE="allow", step="save", reason="SALES-7")
    schema = f"/roles/{role.id}/give/{the('schema', 'shop.sales').id}"
    posted(marek, schema, USE_SCHEMA="allow", step="save")
    assert Grant.objects.open().filter(role=role.id).count() == 2

    looked = markup(marek.post(f"/roles/{role.id}/assign", {"find": "ana", "step": "look"}))
    assert 'name="who" value="user:ana"' in looked
    assert "may read orders" in looked
    assert not can("ana", orders())
    posted(marek, f"/roles/{role.id}/assign", who="user:ana", until="month", step="save")
    assert can("ana", orders())
    assert Assignment.objects.open().get(role=role.id).valid_until is not None

    taken = f"/roles/{role.id}/unassign?who=user:ana"
    assert "loses read on orders" in marek.get(taken).content.decode()
    posted(marek, taken)
    assert not can("ana", orders())

    posted(marek, f"/roles/{role.id}/delete")
    assert "Gone since" in marek.get(f"/roles/{role.id}", follow=True).content.decode()
    assert not Grant.objects.open().filter(role=role.id).exists()


@pytest.mark.parametrize(
    "name", ["demo/shop.sales.orders", "shop.sales.orders", "SHOP.sales.Orders", "orders"]
)
def test_a_new_role_gives_on_the_object_by_the_name_that_is_offered_for_it(
    name: str, shop: Node, signed_in: Enter
) -> None:
    typed = {"name": "readers", "on": name, "who": "user:ana", "step": "look"}
    looked = signed_in("marek").post(f"/roles/new?in={shop.id}", typed).content.decode()
    assert f'name="rights_of" value="{orders().id}"' in looked


@pytest.mark.parametrize("way", [True, False])
def test_a_new_role_s_preview_promises_no_access_that_its_rights_do_not_give(
    way: bool, shop: Node, signed_in: Enter
) -> None:
    if way:
        a_role(shop, "opens", "allow USE_SCHEMA on schema shop.sales", held_by=("ana",))
    typed = {"name": "readers", "on": "orders", "who": "user:ana", "rights": "SELECT_TABLE"}
    typed["rights_of"] = str(orders().id)
    marek, address = signed_in("marek"), f"/roles/new?in={shop.id}"
    looked = marek.post(address, {**typed, "step": "look"}).content.decode()
    posted(marek, address, **typed)
    assert can("ana", orders()) == way
    assert ("may read orders" in looked) == way, re.findall("<li.*?</li>", looked, re.S)


def test_the_focus_stays_where_a_holder_was_chosen(shop: Node, signed_in: Enter) -> None:
    marek, address = signed_in("marek"), f"/roles/new?in={shop.id}"
    focused = re.compile(r'<input id="who"[^>]* autofocus')
    first = marek.get(address).content.decode()
    assert re.search(r'name="name"[^>]* autofocus', first) and not focused.search(first)
    typed = {"name": "readers", "who": "user:mia"}
    assert focused.search(marek.post(address, {**typed, "add": "user:ana"}).content.decode())
    assert not focused.search(marek.post(address, {**typed, "step": "look"}).content.decode())


def test_a_denial_is_foretold_as_a_loss(shop: Node, signed_in: Enter) -> None:
    marek, role = signed_in("marek"), the("role", "sales_read")
    address = f"/roles/{role.id}/give/{orders().id}"
    body = marek.post(address, {"SELECT_TABLE": "deny", "step": "look"}).content.decode()
    assert "mia" in body
    assert "loses read on orders" in body
    assert can("mia", orders())
    posted(marek, address, SELECT_TABLE="deny", step="save")
    assert not can("mia", orders())


def test_a_form_sent_twice_changes_once(shop: Node, signed_in: Enter) -> None:
    marek, role = signed_in("marek"), the("role", "sales_read")
    address = f"/roles/{role.id}/assign"
    form = {"nonce": hidden(marek.get(address).content, "nonce"), "who": "user:ana", "until": "never"}
    before = Change.objects.count()
    for _ in range(2):
        marek.post(address, {**form, "step": "save"})
    assert Change.objects.count() == before + 1


def test_what_changed_meanwhile_is_not_overwritten(shop: Node, signed_in: Enter) -> None:
    marek, role = signed_in("marek"), the("role", "sales_read")
    address = f"/roles/{role.id}/give/{orders().id}"
    page = marek.get(address).content
    posted(marek, address, MODIFY_TABLE="allow", step="save")
    form = {"nonce": hidden(page, "nonce"), "seen": hidden(page, "seen"), "SELECT_TABLE": "deny"}
    answer = marek.post(address, {**form, "step": "save"})
    assert answer.status_code == 422
    assert not Grant.objects.open().filter(role=role.id, effect="deny").exists()


@pytest.mark.parametrize("name", ["", "~ana", "sales_read", "a/b\0"])
def test_a_bad_name_is_told(name: str, shop: Node, signed_in: Enter) -> None:
    answer = signed_in("marek").post(f"/roles/new?in={shop.id}", {"name": name})
    assert answer.status_code == 422
    assert b"Not created." in answer.content


def test_the_preview_agrees_with_what_then_happens(shop: Node) -> None:
    role = a_role(shop, "items", "allow SELECT_TABLE on table shop.stock.items")
    owned(the("schema", "shop.stock"), "ana")
    table = the("table", "shop.stock.items")
    mia = a_person("mia")
    [(_, preview)] = of_role_change(role, RoleChange(joins=(mia,))).parts
    assert [effect.kind for effect in preview.effects] == ["lacking"]  # nobody opened the schema to Mia
    use = ((the("schema", "shop.stock"), Privilege("USE_SCHEMA")),)
    assert of_role_change(role, RoleChange(adds=use)).parts == ()  # nobody holds it
    analysts = the("role", "sales_read")
    both = (*use, (table, Privilege("SELECT_TABLE")))
    previews = {node.name: preview for node, preview in of_role_change(analysts, RoleChange(adds=both)).parts}
    assert {effect.principal.name for effect in previews["items"].effects if "read" in effect.gains} == {
        "mia",
        "carl",
    }
    removed = ((the("schema", "shop.sales"), Privilege("SELECT_TABLE")),)
    [(_, gone)] = of_role_change(analysts, RoleChange(removes=removed)).parts
    assert {effect.principal.name for effect in gone.effects if "table:read" in effect.loses} == {"mia"}


@pytest.mark.parametrize("name", ["bad name!", "a" * 65, "-first", "über alles"])
def test_a_name_that_gravitino_refuses_is_refused_here_too(
    name: str, shop: Node, signed_in: Callable[[str], Client]
) -> None:
    answer = signed_in("marek").post(f"/roles/new?in={shop.id}", {"name": name, "nonce": "a" * 24})
    assert answer.status_code == 422
    [error] = re.findall(r'<p class="error" id="name-error">.*?</p>', answer.content.decode(), re.DOTALL)
    assert "begins with a letter" in error  # beside the field, not above the form
    assert not Placement.objects.filter(type="role", name=name).exists()


def test_a_role_that_gives_nothing_yet_says_so(shop: Node, signed_in: Callable[[str], Client]) -> None:
    made = a_role(shop, "fresh", held_by=("ana",))
    assert b"Nothing yet." in signed_in("marek").get(f"/roles/{made.id}").content
    assert b"Nothing that you can see." in signed_in("ana").get(f"/roles/{made.id}").content


def test_a_role_is_made_with_its_rights_and_holders_in_one_form(
    shop: Node, signed_in: Callable[[str], Client]
) -> None:
    marek, address = signed_in("marek"), f"/roles/new?in={shop.id}"
    typed = {"name": "refunds_read", "description": "For the refunds desk", "on": "shop.sales.refunds"}
    looked = marek.post(address, {**typed, "step": "look", "nonce": "a" * 24}).content.decode()
    table = the("table", "shop.sales.refunds")
    assert f'action="{address}"' in looked
    assert f'data-combo="{address}&amp;choices=who"' in looked
    assert f'name="rights_of" value="{table.id}"' in looked
    assert re.search(r'name="rights"\s+value="SELECT_TABLE" checked', looked)
    assert not Placement.objects.filter(name="refunds_read").exists()
    chosen = {**typed, "who": "user:carl", "rights": "SELECT_TABLE", "rights_of": table.id}
    before = Change.objects.count()
    made = marek.post(address, {**chosen, "step": "save", "nonce": "b" * 24})
    assert made.status_code == 302, made.content.decode()
    assert Change.objects.count() == before + 1
    page = marek.get(made.headers["Location"]).content.decode()
    assert "For the refunds desk" in page
    role = the("role", "refunds_read")
    assert list(Grant.objects.open().filter(role=role.id).values_list("privilege", "securable")) == [
        ("SELECT_TABLE", table.id)
    ]
    assert [row.holder.name for row in Assignment.objects.open().filter(role=role.id)] == ["carl"]


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ({"on": "shop.nowhere"}, "No object that you can grant on has this name."),
        ({"on": "shop.sales.refunds"}, "Choose what it gives there"),
    ],
)
def test_a_role_on_an_object_that_is_none_or_whose_rights_were_not_seen_is_not_made(
    typed: dict[str, str], told: str, shop: Node, signed_in: Callable[[str], Client]
) -> None:
    form = {"name": "some_read", **typed, "step": "save", "nonce": "a" * 24}
    answer = signed_in("marek").post(f"/roles/new?in={shop.id}", form)
    assert answer.status_code == 422
    assert told in answer.content.decode()
    assert not Placement.objects.filter(name="some_read").exists()


def test_who_may_make_roles_gives_by_them_only_what_is_theirs_to_give(
    shop: Node, signed_in: Callable[[str], Client]
) -> None:
    a_role(shop, "makers", "allow CREATE_ROLE on metalake", held_by=("ana",))
    table = the("table", "shop.sales.refunds")
    form = {"name": "mine", "on": "shop.sales.refunds", "rights": "SELECT_TABLE", "rights_of": table.id}
    answer = signed_in("ana").post(f"/roles/new?in={shop.id}", {**form, "step": "save", "nonce": "a" * 24})
    assert answer.status_code == 422
    assert not Placement.objects.filter(name="mine").exists()

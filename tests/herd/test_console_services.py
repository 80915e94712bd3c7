"""What the console does, in a Herd: the same grants as the API's, previewed, undone and told the same way."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts import people
from accounts.models import Principal
from catalog.nodes import Node
from policies.authority import Actor
from policies.decisions import ask, slices
from policies.decisions.lookups import visible_objects
from policies.decisions.lookups.access import AccessMap
from policies.errors import Invalid, Refused
from policies.previews import grants as previews_grants
from policies.record import history
from policies.services import grants, undo
from policies.services.grants import GrantRequest
from tests.herd.tables import PERMISSIONS
from tests.herd.test_entries import listed
from tests.herd.world import ENTRIES, Caller, entry_path, give, role, the_herd, the_namespace


@pytest.fixture
def sales(herd: Node) -> Node:
    return the_namespace("SALES")


@pytest.fixture
def by(herd: Node) -> Actor:
    return Actor(people.ensure("user", "olivia"), "console")


def user(name: str) -> Principal:
    return people.ensure("user", name)


def test_browser_and_client_see_the_same(sales: Node, by: Actor, olivia: Caller, pdp: Caller) -> None:
    assert grants.add(GrantRequest(sales, (user("ana"), user("bo")), ("READ", "EXECUTE")), by=by) == 4
    assert listed(olivia.get(f"{ENTRIES}/namespaces/SALES"))[:2] == [
        ("ana", "SALES", ["READ", "EXECUTE"]),
        ("bo", "SALES", ["READ", "EXECUTE"]),
    ]
    number = olivia.get(entry_path("ana", "SALES")).json()["id"]
    assert olivia.update("ana", "SALES", "WRITE").json()["id"] == number
    assert grants.remove(sales, [user("ana")], ["READ", "WRITE"], by=by) == 1
    assert olivia.get(entry_path("ana", "SALES")).status_code == 404
    assert olivia.delete(entry_path("bo", "SALES")).status_code == 200
    assert not pdp.may("bo", "READ", "SALES")


def test_an_entry_ends_with_its_window(sales: Node, by: Actor, olivia: Caller) -> None:
    soon = timezone.now() + timedelta(hours=1)
    grants.add(GrantRequest(sales, (user("ana"),), ("READ",), valid_until=soon), by=by)
    assert olivia.get(entry_path("ana", "SALES")).json()["namespacePermissions"] == ["READ"]
    grants.add(GrantRequest(sales, (user("bo"),), ("READ",), valid_from=soon), by=by)
    assert olivia.get(entry_path("bo", "SALES")).status_code == 404
    assert olivia.create("bo", "SALES", "WRITE").json()["namespacePermissions"] == ["WRITE"]


@pytest.mark.parametrize("held", [("GRANT",), ("READ",), ("READ", "WRITE", "EXECUTE")])
def test_only_data_owners_give(sales: Node, held: tuple[str, ...]) -> None:
    give("ana", "SALES", *held)
    ana = Actor(user("ana"), "console")
    with pytest.raises(Refused):
        grants.add(GrantRequest(sales, (user("bo"),), ("READ",)), by=ana)
    role("ana")
    if "GRANT" in held:
        assert grants.add(GrantRequest(sales, (user("bo"),), ("READ",)), by=ana) == 1
    else:
        with pytest.raises(Refused):
            grants.add(GrantRequest(sales, (user("bo"),), ("READ",)), by=ana)


def test_nothing_is_given_to_groups(sales: Node, by: Actor) -> None:
    with pytest.raises(Invalid):
        grants.add(GrantRequest(sales, (people.ensure("group", "staff"),), ("READ",)), by=by)


@pytest.mark.parametrize("code", PERMISSIONS)
def test_a_preview_comes_true(sales: Node, by: Actor, pdp: Caller, code: str) -> None:
    wish = GrantRequest(sales, (user("ana"),), (code,))
    [effect] = previews_grants.of_grant(wish, by).effects
    grants.add(wish, by=by)
    for action in ("read", "write", "execute", "grant"):
        assert pdp.may("ana", action, "SALES") == (action in effect.after)
    [back] = previews_grants.of_removal(sales, [user("ana")], [code]).effects
    assert (back.before, back.after) == (effect.after, effect.before)


def test_a_grant_is_undone(sales: Node, by: Actor, pdp: Caller) -> None:
    grants.add(GrantRequest(sales, (user("ana"),), ("READ",)), by=by)
    undo.undo(grants.revision_now(), by=by)
    assert not pdp.may("ana", "READ", "SALES")


def test_an_object_tells_everybody_with_access(sales: Node) -> None:
    give("ana", "SALES", "READ")
    give("*@corp", "SALES", "WRITE", "READ")
    rows = {str(row.principal): row for row in AccessMap(sales).rows()}
    assert set(rows) == {"user:admin", "user:ana", "user:olivia", "pattern:*@corp"}
    assert "read" in rows["user:ana"].can
    assert "write" not in rows["user:ana"].can
    assert [path.direct for path in rows["pattern:*@corp"].paths] == [True, True]
    assert "grant" in rows["user:olivia"].can


def test_a_data_owner_sees_the_history_of_their_namespaces(sales: Node, olivia: Caller) -> None:
    stock = the_namespace("STOCK")
    for name in ("ana", "bo"):
        give(name, "SALES", "GRANT", "READ")
    role("bo")
    [realm] = visible_objects.realms_of(user("nobody"))
    assert realm.name == "herd", "a Herd is open to everybody"
    for name, sees in (("olivia", True), ("bo", True), ("ana", False), ("nobody", False)):
        sight = history.sight(user(name), [realm])
        assert (sight.sees(sales), sight.sees(stock)) == (sees, False)
    admin = history.sight(user("admin"), [realm])
    assert admin.sees(sales)
    assert admin.sees(stock)


def test_everybody_finds_namespaces(sales: Node) -> None:
    nobody = slices.current(user("nobody"), sales)
    names = visible_objects.children(nobody, the_herd(), "namespace").values_list("name", flat=True)
    assert list(names) == ["SALES", "STOCK"]
    assert [row.name for row in visible_objects.search(nobody, the_herd(), "sal")] == ["SALES"]
    now = timezone.now()
    assert ask.may_see(nobody, sales, now=now)
    assert not ask.answer(nobody, "read", sales, now=now)

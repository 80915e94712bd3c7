"""People of the directory: made, brought up to date, and gone on every surface once they have left."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from accounts import people, tokens
from accounts.models import DirectoryEntry, Keeping, Membership, Principal, SignIn, Token, User
from catalog.models import Placement, Realm
from lakewarden.law import dialects
from policies.decisions import ask, ownership
from policies.decisions.ownership import GONE, OwnershipFilter
from policies.models import Assignment, Change, Event, Grant, Ownership, RealmMember, UserDuty
from policies.services import accounts, duties, grants, realms
from policies.services import directory as kept_directory
from policies.services.grants import GrantRequest
from tests.factories import AUTHORITY, BY, a_role, a_shop, acting, admit, owned, the
from tests.kept import kept
from tests.scim.world import USER, Directory, a_directory, person

shop = kept(a_shop)


@pytest.fixture
def directory(db: None, settings: Any) -> Directory:
    return a_directory(settings)


def test_a_person_is_made_with_an_account_and_read_as_it_was_sent(directory: Directory) -> None:
    sent = {
        "externalId": "00u1",
        "name": {"givenName": "Ana", "familyName": "Lima"},
        "emails": [
            {"value": "old@example.org", "type": "home"},
            {"value": "ana@example.org", "primary": True},
        ],
        "title": "Analyst",
        "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": {"department": "Sales"},
    }
    made = directory.person("ana", **sent)
    account = User.objects.get(username="ana")
    assert (account.email, str(account.principal)) == ("ana@example.org", "user:ana")
    assert (person("ana").label, account.has_usable_password()) == ("Ana Lima", False)
    read = directory.read(made)
    assert {name: read[name] for name in ("userName", "externalId", "name", "emails", "active")} == {
        "userName": "ana",
        "active": True,
        **{name: sent[name] for name in ("externalId", "name", "emails")},
    }
    assert "title" not in read and "password" not in read
    change = Change.objects.latest("revision")
    assert (change.via, change.actor) == ("directory", people.find("service", "okta").pseudonym)  # type: ignore[union-attr]


def test_nobody_else_is_let_in(directory: Directory, settings: Any) -> None:
    assert Client().get("/scim/v2/Users").status_code == 401
    okta = people.find("service", "okta")
    assert okta is not None
    other = people.ensure("service", "etl")
    ways = {
        "another service": tokens.create(other, scopes=("directory",)),
        "without the scope": tokens.create(okta, scopes=("manage", "audit")),
        "a person of the name": tokens.create(people.ensure("user", "okta")),
    }
    for way, token in ways.items():
        answer = Directory(token).call("GET", "/ServiceProviderConfig")
        assert (answer.status_code, answer.json()["schemas"]) == (
            403,
            ["urn:ietf:params:scim:api:messages:2.0:Error"],
        ), way
    settings.LAKEWARDEN_DIRECTORIES = frozenset()
    assert directory.call("GET", "/Users").status_code == 403


def test_a_name_that_is_kept_is_not_made_again(directory: Directory) -> None:
    directory.person("ana")
    for name in ("ana", "ANA"):
        answer = directory.call("POST", "/Users", {"schemas": [USER], "userName": name})
        assert (answer.status_code, answer.json()["scimType"]) == (409, "uniqueness")


def test_a_user_name_stays(directory: Directory) -> None:
    made = directory.person("ana")
    answer = directory.patch(made, {"op": "replace", "path": "userName", "value": "anna"})
    assert (answer.status_code, answer.json()["scimType"]) == (400, "mutability")
    assert directory.read(made)["userName"] == "ana"


def a_rich_leaver(root: Any) -> Principal:
    """Somebody with every kind of access there is."""
    ana = person("ana")
    admit(root, "ana")
    orders, sales = the("table", "shop.sales.orders"), the("schema", "shop.sales")
    rules = ("allow USE_CATALOG on catalog shop", "allow USE_SCHEMA on schema shop.sales")
    a_role(root, "reader", "allow SELECT_TABLE on schema shop.sales", *rules, held_by=("ana",))
    wish = GrantRequest(the("table", "shop.stock.items"), (ana,), ("SELECT_TABLE",))
    grants.add(wish, by=acting("marek"))
    duties.give(sales, "review_access", ana, by=BY, authority=AUTHORITY)
    owned(orders, "ana")
    return ana


LEAVING: dict[str, Any] = {
    "active false": lambda directory, made: directory.patch(
        made, {"op": "Replace", "path": "active", "value": "False"}
    ),
    "active false without a path": lambda directory, made: directory.patch(
        made, {"op": "replace", "value": {"active": False}}
    ),
    "replaced": lambda directory, made: directory.call(
        "PUT", f"/Users/{made['id']}", {"schemas": [USER], "userName": "ana", "active": False}
    ),
    "deleted": lambda directory, made: directory.call("DELETE", f"/Users/{made['id']}"),
}


@pytest.mark.parametrize("leave", LEAVING.values(), ids=LEAVING)
def test_who_left_has_nothing_at_the_next_check(shop: Any, directory: Directory, leave: Any) -> None:
    made = directory.person("ana")
    directory.group("analysts", made)
    admit(shop, "group:analysts")
    a_role(shop, "stock", "allow SELECT_TABLE on schema shop.stock", held_by=("group:analysts",))
    ana = a_rich_leaver(shop)
    browser, token = Client(), tokens.create(ana)
    browser.force_login(User.objects.get(username="ana"))
    assert browser.get("/profile").status_code == 200
    seen = [the("table", name) for name in ("shop.sales.orders", "shop.sales.customers", "shop.stock.items")]
    assert all(ask.ask(ana, "read", node) for node in seen)
    events = Event.objects.count()

    assert leave(directory, made).status_code in (200, 204)

    assert not any(ask.ask(ana, "read", node) for node in seen)
    assert browser.get("/profile").status_code == 302
    assert Client(headers={"Authorization": f"Bearer {token}"}).get("/api/metalakes").status_code == 401
    assert not Token.objects.filter(principal=ana, revoked__isnull=True).exists()
    assert not SignIn.objects.filter(account__principal=ana).exists()
    for model, field in ((RealmMember, "principal"), (Membership, "member"), (Assignment, "holder")):
        assert not model.objects.open().filter(**{field: ana}).exists()
    assert not Grant.objects.open().filter(holder=ana).exists()
    assert not UserDuty.objects.filter(user__principal=ana).exists()
    assert Ownership.objects.open().filter(owner=ana).count() == 1
    waiting = ownership.places(OwnershipFilter(shop, how=GONE), [shop.id])
    assert "orders" in [row.name for row in waiting]
    assert Event.objects.count() > events and Event.objects.filter(kind="directory.left").count() == 1
    assert Assignment.objects.filter(holder=ana).exists()  # what was stays in the history


@pytest.mark.parametrize("law", ["gravitino", "herd", "cdap"])
def test_who_left_is_decided_as_nobody_by_every_law(directory: Directory, settings: Any, law: str) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"ana"})  # and named in the settings besides
    made = directory.person("ana")
    chosen = {"policy": "3.4", "authentication": "on", "master_user": "ana"} if law == "cdap" else {}
    root = realms.create(law, "site", owner=person("ana"), settings=chosen, by=BY, authority=AUTHORITY)
    stranger = Principal(pk=0, kind="user", name="nobody-knows")
    able = {
        name
        for name in dialects.get(Realm.objects.get(pk=root.realm_id).law).operations
        if ask.ask(person("ana"), name, root)
    }
    assert able
    directory.patch(made, {"op": "replace", "path": "active", "value": False})
    left = {name for name in able if ask.ask(person("ana"), name, root)}
    assert left <= {name for name in able if ask.ask(stranger, name, root)}
    directory.patch(made, {"op": "replace", "path": "active", "value": True})
    assert ask.ask(person("ana"), sorted(able - left)[0], root) or law == "gravitino"


def test_who_returns_gets_their_groups_back_and_nothing_by_hand(shop: Any, directory: Directory) -> None:
    made = directory.person("ana")
    group, other = directory.group("analysts", made), directory.group("writers", made)
    admit(shop, "ana")
    directory.patch(made, {"op": "replace", "path": "active", "value": False})
    inside = Membership.objects.open().filter(member=person("ana"))
    assert not inside.exists()
    assert [item["value"] for item in directory.read(group)["members"]] == [made["id"]]
    directory.patch(other, {"op": "remove", "path": f'members[value eq "{made["id"]}"]'})
    directory.patch(made, {"op": "replace", "path": "active", "value": True})
    assert User.objects.get(username="ana").is_active
    assert [row.group.name for row in inside] == ["analysts"]
    assert not RealmMember.objects.open().filter(principal=person("ana")).exists()


def test_a_deleted_person_is_not_there_and_may_come_again_as_another(directory: Directory) -> None:
    made = directory.person("ana", externalId="1")
    assert directory.call("DELETE", f"/Users/{made['id']}").status_code == 204
    assert directory.call("GET", f"/Users/{made['id']}").status_code == 404
    assert directory.names("/Users") == []
    again = directory.person("ana", externalId="2")
    assert again["id"] != made["id"]
    assert User.objects.get(username="ana").is_active


def test_nobody_takes_over_by_a_name_what_somebody_left(shop: Any, directory: Directory) -> None:
    made = directory.person("ana")
    admit(shop, "ana")
    owned(the("table", "shop.sales.orders"), "ana")
    directory.call("DELETE", f"/Users/{made['id']}")
    answer = directory.call("POST", "/Users", {"schemas": [USER], "userName": "ana"})
    assert (answer.status_code, "Hand them over first" in answer.json()["detail"]) == (409, True)
    owned(the("table", "shop.sales.orders"), "marek")
    assert directory.person("ana")["active"]


def test_who_was_disabled_here_is_not_enabled_there(directory: Directory) -> None:
    made = directory.person("ana")
    accounts.close(User.objects.get(username="ana"), by=BY, authority=AUTHORITY)
    read = directory.read(made)
    assert not read["active"]
    assert read["meta"]["version"] != made["meta"]["version"]
    answer = directory.patch(made, {"op": "replace", "path": "active", "value": True})
    assert answer.status_code == 409
    assert not User.objects.get(username="ana").is_active


def ended_and_made(directory: Directory, made: dict[str, Any]) -> Any:
    directory.call("DELETE", f"/Users/{made['id']}")
    return directory.call("POST", "/Users", {"schemas": [USER], "userName": "ana"})


def gone_and_back(directory: Directory, made: dict[str, Any]) -> Any:
    for active in (False, True):
        sent = {"schemas": [USER], "userName": "ana", "active": active, "externalId": f"is {active}"}
        answer = directory.call("PUT", f"/Users/{made['id']}", sent)
    return answer


AROUND = {"deleted and made": ended_and_made, "inactive and active": gone_and_back}


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
def test_who_was_disabled_here_is_not_enabled_by_leaving_and_returning_there(
    directory: Directory, around: Any
) -> None:
    made = directory.person("ana")
    accounts.close(User.objects.get(username="ana"), by=BY, authority=AUTHORITY)
    assert around(directory, made).status_code == 409
    assert not User.objects.get(username="ana").is_active


def test_who_was_enabled_here_and_disabled_again_is_not_enabled_there(directory: Directory) -> None:
    made = directory.person("ana")
    directory.patch(made, {"op": "replace", "path": "active", "value": False})
    for change in (accounts.open_again, accounts.close):
        assert change(User.objects.get(username="ana"), by=BY, authority=AUTHORITY)
    answer = directory.patch(made, {"op": "replace", "path": "active", "value": True})
    assert answer.status_code == 409
    assert not User.objects.get(username="ana").is_active


def test_a_service_that_somebody_left_answers_to_nobody_new(directory: Directory) -> None:
    made = directory.person("ana")
    accounts.make_service("etl", person("ana"), by=BY, authority=AUTHORITY)
    directory.call("DELETE", f"/Users/{made['id']}")
    assert Keeping.objects.open().filter(keeper=person("ana")).exists()
    assert directory.call("POST", "/Users", {"schemas": [USER], "userName": "ana"}).status_code == 409


def test_the_record_names_nobody(directory: Directory) -> None:
    directory.person("ana", emails=[{"value": "ana@example.org"}])
    data = str(list(Event.objects.values_list("data", flat=True)))
    assert "ana" not in data.replace("management", "")


def test_an_entry_of_an_erased_person_holds_nothing(directory: Directory) -> None:
    made = directory.person("ana", emails=[{"value": "ana@example.org"}], externalId="1")
    directory.call("DELETE", f"/Users/{made['id']}")
    row = DirectoryEntry.objects.get()
    assert (row.attributes, row.external_id) == ({}, "")
    assert not Placement.objects.filter(name="~ana").exists()


def sent(directory: Directory, made: dict[str, Any], how: str, **what: Any) -> int:
    if how == "PATCH":
        changes = [{"op": "replace", "path": name, "value": value} for name, value in what.items()]
        return int(directory.patch(made, *changes).status_code)
    body = {"schemas": [USER], "userName": made["userName"], **what}
    return int(directory.call("PUT", f"/Users/{made['id']}", body).status_code)


@pytest.mark.parametrize("how", ["PATCH", "PUT"])
def test_who_was_disabled_here_loses_all_once_the_directory_says_they_left(
    directory: Directory, how: str
) -> None:
    """Nothing of what is shown changes by it, but all that others ask about them does."""
    made = directory.person("ana")
    directory.group("analysts", made)
    accounts.close(User.objects.get(username="ana"), by=BY, authority=AUTHORITY)
    assert sent(directory, made, how, active=False) in (200, 204)
    assert not Membership.objects.open().filter(member=person("ana")).exists()
    assert not DirectoryEntry.objects.get(principal=person("ana")).is_active


@pytest.mark.parametrize("how", ["PATCH", "PUT"])
def test_a_word_about_a_name_says_nothing_of_who_was_disabled_here(directory: Directory, how: str) -> None:
    made = directory.person("ana")
    directory.group("analysts", made)
    accounts.close(User.objects.get(username="ana"), by=BY, authority=AUTHORITY)
    assert sent(directory, made, how, displayName="Ana Lima") in (200, 204)
    assert Membership.objects.open().filter(member=person("ana")).exists()
    assert not Event.objects.filter(kind="directory.left").exists()
    shown = directory.read(made)
    assert (shown["displayName"], shown["active"]) == ("Ana Lima", False)


@pytest.mark.parametrize("how", ["PATCH", "PUT"])
def test_who_left_and_was_enabled_here_returns_by_a_word_about_that_alone(
    directory: Directory, how: str
) -> None:
    made = directory.person("ana")
    directory.group("analysts", made)
    directory.patch(made, {"op": "replace", "path": "active", "value": False})
    accounts.open_again(User.objects.get(username="ana"), by=BY, authority=AUTHORITY)
    assert sent(directory, made, how, displayName="Ana Lima") in (200, 204)
    assert not Membership.objects.open().filter(member=person("ana")).exists()
    assert sent(directory, made, how, active=True) in (200, 204)
    assert Membership.objects.open().filter(member=person("ana")).exists()


@pytest.mark.parametrize("words", [{}, {"active": None}], ids=["left out", "null"])
@pytest.mark.parametrize("how", ["PATCH", "PUT"])
def test_who_left_returns_by_no_word_that_leaves_open_whether_they_did(
    directory: Directory, how: str, words: dict[str, None]
) -> None:
    made = directory.person("ana")
    directory.group("analysts", made)
    directory.patch(made, {"op": "replace", "path": "active", "value": False})
    assert sent(directory, made, how, displayName="Ana Lima", **(words if how == "PUT" else {})) in (200, 204)
    assert not User.objects.get(username="ana").is_active
    assert not DirectoryEntry.objects.get(principal=person("ana")).is_active
    assert not Membership.objects.open().filter(member=person("ana")).exists()
    assert directory.read(made)["displayName"] == "Ana Lima"


@pytest.mark.parametrize("how", ["PATCH", "PUT", "DELETE"])
def test_who_was_enabled_here_after_they_left_leaves_again(directory: Directory, how: str) -> None:
    made = directory.person("ana")
    directory.patch(made, {"op": "replace", "path": "active", "value": False})
    accounts.open_again(User.objects.get(username="ana"), by=BY, authority=AUTHORITY)
    token = tokens.create(person("ana"))
    if how == "DELETE":
        assert directory.call("DELETE", f"/Users/{made['id']}").status_code == 204
    else:
        assert sent(directory, made, how, active=False) in (200, 204)
    assert not User.objects.get(username="ana").is_active
    assert Client(headers={"Authorization": f"Bearer {token}"}).get("/authz/v1/requests").status_code == 401


@pytest.mark.parametrize("then", ["away", "out of the group"])
def test_who_returns_and_goes_at_once_is_not_put_back_into_groups(
    directory: Directory, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    """Groups are filled after the change that enables the account, so another call may come between."""
    made = directory.person("ana")
    group = directory.group("analysts", made)
    away, back = ({"op": "replace", "path": "active", "value": value} for value in (False, True))
    out = {"op": "remove", "path": f'members[value eq "{made["id"]}"]'}
    directory.patch(made, away)
    put_in = kept_directory._try_to_put_in

    def later(*given: Any) -> None:
        monkeypatch.undo()
        answer = directory.patch(made, away) if then == "away" else directory.patch(group, out)
        assert answer.status_code == 204
        put_in(*given)

    monkeypatch.setattr(kept_directory, "_try_to_put_in", later)
    assert directory.patch(made, back).status_code == 204
    assert not Membership.objects.open().filter(member=person("ana")).exists()

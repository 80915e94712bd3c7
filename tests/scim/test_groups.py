"""Groups of the directory: filled by it alone, in its way of asking for changes."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from accounts import people
from accounts.identities import Identity
from accounts.models import Membership, Principal
from policies.errors import Invalid
from policies.models import Counter, Event
from policies.services import external_accounts, members
from tests.factories import AUTHORITY, BY, a_person
from tests.scim.world import GROUP, USER, Directory, a_directory, person


@pytest.fixture
def directory(db: None, settings: Any) -> Directory:
    return a_directory(settings)


def inside(name: str) -> list[str]:
    rows = Membership.objects.open().filter(group__name=name).order_by("member__name")
    return list(rows.values_list("member__name", flat=True))


def the_group(name: str) -> Principal:
    principal = people.find("group", name)
    assert principal is not None
    return principal


def test_people_are_put_in_and_taken_out_in_every_way_of_asking(directory: Directory) -> None:
    ana, bob, eve = (directory.person(name) for name in ("ana", "bob", "eve"))
    group = directory.group("analysts", ana)
    ways: list[tuple[dict[str, Any], list[str]]] = [
        ({"op": "Add", "path": "members", "value": [{"value": bob["id"]}]}, ["ana", "bob"]),
        ({"op": "add", "value": {"members": [{"value": eve["id"]}]}}, ["ana", "bob", "eve"]),
        ({"op": "remove", "path": f'members[value eq "{ana["id"]}"]'}, ["bob", "eve"]),
        ({"op": "Remove", "path": "members", "value": [{"value": bob["id"]}]}, ["eve"]),
        ({"op": "replace", "path": "members", "value": [{"value": ana["id"]}]}, ["ana"]),
        ({"op": "replace", "value": {"displayName": "Analysts"}}, ["ana"]),
        ({"op": "remove", "path": "members"}, []),
    ]
    for asked, expected in ways:
        answer = directory.patch(group, asked)
        assert (answer.status_code, inside("analysts")) == (204, expected), asked
    assert (the_group("analysts").label, directory.read(group)["displayName"]) == ("Analysts", "Analysts")


def test_members_who_are_not_kept_are_refused(directory: Directory) -> None:
    answer = directory.call(
        "POST", "/Groups", {"schemas": [GROUP], "displayName": "analysts", "members": [{"value": "nobody"}]}
    )
    assert (answer.status_code, answer.json()["scimType"]) == (400, "invalidValue")
    assert people.find("group", "analysts") is None


def test_two_who_change_the_same_do_not_undo_each_other(directory: Directory) -> None:
    ana, bob = directory.person("ana"), directory.person("bob")
    group = directory.group("analysts")
    etag = group["meta"]["version"]
    first = directory.patch(
        group, {"op": "add", "path": "members", "value": [{"value": ana["id"]}]}, if_match=etag
    )
    assert (first.status_code, first.headers["ETag"] != etag) == (204, True)
    late = directory.patch(
        group, {"op": "replace", "path": "members", "value": [{"value": bob["id"]}]}, if_match=etag
    )
    assert late.status_code == 412
    assert inside("analysts") == ["ana"]
    path = f"/Groups/{group['id']}"
    assert directory.call("GET", path, if_none_match=first.headers["ETag"]).status_code == 304
    assert directory.call("DELETE", path, if_match=etag).status_code == 412


def test_a_group_that_ended_is_empty_and_its_name_is_free(directory: Directory) -> None:
    group = directory.group("analysts", directory.person("ana"))
    assert directory.call("DELETE", f"/Groups/{group['id']}").status_code == 204
    assert (inside("analysts"), directory.names("/Groups")) == ([], [])
    assert directory.group("analysts")["id"] != group["id"]


def test_only_the_directory_changes_who_is_in_its_groups(directory: Directory) -> None:
    group = directory.group("analysts", directory.person("ana"))
    with pytest.raises(Invalid, match="The directory manages group analysts"):
        members.join_group(the_group("analysts"), a_person("bob"), by=BY, authority=AUTHORITY)
    with pytest.raises(Invalid):
        members.leave_group(the_group("analysts"), person("ana"), by=BY, authority=AUTHORITY)
    external_accounts.admit(Identity("ana", "", "", ()))  # what another trusted system says of groups
    external_accounts.admit(Identity("bob", "", "", ("analysts",)))
    assert inside("analysts") == ["ana"]
    directory.call("DELETE", f"/Groups/{group['id']}")
    assert members.join_group(the_group("analysts"), person("bob"), by=BY, authority=AUTHORITY)


def test_a_group_filled_by_hand_is_not_taken_over(directory: Directory) -> None:
    a_person("ana", "analysts")
    answer = directory.call("POST", "/Groups", {"schemas": [GROUP], "displayName": "analysts"})
    assert (answer.status_code, answer.json()["scimType"]) == (409, "uniqueness")
    members.leave_group(the_group("analysts"), person("ana"), by=BY, authority=AUTHORITY)
    assert directory.group("analysts")


def test_the_console_shows_whose_group_it_is_and_no_button(directory: Directory, settings: Any) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    sam = Client()
    sam.force_login(people.make_account("sam"))
    directory.group("analysts", directory.person("ana"))
    page = sam.get(f"/people/{the_group('analysts').pk}/groups").content.decode()
    assert "The directory manages this group" in page
    assert "Take out" not in page and "/join" not in page
    for way in ("join", "leave"):
        url = f"/groups/{the_group('analysts').pk}/{way}"
        answer = sam.get(f"{url}?who=user:ana")
        assert answer.status_code == 403 and b"The directory manages this group" in answer.content, way


def test_many_are_put_in_as_one_change(directory: Directory) -> None:
    everybody = [directory.person(f"p{number}") for number in range(30)]
    before = Counter.objects.get().revision
    directory.group("all", *everybody)
    assert Counter.objects.get().revision == before + 1
    assert Event.objects.filter(change=before + 1, kind="group.joined").count() == 30


# Searches


@pytest.fixture
def filled(directory: Directory) -> Directory:
    for name in ("ana", "bob", "carl", "dora"):
        directory.person(name, externalId=f"x-{name}", displayName=name.title(), active=name != "dora")
    directory.group("analysts", directory.call("GET", "/Users").json()["Resources"][0])
    directory.group("bakers")
    return directory


FILTERS = {
    'userName eq "ANA"': ["ana"],
    'externalId eq "x-bob"': ["bob"],
    'userName sw "c" or userName co "or"': ["carl", "dora"],
    'displayName pr and not (userName eq "ana")': ["bob", "carl", "dora"],
    "active eq false": ["dora"],
    'userName gt "bob" and userName lt "dora"': ["carl"],
    'userName eq "ana" and active eq false': [],
    'urn:ietf:params:scim:schemas:core:2.0:User:userName eq "bob"': ["bob"],
    'meta.created gt "2020-01-01T00:00:00Z" and userName ew "a"': ["ana", "dora"],
    'id eq "nobody"': [],
}


@pytest.mark.parametrize("asked", FILTERS)
def test_filters_find_who_is_meant(filled: Directory, asked: str) -> None:
    assert filled.names(f"/Users?filter={quote(asked)}") == FILTERS[asked]
    answer = filled.call(
        "POST",
        "/Users/.search",
        {"schemas": ["urn:ietf:params:scim:api:messages:2.0:SearchRequest"], "filter": asked},
    )
    assert [item["userName"] for item in answer.json().get("Resources", ())] == FILTERS[asked]


def test_groups_are_found_by_name_and_by_who_is_in_them(filled: Directory) -> None:
    ana = filled.call("GET", "/Users?filter=userName+eq+%22ana%22").json()["Resources"][0]
    assert filled.names("/Groups?filter=displayName+eq+%22Bakers%22&excludedAttributes=members") == ["bakers"]
    assert filled.names(f"/Groups?filter=members.value+eq+%22{ana['id']}%22") == ["analysts"]
    assert filled.names(f"/Groups?filter=members[value+eq+%22{ana['id']}%22]") == ["analysts"]
    assert [item["display"] for item in ana["groups"]] == ["analysts"]


def test_pages_and_order(filled: Directory) -> None:
    answer = filled.call("GET", "/Users?startIndex=2&count=2").json()
    assert (answer["totalResults"], answer["startIndex"], answer["itemsPerPage"]) == (4, 2, 2)
    assert [item["userName"] for item in answer["Resources"]] == ["bob", "carl"]
    assert filled.names("/Users?sortBy=userName&sortOrder=descending&count=2") == ["dora", "carl"]
    far = filled.call("GET", f"/Users?startIndex={10**20}&count={10**20}").json()
    assert (far["totalResults"], far.get("Resources", [])) == (4, [])
    none = filled.call("GET", "/Users?count=0").json()
    assert (none["totalResults"], none.get("Resources")) == (4, [])


def test_only_what_is_asked_for_is_answered(filled: Directory) -> None:
    some = filled.call("GET", "/Users?attributes=userName&count=1").json()["Resources"][0]
    assert set(some) == {"schemas", "id", "userName"}
    rest = filled.call("GET", "/Groups?excludedAttributes=members").json()["Resources"][0]
    assert "members" not in rest and rest["displayName"] == "analysts"


# What is wrong


WRONG = {
    "a filter that is none": ("GET", "/Users?filter=userName+eq", None, 400, "invalidFilter"),
    "no such attribute": ("GET", "/Users?filter=shoe+eq+1", None, 400, "invalidFilter"),
    "a letter that is none": ("GET", "/Users?filter=userName+eq+%22%00%22", None, 400, "invalidValue"),
    "long": ("GET", "/Users?filter=userName+eq+%22" + "x" * 9000 + "%22", None, 400, "invalidValue"),
    "no JSON": ("POST", "/Users", "{", 400, None),
    "no name": ("POST", "/Users", {"schemas": [USER]}, 400, "invalidValue"),
    "an invisible name": ("POST", "/Users", {"schemas": [USER], "userName": "a\u202eb"}, 400, "invalidValue"),
    "an empty name": ("POST", "/Users", {"schemas": [USER], "userName": ""}, 400, "invalidValue"),
    "a NUL": ("POST", "/Users", {"schemas": [USER], "userName": "a\0b"}, 400, "invalidValue"),
    "a long name": ("POST", "/Users", {"schemas": [USER], "userName": "a" * 200}, 400, "invalidValue"),
    "a list": ("POST", "/Users", [1], 400, None),
    "nobody": ("GET", "/Users/0", None, 404, None),
    "another endpoint": ("GET", "/Shoes", None, 404, None),
    "another method": ("PATCH", "/Users", {}, 405, None),
    "me": ("GET", "/Me", None, 501, None),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_in_the_form_of_scim(directory: Directory, wrong: Any) -> None:
    method, path, body, status, kind = wrong
    answer = directory.call(method, path, body)
    answer_body = answer.json()
    assert (answer.status_code, answer.headers["Content-Type"]) == (status, "application/scim+json")
    assert answer_body["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]
    assert str(answer_body["status"]) == str(status)
    assert kind is None or answer_body["scimType"] == kind


def test_a_bulk_does_each_by_itself_and_knows_its_limits(directory: Directory) -> None:
    def bulk(*operations: dict[str, Any]) -> Any:
        schema = "urn:ietf:params:scim:api:messages:2.0:BulkRequest"
        return directory.call("POST", "/Bulk", {"schemas": [schema], "Operations": list(operations)})

    def make(name: str) -> dict[str, Any]:
        data = {"schemas": [USER], "userName": name}
        return {"method": "POST", "path": "/Users", "bulkId": name, "data": data}

    inside_ = {"schemas": [GROUP], "displayName": "analysts", "members": [{"value": "bulkId:ana"}]}
    group = {"method": "POST", "path": "/Groups", "bulkId": "g", "data": inside_}
    body = bulk(make("ana"), make("ana\u202e"), group).json()["Operations"]
    assert [str(item["status"]) for item in body] == ["201", "400", "201"]
    assert inside("analysts") == ["ana"]
    assert bulk(*(make(f"p{number}") for number in range(101))).status_code == 413


def test_who_leaves_while_they_sign_in_gets_no_groups_by_that(
    directory: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy names people on each request, and one may be under way while the directory takes them out."""
    ana = directory.person("ana")
    brought_up_to_date = external_accounts._bring_up_to_date

    def later(*given: Any) -> None:
        away = {"op": "replace", "path": "active", "value": False}
        assert directory.patch(ana, away).status_code == 204
        brought_up_to_date(*given)

    monkeypatch.setattr(external_accounts, "_bring_up_to_date", later)
    external_accounts.admit(Identity("ana", "", "", ("auditors",)))
    assert inside("auditors") == []

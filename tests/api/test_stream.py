"""The stream of changes: who may listen, what it tells of whom, and where it goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts import people, tokens
from catalog.models import Realm
from catalog.nodes import Node
from lakewarden.client.changes import key_of
from policies.authority import OPERATOR
from policies.decisions import touched
from policies.events import DIRECTORY_LEFT
from policies.models import Counter, RealmTouch
from policies.record.change import change
from policies.services import leaving, members, realms, roles
from tests.admitted import admitted_service
from tests.cdap_law.test_grants import a_role
from tests.cdap_law.world import BY, a_cdap, give, make, user
from tests.factories import AUTHORITY, a_metalake, admit
from tests.herd.world import Caller

STREAM = "/authz/v1/stream"
Message = tuple[str, int, list[str]]


@pytest.fixture
def cdap(db: None, settings: Any) -> Node:
    settings.LAKEWARDEN_STREAM_SECONDS = 0
    top: Node = a_cdap("cdap", "4.3")
    make(top, "namespace:ns1", "dataset:ns1.a")
    admitted_service("container")
    return top


def listen(caller: Caller, after: object = "", realm: str = "cdap", **headers: str) -> list[Message]:
    answer = caller.get(
        STREAM, {"realm": realm, "after": after} if after != "" else {"realm": realm}, headers=headers
    )
    assert answer.status_code == 200, answer.content
    assert answer.headers["Content-Type"] == "text/event-stream"
    return [message for block in b"".join(answer).decode().split("\n\n") for message in read(block)]


def read(block: str) -> list[Message]:
    fields = dict(line.split(": ", 1) for line in block.splitlines())
    return (
        [(fields["event"], int(fields["id"]), json.loads(fields["data"])["keys"])]
        if "event" in fields
        else []
    )


def revision() -> int:
    return Counter.objects.get().revision


def keys(*names: str) -> list[str]:
    return sorted(map(key_of, names))


def test_it_begins_with_where_it_is(cdap: Node) -> None:
    assert listen(Caller("container", kind="service")) == [("ready", revision(), [])]


CHANGES: dict[str, tuple[Callable[[Node], Any], list[str]]] = {
    "a grant": (lambda cdap: give(cdap, "ana", "READ on dataset:ns1.a"), keys("ana")),
    "a role's holder": (
        lambda cdap: roles.assign(a_role(cdap, "r", held_by=()), user("ana"), **BY),
        keys("ana"),
    ),
    "a group joined": (
        lambda cdap: members.join_group(people.ensure("group", "staff"), user("bob"), **BY),
        keys("bob"),
    ),
    "an entity made": (lambda cdap: make(cdap, "dataset:ns1.b"), ["*"]),
    "a mode": (lambda cdap: realms.set_mode(Realm.objects.get(), "off", **BY), ["*"]),
}


@pytest.mark.seed("S2-046")
@pytest.mark.parametrize("name", CHANGES)
def test_each_change_tells_whom_it_concerns(cdap: Node, name: str) -> None:
    caller, (change, concerned) = Caller("container", kind="service"), CHANGES[name]
    give(cdap, "group:staff", "READ on dataset:ns1.a")
    before = revision()
    change(cdap)
    assert listen(caller, before) == [("touched", revision(), concerned)]
    assert listen(caller, Last_Event_ID=str(before)) == [("touched", revision(), concerned)]
    assert listen(caller, revision()) == []


def test_what_is_given_to_a_group_or_role_concerns_its_members(cdap: Node) -> None:
    role = a_role(cdap, "readers", held_by=("user:ana", "group:staff"))
    members.join_group(people.ensure("group", "staff"), user("bob"), **BY)
    caller, before = Caller("container", kind="service"), revision()
    give(cdap, "group:staff", "READ on dataset:ns1.a")
    assert listen(caller, before) == [("touched", revision(), keys("staff", "bob"))]
    before = revision()
    roles.unassign(role, user("ana"), **BY)
    assert listen(caller, before) == [("touched", revision(), keys("ana"))]


def test_what_happens_in_another_realm_is_not_told(cdap: Node) -> None:
    other = a_cdap("other", "4.3")
    caller, before = Caller("container", kind="service"), revision()
    give(other, "ana", "READ on dataset:ns1.a")
    assert listen(caller, before) == []


def test_who_changed_in_another_realm_is_not_told_with_what_changed_in_this_one(cdap: Node) -> None:
    other = a_cdap("other", "4.3")
    make(other, "namespace:ns1", "dataset:ns1.a")
    caller, before = Caller("container", kind="service"), revision()
    give(other, "ana", "READ on dataset:ns1.a")
    give(other, "group:staff", "READ on dataset:ns1.a")
    role = a_role(other, "readers", held_by=("user:carl",))
    members.join_group(people.ensure("group", "staff"), user("dora"), **BY)
    roles.unassign(role, user("carl"), **BY)
    give(cdap, "bob", "READ on dataset:ns1.a")
    assert listen(caller, before) == [("touched", revision(), keys("bob"))]
    between = revision()
    give(other, "bob", "WRITE on dataset:ns1.a")
    assert listen(caller, before) == [("touched", revision(), keys("bob"))]
    assert listen(caller, between) == []


def test_who_leaves_is_told_where_they_had_anything_and_where_everybody_belongs(
    cdap: Node,
) -> None:
    mine, others = a_metalake("mine"), a_metalake("others")
    admit(mine, "group:staff")
    members.join_group(people.ensure("group", "staff"), user("ana"), **BY)
    before = revision()
    with change(DIRECTORY_LEFT, realm=None, by=OPERATOR) as current:
        leaving.end_access(current, user("ana"), by=AUTHORITY)
    touched_ids = {top.realm: touched.since(top.realm_id, before).keys for top in (cdap, mine, others)}
    assert touched_ids == {"cdap": tuple(keys("ana")), "mine": tuple(keys("ana")), "others": ()}


def test_what_a_console_of_before_wrote_is_told_of_the_realm_of_its_change(cdap: Node) -> None:
    other = a_cdap("other", "4.3")
    make(other, "namespace:ns1", "dataset:ns1.a")
    caller, before = Caller("container", kind="service"), revision()
    give(other, "ana", "READ on dataset:ns1.a")
    give(cdap, "bob", "READ on dataset:ns1.a")
    RealmTouch.objects.all().delete()
    assert listen(caller, before) == [("touched", revision(), keys("bob"))]


def test_a_record_that_went_back_concerns_everybody(cdap: Node) -> None:
    caller = Caller("container", kind="service")
    assert listen(caller, revision() + 5) == [("touched", revision(), ["*"])]


@pytest.mark.parametrize("after", ["-1", "x", "1.5", "9" * 40])
def test_where_it_goes_on_is_read_strictly(cdap: Node, after: str) -> None:
    caller = Caller("container", kind="service")
    assert caller.get(STREAM, {"realm": "cdap", "after": after}).status_code == 400
    assert caller.get(STREAM).status_code == 400


def test_only_services_that_the_realm_admits_listen(cdap: Node) -> None:
    admitted = Caller("container", kind="service")
    stranger = Client(headers={"Authorization": f"Bearer {tokens.create(people.ensure('service', 'new'))}"})
    refused = [
        stranger.get(STREAM, {"realm": "cdap"}),
        Caller("ana").get(STREAM, {"realm": "cdap"}),
        Caller("container", "report", kind="service").get(STREAM, {"realm": "cdap"}),
        admitted.get(STREAM, {"realm": "nowhere"}),
        admitted.get(STREAM, {"realm": "\0"}),
    ]
    assert [answer.status_code for answer in refused] == [403] * 5
    assert refused[0].json()["detail"] == refused[3].json()["detail"]
    assert Client().get(STREAM, {"realm": "cdap"}).status_code == 401

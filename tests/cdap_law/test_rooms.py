"""CDAP realms where everything else looks: access to an object, lists, searches, pages, snapshots, runs."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts import people
from accounts.models import User
from catalog.nodes import Node
from catalog.queries import find
from lakewarden.client.snapshot import Snapshot
from lakewarden.law.objects import ObjectRef
from policies.decisions import ask, slices
from policies.decisions.lookups import visible_objects
from policies.decisions.lookups.access import AccessMap
from policies.errors import Conflict, Refused
from policies.services import jobs, members
from tests.cdap_law.world import BY, Caller, a_cdap, acting, give, make, question, text, user

pytestmark = pytest.mark.django_db
NAMES = (
    *("namespace:ns1", "namespace:ns2", "application:ns1.app", "program:ns1.app.worker.etl"),
    *("dataset:ns1.a", "dataset:ns1.b", "dataset:ns2.a", "stream:ns1.clicks"),
)


def a_world(policy: str = "4.3", **settings: str) -> Node:
    root = a_cdap("c", policy, **settings)
    make(root, *NAMES)
    return root


def the(entity: str) -> Node:
    name = text(entity)
    node = find(ObjectRef(name.type, "c", name.parts if name.type != "instance" else ()))
    assert node is not None, entity
    return node


def sent(client: Client, path: str, body: object) -> Any:
    return client.generic("POST", path, json.dumps(body), content_type="application/json")


def who_has(entity: str) -> dict[str, set[str]]:
    return {str(row.principal): set(row.can) for row in AccessMap(the(entity)).rows()}


def test_who_has_access_is_told_from_texts() -> None:
    root = a_world()
    members.join_group(people.ensure("group", "staff"), user("gina"), **BY)
    give(root, "ana", "READ on dataset:ns1.*")
    give(root, "bob", "ADMIN on namespace:ns1")
    give(root, "group:staff", "WRITE on dataset:ns1.a")
    holders = who_has("dataset:ns1.a")
    assert holders["user:ana"] == {"read", "use"}
    assert holders["group:staff"] == {"write", "use"}
    assert "user:bob" not in holders
    assert "user:ana" not in who_has("dataset:ns2.a")
    assert AccessMap(the("dataset:ns1.a")).count("write") == (1, 0)


def test_what_is_held_above_counts_in_3_5() -> None:
    root = a_world("3.5")
    give(root, "ana", "READ on namespace:ns1")
    assert "read" in who_has("dataset:ns1.a")["user:ana"]
    assert "user:ana" not in who_has("dataset:ns2.a")


@pytest.mark.seed("S2-005", "S2-013", "S2-064", "S2-073")
@pytest.mark.parametrize(
    ("policy", "gift", "datasets", "namespaces"),
    [
        ("4.3", "READ on dataset:ns1.a", {"a"}, {"ns1"}),
        ("4.3", "READ on namespace:ns1", set(), {"ns1"}),
        ("4.3", "ADMIN on dataset:*.a", {"a"}, {"ns1", "ns2"}),
        ("3.5", "READ on dataset:ns1.a", {"a"}, set()),
        ("3.5", "WRITE on namespace:ns1", {"a", "b"}, {"ns1"}),
        ("3.5", "EXECUTE on namespace:ns1", set(), set()),
        ("3.5", "ADMIN on instance:c", {"a", "b"}, {"ns1", "ns2"}),
        ("3.4", "READ on dataset:ns1.a", {"a"}, {"ns1", "ns2"}),
        ("3.4", "ADMIN on namespace:ns1", set(), {"ns1", "ns2"}),
    ],
)
def test_lists_hold_what_the_generation_shows(
    policy: str, gift: str, datasets: set[str], namespaces: set[str]
) -> None:
    root = a_world(policy)
    give(root, "ana", gift)
    ana = slices.current(user("ana"), root)
    listed = visible_objects.children(ana, the("namespace:ns1"), "dataset")
    assert {row.name for row in listed} == datasets
    assert {row.name for row in visible_objects.children(ana, root, "namespace")} == namespaces
    rows = visible_objects.search(ana, root, "a").filter(type="dataset", parent=the("namespace:ns1").id)
    assert {row.name for row in rows} == {name for name in datasets if "a" in name}


LISTS = [
    ("namespace", "namespace:ns1", "S2-058"),
    ("artifact", "artifact:ns1.jar", "S2-059"),
    ("application", "application:ns1.app", "S2-060"),
    ("dataset", "dataset:ns1.a", "S2-061"),
    ("stream", "stream:ns1.clicks", "S2-062"),
    ("program", "program:ns1.app.worker.etl", "S2-063"),
]


@pytest.mark.seed("S2-003")
@pytest.mark.parametrize(
    ("type", "entity"),
    [pytest.param(*list_[:2], marks=pytest.mark.seed(list_[2]), id=list_[0]) for list_ in LISTS],
)
def test_each_kind_of_list_needs_something_on_what_it_shows(type: str, entity: str) -> None:
    root = a_cdap("c", "3.5")
    make(root, *NAMES, "artifact:ns1.jar")
    caller = Caller()
    for code in ("READ", "WRITE", "ADMIN", "ALL", "EXECUTE"):
        give(root, code, f"{code} on {entity}")
        user("nobody")
        for who in (code, "nobody"):
            body = {**question(who, "use", "c", entity), "resource": {"type": type}}
            ids = [item["id"] for item in caller.send("/access/v1/search/resource", body)["results"]]
            seen = f"c/{entity.partition(':')[2]}" in ids
            assert seen == (who == code and (code != "EXECUTE" or type == "program")), (who, ids)


def test_access_is_told_to_programs() -> None:
    root = a_world()
    give(root, "ana", "READ on dataset:ns1.*")
    boss = Caller("admin", "user")
    body = json.loads(boss.get("/authz/v1/access?resource=dataset:c/ns1.a").content)
    [row] = [item for item in body["results"] if item["principal"] == "user:ana"]
    assert row["paths"][0]["object"] == {"entity": "dataset:ns1.*"}
    mine = json.loads(Caller("ana", "user").get("/authz/v1/access?principal=user:ana&realm=c").content)
    reached = {item["resource"]["id"]: item["actions"] for item in mine["results"]}
    assert {"c/ns1.a", "c/ns1.b"} <= reached.keys()
    assert "read" in reached["c/ns1.a"]
    assert "c/ns2.a" not in reached


# what runs


@pytest.mark.seed("S1-184", "S1-185", "S1-222", "S2-066", "S2-067")
def test_a_program_runs_as_whoever_is_impersonated_or_the_master() -> None:
    root = a_cdap("c", master_user="cdap")
    make(root, "namespace:ns1", "application:ns1.app", "program:ns1.app.worker.etl")
    make(root, "namespace:ns2", principal="nightly")
    make(root, "application:ns2.app", "program:ns2.app.worker.etl")
    make(root, "application:ns2.own", principal="owner")
    make(root, "program:ns2.own.worker.etl")
    for entity, account in (
        ("program:ns1.app.worker.etl", "cdap"),
        ("program:ns2.app.worker.etl", "nightly"),
        ("program:ns2.own.worker.etl", "owner"),
    ):
        with pytest.raises(Refused):
            jobs.start(the(entity), by=acting("ana"), lasting=timedelta(hours=1))
        give(root, "ana", f"EXECUTE on {entity}")
        started = jobs.start(the(entity), by=acting("ana"), lasting=timedelta(hours=1))
        assert str(started.runs_as) == f"user:{account}"
        assert started.expires > timezone.now()


def test_a_program_that_nobody_stands_behind_does_not_run() -> None:
    root = a_world()
    give(root, "ana", "EXECUTE on program:ns1.app.*")
    with pytest.raises(Conflict):
        jobs.start(the("program:ns1.app.worker.etl"), by=acting("ana"), lasting=timedelta(hours=1))


def test_a_run_is_decided_as_its_account_and_asks_about_nothing_else() -> None:
    root = a_world(master_user="cdap")
    give(root, "ana", "EXECUTE on program:ns1.app.*")
    give(root, "cdap", "READ on dataset:ns1.a")
    asked = {"realm": "c", "program": "ns1.app.worker.etl"}
    started = sent(Caller("ana", "user"), "/authz/v1/runs", asked)
    assert started.status_code == 201, started.content
    body = started.json()
    assert body["runs_as"] == "user:cdap"
    inside = Client(headers={"Authorization": f"Bearer {body['token']}"})
    for entity, right in (("dataset:ns1.a", True), ("dataset:ns1.b", False)):
        answer = sent(inside, "/access/v1/evaluation", question("cdap", "dataset.read", "c", entity))
        assert answer.json()["decision"] is right
    other = sent(inside, "/access/v1/evaluation", question("ana", "dataset.read", "c", "dataset:ns1.a"))
    assert other.status_code == 403


# pages and snapshots


@pytest.mark.parametrize("policy", ["3.4", "3.5", "4.3"])
@pytest.mark.parametrize("who", ["admin", "ana"])
def test_no_page_breaks_over_a_cdap(policy: str, who: str) -> None:
    root = a_world(policy)
    give(root, "ana", "READ on dataset:ns1.a", "ADMIN on namespace:ns1")
    account = User.objects.create(username=who, principal=user(who))
    client = Client()
    client.force_login(account, backend="django.contrib.auth.backends.ModelBackend")
    for name, args in (
        ("console:home", []),
        ("console:catalog", []),
        *(("console:browse", [node.id]) for node in (root, the("namespace:ns1"), the("application:ns1.app"))),
        *(("console:object", [the(item).id]) for item in (*NAMES, "instance:c")),
        ("console:history", []),
        ("console:people", []),
        ("console:person", [user("ana").pk]),
        ("console:roles", []),
        ("console:search", []),
        ("console:grant", [the("dataset:ns1.a").id]),
    ):
        answer = client.get(reverse(name, args=args))
        assert answer.status_code in (200, 302, 403, 404), (name, args, answer.status_code)
    for entity in ("dataset:ns1.a", "namespace:ns1"):
        type_, _, name = entity.partition(":")
        answer = client.get("/why", {"who": "ana", "action": "read", "what": f"c/{name}", "type": type_})
        assert answer.status_code == 200


def test_administrators_find_what_they_give_rights_on() -> None:
    root = a_world()
    give(root, "ana", "READ on dataset:ns1.*")
    for who, expected in (("admin", {"a", "b"}), ("ana", {"a", "b"}), ("bob", set())):
        slice_ = slices.current(user(who), root)
        listed = visible_objects.children(slice_, the("namespace:ns1"), "dataset")
        assert {row.name for row in listed} == expected, who
        assert {row.name for row in visible_objects.search(slice_, root, "").filter(type="stream")} == (
            {"clicks"} if who == "admin" else set()
        )
        assert ask.may_see(slice_, the("dataset:ns1.a"), now=timezone.now()) == bool(expected)


def test_the_history_tells_patterns_in_words() -> None:
    root = a_world()
    give(root, "ana", "READ on dataset:ns1.*")
    client = Client()
    account = User.objects.create(username="admin", principal=user("admin"))
    client.force_login(account, backend="django.contrib.auth.backends.ModelBackend")
    page_text = re.sub(r"<[^>]+>", "", client.get(reverse("console:history")).content.decode())
    assert "granted READ on dataset:ns1.* to ana" in " ".join(page_text.split())


def test_a_snapshot_decides_as_the_console_does() -> None:
    root = a_world()
    give(root, "ana", "READ on dataset:ns1.a*", "EXECUTE on program:ns1.app.*")
    caller = Caller("ana", "user")
    answer = caller.get("/authz/v1/snapshot?realm=c&for=user:ana")
    assert answer.status_code == 200, answer.content
    snapshot = Snapshot.read(answer.content)
    for entity in (
        "dataset:ns1.a",
        "dataset:ns1.b",
        "dataset:ns1.a.b",
        "program:ns1.app.worker.etl",
        "namespace:ns1",
    ):
        type_, _, name = entity.partition(":")
        ref = ObjectRef.parse(type_, f"c/{name}")
        for action in ("READ", "EXECUTE", "use"):
            assert bool(snapshot.decide(action, ref)) == caller.may("ana", action, "c", entity), (
                entity,
                action,
            )

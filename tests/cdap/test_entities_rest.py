"""`/v3/namespaces/…`: entities made, listed, read and deleted by CDAP's own paths, in each generation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from accounts import people
from catalog.nodes import Node
from policies.authority import Actor
from policies.errors import Refused
from policies.models import AccessRecord
from policies.services import entities
from tests.cdap.world import OPERATOR, Caller, a_cdap, give
from tests.cdap_law.world import held_by, text

pytestmark = pytest.mark.django_db

NS = "/v3/namespaces/ns1"
TABLE = {"typeName": "co.cask.cdap.api.dataset.table.Table", "properties": {"dataset.table.ttl": "3600"}}


def status(answer: Any) -> int:
    return int(answer.status_code)


def names(caller: Caller, place: str) -> list[str]:
    answer = caller.get(f"{NS}/{place}")
    assert status(answer) == 200, answer.content
    return [item["name"] for item in answer.json()]


def a_35(*people: str) -> Node:
    """A CDAP 3.5 with ns1; the people named may write in it."""
    root = a_cdap("3.5")
    entities.create(root, text("namespace:ns1"), by=OPERATOR)
    for who in people:
        give(root, "namespace:ns1", who, "WRITE")
    return root


@pytest.mark.seed("S2-093", "S2-094", "S2-096", "S2-097", "S2-098")
def test_a_namespace_of_3_5_from_its_making_to_its_end() -> None:
    root = a_cdap("3.5")
    give(root, "instance:cdap", "ana", "ADMIN")
    ana, bob = Caller("ana"), Caller("bob")
    sent = {"description": "Dev", "config": {"scheduler.queue.name": "A"}}
    refused = bob.send("PUT", NS, sent)
    assert status(refused) == 403 and "is not authorized" in refused.content.decode()
    made = ana.send("PUT", NS, sent)
    assert (status(made), made.content) == (200, b"Namespace 'ns1' created successfully.")
    assert ("ALL", "namespace:ns1") in held_by(root, "ana")
    again = ana.send("PUT", NS, sent)
    assert (status(again), again.content) == (200, b"Namespace 'ns1' already exists.")
    expected = {"name": "ns1", "description": "Dev", "config": {"scheduler.queue.name": "A"}}
    assert ana.get("/v3/namespaces").json() == [expected]
    assert ana.get(NS).json() == expected
    assert bob.get("/v3/namespaces").json() == []
    assert status(bob.get(NS)) == 403
    assert status(bob.get("/v3/namespaces/none")) == 404
    assert status(ana.send("PUT", f"{NS}/properties", {"description": "Test"})) == 200
    assert ana.get(NS).json()["description"] == "Test"
    assert status(bob.send("DELETE", NS)) == 403
    assert status(ana.send("DELETE", "/v3/unrecoverable/namespaces/ns1")) == 200
    assert ana.get("/v3/namespaces").json() == []
    assert held_by(root, "ana") == {("ADMIN", "instance:cdap")}


def test_what_is_refused_is_recorded() -> None:
    a_35()
    assert status(Caller("bob").send("PUT", f"{NS}/data/datasets/orders", TABLE)) == 403
    record = AccessRecord.objects.latest("pk")
    assert record.object_name == "cdap/dataset:ns1.orders"


PLACES = [
    pytest.param("data/datasets", "dataset", TABLE, marks=pytest.mark.seed("S2-061")),
    pytest.param("streams", "stream", {"ttl": 10}, marks=pytest.mark.seed("S2-062")),
    pytest.param("apps", "application", {}, marks=pytest.mark.seed("S2-060")),
    pytest.param("data/modules", "dataset_module", None, id="modules"),
]


@pytest.mark.seed("S2-075", "S2-083")
@pytest.mark.parametrize(("place", "type", "body"), PLACES)
def test_each_kind_of_3_5_is_made_listed_read_and_deleted(place: str, type: str, body: Any) -> None:
    root = a_35("ana")
    ana, bob = Caller("ana"), Caller("bob")
    assert status(bob.send("PUT", f"{NS}/{place}/one", body)) == 403
    assert status(ana.send("PUT", f"{NS}/{place}/one", body)) == 200
    assert ("ALL", f"{type}:ns1.one") in held_by(root, "ana")
    assert names(ana, place) == ["one"] and names(bob, place) == []
    assert status(ana.get(f"{NS}/{place}/one")) == 200
    assert status(bob.get(f"{NS}/{place}/one")) == 403
    assert status(ana.get(f"{NS}/{place}/none")) == 404
    assert status(bob.send("DELETE", f"{NS}/{place}/one")) == 403
    assert status(ana.send("DELETE", f"{NS}/{place}/one")) == 200
    assert names(ana, place) == []


def test_making_again_is_as_cdap_has_it() -> None:
    a_35("ana")
    ana = Caller("ana")
    for place, body, again in [("data/datasets", TABLE, 409), ("streams", {}, 200), ("apps", {}, 200)]:
        assert status(ana.send("PUT", f"{NS}/{place}/one", body)) == 200
        assert status(ana.send("PUT", f"{NS}/{place}/one", body)) == again, place


@pytest.mark.seed("S2-087", "S2-076")
def test_what_is_said_of_a_dataset_can_be_read_but_for_secrets() -> None:
    a_35("ana")
    ana = Caller("ana")
    body = {**TABLE, "properties": {"db.password": "hunter2", "url": "jdbc:x"}}
    assert status(ana.send("PUT", f"{NS}/data/datasets/orders", body)) == 200
    spec = ana.get(f"{NS}/data/datasets/orders").json()["spec"]
    assert spec["properties"] == {"db.password": "******", "url": "jdbc:x"}
    changed = ana.send("PUT", f"{NS}/data/datasets/orders/properties", {"url": "jdbc:y"})
    assert status(changed) == 200
    spec = ana.get(f"{NS}/data/datasets/orders").json()["spec"]
    assert (spec["type"], spec["properties"]) == (TABLE["typeName"], {"url": "jdbc:y"})


def test_deleting_all_names_what_was_left_and_nothing_hidden() -> None:
    root = a_35("ana", "zoe")
    ana, zoe = Caller("ana"), Caller("zoe")
    for caller, name in [(ana, "a"), (ana, "b"), (zoe, "c"), (zoe, "hidden")]:
        assert status(caller.send("PUT", f"{NS}/streams/{name}", {})) == 200
    bea = Caller("bea")
    give(root, "stream:ns1.a", "bea", "ADMIN")
    give(root, "stream:ns1.c", "bea", "READ")
    answer = bea.send("DELETE", f"{NS}/streams")
    assert status(answer) == 403
    lines = answer.content.decode().splitlines()
    assert lines[0] == "deleted stream:ns1.a" and lines[1].startswith("left stream:ns1.c: ")
    assert lines[2:] == ["left more that you may not see"] and "hidden" not in answer.content.decode()
    give(root, "namespace:ns1", "boss", "ADMIN")
    assert status(Caller("boss").send("DELETE", f"{NS}/streams")) == 200
    assert names(zoe, "streams") == []


def ready_43(*grants: str) -> Node:
    """A CDAP 4.3 with ns1; ana has what is named."""
    root = a_cdap("4.3")
    entities.create(root, text("namespace:ns1"), by=OPERATOR)
    for grant in grants:
        codes, _, target = grant.partition(" on ")
        give(root, target, "ana", *codes.split(","))
    return root


LISTS = (
    "apps",
    "artifacts",
    "data/datasets",
    "data/modules",
    "data/types",
    "streams",
    "securekeys",
    "services",
)


@pytest.mark.parametrize("place", LISTS)
def test_lists_of_a_namespace_of_4_3_are_for_those_who_have_something_in_it(place: str) -> None:
    root = ready_43("READ on dataset:ns1.orders")
    ana, bob = Caller("ana"), Caller("bob")
    assert status(ana.get(f"{NS}/{place}")) == 200
    refused = bob.get(f"{NS}/{place}")
    assert status(refused) == 403 and "is not authorized" in refused.content.decode()
    assert status(bob.get(f"/v3/namespaces/none/{place}")) == 403, "whether it is there is not told"
    give(root, "namespace:*", "bob", "READ")
    assert status(bob.get(f"{NS}/{place}")) == 200
    assert status(bob.get(f"/v3/namespaces/none/{place}")) == 404


@pytest.mark.seed("S1-057", "S1-215", "S1-216")
def test_an_application_of_4_3_takes_rights_on_it_and_on_its_artifact() -> None:
    root = ready_43("ADMIN on application:ns1.app")
    entities.create(root, text("artifact:ns1.jar"), by=OPERATOR)
    ana, body = Caller("ana"), {"artifact": {"name": "jar", "version": "1.0", "scope": "USER"}}
    refused = ana.send("PUT", f"{NS}/apps/app", body)
    assert status(refused) == 403 and "artifact:ns1.jar" in refused.content.decode().replace("ns1/", "ns1.")
    give(root, "artifact:ns1.jar", "ana", "READ")
    made = ana.send("PUT", f"{NS}/apps/app", body)
    assert (status(made), made.content) == (200, b"Deploy Complete")
    assert ana.get(f"{NS}/apps/app").json()["artifact"] == body["artifact"]
    assert held_by(root, "ana") == {("ADMIN", "application:ns1.app"), ("READ", "artifact:ns1.jar")}


def test_an_artifact_that_is_not_there_is_not_found_by_those_who_may_use_it() -> None:
    root = ready_43("ADMIN on application:ns1.app")
    ana, body = Caller("ana"), {"artifact": {"name": "none", "version": "1.0"}}
    assert status(ana.send("PUT", f"{NS}/apps/app", body)) == 403
    give(root, "artifact:ns1.none", "ana", "READ")
    assert status(ana.send("PUT", f"{NS}/apps/app", body)) == 404


@pytest.mark.seed("S1-107", "S1-108")
def test_impersonation_takes_the_right_to_the_principal() -> None:
    root = ready_43("ADMIN on dataset:ns1.orders", "ADMIN on namespace:ns2")
    ana = Caller("ana")
    body = {**TABLE, "principal": "etl"}
    assert status(ana.send("PUT", f"{NS}/data/datasets/orders", body)) == 403
    with_owner = {"config": {"principal": "etl", "keytabURI": "/etc/etl.keytab"}}
    assert status(ana.send("PUT", "/v3/namespaces/ns2", with_owner)) == 403
    give(root, "kerberosprincipal:etl", "ana", "ADMIN")
    assert status(ana.send("PUT", f"{NS}/data/datasets/orders", body)) == 200
    assert status(ana.send("PUT", "/v3/namespaces/ns2", with_owner)) == 200
    assert ana.get(f"{NS}/data/datasets/orders").json()["principal"] == "etl"
    assert ana.get("/v3/namespaces/ns2").json()["config"]["principal"] == "etl"


@pytest.mark.parametrize("named_on", ["namespace:ns1", "application:ns1.app"])
def test_what_is_deployed_where_another_is_impersonated_takes_the_right_to_them(named_on: str) -> None:
    """Whoever deploys decides what runs as that principal, also over an application that is there."""
    root = ready_43("ADMIN on application:ns1.app", "READ on artifact:ns1.jar")
    entities.create(root, text("artifact:ns1.jar"), by=OPERATOR)
    if named_on.startswith("namespace"):
        entities.update(root, text(named_on), by=OPERATOR, principal="etl")
    else:
        entities.create(root, text(named_on), by=OPERATOR, principal="etl")
    ana, body = Caller("ana"), {"artifact": {"name": "jar", "version": "2.0"}}
    calls = [("PUT", f"{NS}/apps/app"), ("POST", f"{NS}/apps/app/update")]
    for verb, path in calls if named_on.startswith("application") else calls[:1]:
        refused = ana.send(verb, path, body)
        assert status(refused) == 403 and "kerberosprincipal" in refused.content.decode()
    give(root, "kerberosprincipal:etl", "ana", "ADMIN")
    assert [status(ana.send(verb, path, body)) for verb, path in calls] == [200, 200]


@pytest.mark.parametrize("policy", ["3.4", "3.5"])
def test_before_4_3_nobody_runs_as_another_whom_they_merely_named(policy: str) -> None:
    """No right of those generations speaks of principals; a run would be decided as who was named."""
    root = a_cdap(policy, owner="hedda")
    for entity in ("namespace:ns1", "dataset:ns1.salaries", "artifact:ns1.jar"):
        entities.create(root, text(entity), by=OPERATOR)
    give(root, "namespace:ns1", "bob", "READ", "WRITE")
    give(root, "artifact:ns1.jar", "bob", "READ")
    give(root, "dataset:ns1.salaries", "hedda", "READ")
    bob = Caller("bob")
    app = {"artifact": {"name": "jar", "version": "1.0"}, "principal": "hedda"}
    for path, body in ((f"{NS}/apps/app", app), ("/v3/namespaces/n", {"config": {"principal": "hedda"}})):
        refused = bob.send("PUT", path, body)
        assert status(refused) == 403 and "is not authorized" in refused.content.decode(), path
    assert status(bob.send("PUT", f"{NS}/apps/app", {**app, "principal": ""})) == 200
    assert status(bob.send("PUT", f"{NS}/apps/app", app)) == 403, "deployed over"
    program, by = text("program:ns1.app.workflow.load"), Actor(people.ensure("user", "bob"), "console")
    with pytest.raises(Refused):
        entities.create(root, program, by=by, principal="hedda")
    assert status(bob.send("PUT", f"{NS}/apps/app/workflows/load", {})) == 200
    started = bob.generic(
        "POST",
        "/authz/v1/runs",
        json.dumps({"realm": "cdap", "program": "ns1.app.workflow.load"}),
        content_type="application/json",
    )
    assert started.json()["runs_as"] == "user:cdap"
    give(root, "instance:cdap", "bob", "ADMIN")
    assert status(bob.send("PUT", f"{NS}/apps/other", app)) == 200


def test_a_custom_dataset_takes_rights_on_its_type() -> None:
    root = ready_43("ADMIN on dataset:ns1.orders")
    ana, body = Caller("ana"), {"typeName": "com.acme.Ledger"}
    assert status(ana.send("PUT", f"{NS}/data/datasets/orders", body)) == 403
    give(root, "dataset_type:ns1.com.acme.Ledger", "ana", "READ")
    assert status(ana.send("PUT", f"{NS}/data/datasets/orders", body)) == 200


@pytest.mark.seed("S1-091", "S1-092", "S1-093", "S1-094")
def test_secure_keys_are_registered_and_their_data_is_not_kept() -> None:
    root = ready_43("ADMIN on securekey:ns1.db")
    ana, bob = Caller("ana"), Caller("bob")
    assert status(ana.send("PUT", f"{NS}/securekeys/db", {"description": "d"})) == 400
    body = {"description": "The database", "data": "hunter2", "properties": {"a": "b"}}
    assert status(ana.send("PUT", f"{NS}/securekeys/db", body)) == 200
    assert ana.get(f"{NS}/securekeys").json() == {"db": "The database"}
    assert status(ana.get(f"{NS}/securekeys/db/metadata")) == status(ana.get(f"{NS}/securekeys/db")) == 403
    give(root, "securekey:ns1.db", "bob", "READ")
    assert bob.get(f"{NS}/securekeys/db/metadata").json()["properties"] == {"a": "b"}
    answer = bob.get(f"{NS}/securekeys/db")
    assert status(answer) == 501 and "hunter2" not in answer.content.decode()
    assert status(ana.send("DELETE", f"{NS}/securekeys/db")) == 200


def test_artifacts_and_programs() -> None:
    ready_43("ADMIN on artifact:ns1.jar", "ADMIN on application:ns1.app", "ADMIN on program:ns1.app.*")
    ana = Caller("ana")

    def add(version: str) -> int:
        sent = {"content_type": "application/octet-stream", "headers": {"Artifact-Version": version}}
        return status(ana.generic("POST", f"{NS}/artifacts/jar", b"PK\x03\x04", **sent))

    assert (add("1.0"), add("1.0"), add("2.0")) == (200, 409, 200)
    brief = {"name": "jar", "version": "2.0", "scope": "USER"}
    assert ana.get(f"{NS}/artifacts").json() == ana.get(f"{NS}/artifacts/jar").json() == [brief]
    assert status(ana.get(f"{NS}/artifacts/jar/versions/1.0")) == 404
    assert ana.get(f"{NS}/artifacts/jar/versions/2.0").json()["classes"] == {"apps": [], "plugins": []}
    assert status(ana.send("PUT", f"{NS}/apps/app", {})) == 200
    assert status(ana.send("PUT", f"{NS}/apps/app/services/web", {"description": "Web"})) == 200
    row = {"type": "Service", "app": "app", "name": "web", "description": "Web"}
    assert ana.get(f"{NS}/services").json() == [row] and ana.get(f"{NS}/flows").json() == []
    assert ana.get(f"{NS}/apps/app").json()["programs"] == [row]
    assert status(ana.send("DELETE", f"{NS}/artifacts/jar/versions/2.0")) == 200


@pytest.mark.seed("S1-110", "S1-048")
def test_a_namespace_of_4_3_goes_with_all_that_is_in_it_or_says_what_keeps_it() -> None:
    root = ready_43("ADMIN on namespace:ns1", "ADMIN on stream:ns1.a")
    for name in "ab":
        entities.create(root, text(f"stream:ns1.{name}"), by=OPERATOR)
    ana = Caller("ana")
    refused = ana.send("DELETE", NS)
    assert status(refused) == 403 and "stream:ns1.b" in refused.content.decode()
    give(root, "stream:ns1.b", "ana", "ADMIN")
    assert status(ana.send("DELETE", NS)) == 200


@pytest.mark.parametrize(
    ("verb", "path", "body", "expected"),
    [
        ("PUT", "/v3/namespaces/a.b", {}, 400),
        ("PUT", "/v3/namespaces/*", {}, 400),
        ("DELETE", "/v3/namespaces/*", None, 400),
        ("DELETE", "/v3/namespaces/*/streams", None, 400),
        ("PUT", f"{NS}/streams/a*", {}, 400),
        ("PUT", f"{NS}/streams/a", b"{", 400),
        ("PUT", f"{NS}/streams/a", [], 400),
        ("PUT", f"{NS}/streams/a", {"ttl": -1}, 400),
        ("PUT", f"{NS}/data/datasets/a", {"properties": {"a": 1}}, 400),
        ("PUT", f"{NS}/data/datasets/a", {"typeName": 1}, 400),
        ("PUT", f"{NS}/apps/a", {"artifact": "jar"}, 400),
        ("PUT", f"{NS}/apps/a", {"description": "a\x00b"}, 400),
        ("PUT", f"{NS}/artifacts/a", {}, 405),
        ("POST", f"{NS}/apps/a", {}, 405),
        ("GET", f"{NS}/teapots", None, 404),
        ("PUT", "/v3/namespaces/none/streams/a", {}, 404),
    ],
)
def test_garbage_is_refused_in_plain_text(verb: str, path: str, body: Any, expected: int) -> None:
    root = ready_43("ADMIN on application:ns1.a", "ADMIN on stream:n*.*", "ADMIN on dataset:ns1.*")
    give(root, "namespace:*", "ana", "ADMIN")
    answer = Caller("ana").send(verb, path, body)
    assert status(answer) == expected, answer.content
    assert answer.headers["Content-Type"].startswith("text/plain")


def test_without_credentials_nobody_is_anybody() -> None:
    from django.test import Client

    a_35()
    answer = Client().get("/v3/namespaces")
    assert answer.status_code == 401 and answer.headers["WWW-Authenticate"] == 'Bearer realm="cdap"'


def test_a_token_that_may_only_check_makes_nothing() -> None:
    a_35("ana")
    assert status(Caller("ana", "check").send("PUT", f"{NS}/streams/a", {})) == 403

"""What CDAP's own Java client calls besides making and deleting: versions, properties, programs, events."""

from __future__ import annotations

from typing import Any

import pytest

from catalog.nodes import Node
from policies.models import AccessRecord
from policies.services import entities
from tests.cdap.world import OPERATOR, Caller, a_cdap, give
from tests.cdap_law.world import text

pytestmark = pytest.mark.django_db

NS = "/v3/namespaces/ns1"
EVERYTHING = ("READ", "WRITE", "EXECUTE", "ADMIN")
ETL = {"artifact": {"name": "etl", "version": "1.0.0", "scope": "USER"}}


def a_site(policy: str) -> Node:
    """Namespace ns1 with an application, its service, a stream, a dataset, and an artifact in 1.0.0."""
    root: Node = a_cdap(policy)
    for name in ("namespace:ns1", "artifact:ns1.etl", "application:ns1.app", "program:ns1.app.service.web"):
        entities.create(root, text(name), by=OPERATOR)
    for name in ("stream:ns1.clicks", "dataset:ns1.orders"):
        entities.create(root, text(name), by=OPERATOR)
    return root


@pytest.mark.parametrize(
    ("verb", "path", "status", "content"),
    [
        ("GET", "/ping", 200, b"OK.\n"),
        ("GET", "/v3/version", 200, b'{"version":"4.3"}'),
        ("POST", "/ping", 405, b'Method "POST" not allowed.'),
    ],
)
def test_a_client_learns_that_a_cdap_answers_and_which(
    verb: str, path: str, status: int, content: bytes
) -> None:
    a_cdap("4.3")
    answer = Caller("ana").send(verb, path)
    assert (answer.status_code, answer.content) == (status, content)


def test_a_ping_without_credentials_names_where_to_sign_in(client: Any) -> None:
    a_cdap()
    answer = client.get("/ping")
    assert answer.status_code == 401 and answer.json()["auth_uri"]


def test_where_no_cdap_was_made_nothing_pings() -> None:
    assert Caller("ana").get("/ping").status_code == 404


def test_an_application_is_deployed_and_found_by_its_version() -> None:
    root = a_site("4.3")
    give(root, "artifact:ns1.etl", "ana", "READ")
    give(root, "application:ns1.shop", "ana", "ADMIN")
    ana, app = Caller("ana"), f"{NS}/apps/shop"
    refused = Caller("bob").send("POST", f"{app}/versions/1.0/create", ETL)
    assert refused.status_code == 403 and "is not authorized" in refused.content.decode()
    made = ana.send("POST", f"{app}/versions/1.0/create", ETL)
    assert (made.status_code, made.content) == (200, b"Deploy Complete")
    assert ana.get(f"{app}/versions").json() == ["1.0"]
    assert ana.get(f"{app}/versions/1.0").json()["appVersion"] == "1.0"
    assert ana.get(f"{app}/versions/2.0").status_code == 404
    assert ana.send("POST", f"{app}/versions/2.0/create", ETL).status_code == 200
    assert ana.get(f"{app}/versions").json() == ["2.0"]
    assert ana.send("POST", f"{app}/update", ETL).status_code == 200
    assert ana.get(f"{NS}/apps").json()[0]["version"] == "2.0"
    assert ana.send("PUT", app, ETL).status_code == 200
    assert ana.get(f"{app}/versions").json() == ["-SNAPSHOT"]
    assert ana.send("DELETE", f"{app}/versions/2.0").status_code == 404
    assert ana.send("DELETE", f"{app}/versions/-SNAPSHOT").status_code == 200
    assert ana.get(f"{NS}/apps").json() == []


@pytest.mark.parametrize(("policy", "takes_the_artifact"), [("3.4", False), ("3.5", False), ("4.3", True)])
@pytest.mark.parametrize(
    ("verb", "path", "body"),
    [
        ("POST", "/update", ETL),
        ("POST", "/update", {"config": {}}),
        ("PUT", "", ETL),
        ("POST", "/versions/2.0/create", ETL),
    ],
    ids=["update", "update without saying of which", "deploy over", "deploy another version"],
)
def test_an_application_is_updated_by_who_may_use_its_artifact_too(
    policy: str, takes_the_artifact: bool, verb: str, path: str, body: dict[str, Any]
) -> None:
    root, bob, app = a_site(policy), Caller("bob"), f"{NS}/apps/shop"
    content = {"artifact": ETL["artifact"]}
    entities.create(root, text("application:ns1.shop"), by=OPERATOR, content=content)
    give(root, "application:ns1.shop", "bob", "ADMIN")
    if policy == "3.4":  # to deploy, also over what is there
        give(root, "namespace:ns1", "bob", "WRITE")
    assert bob.send(verb, f"{app}{path}", body).status_code == (403 if takes_the_artifact else 200)
    give(root, "artifact:ns1.etl", "bob", "READ")
    assert bob.send(verb, f"{app}{path}", body).status_code == 200


@pytest.mark.parametrize("version", ["a b", "a*", "x" * 101])
def test_a_version_that_cdap_has_not_is_refused(version: str) -> None:
    root = a_site("4.3")
    give(root, "application:ns1.shop", "ana", "ADMIN")
    assert Caller("ana").send("POST", f"{NS}/apps/shop/versions/{version}/create", {}).status_code == 400


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("artifactName=etl", ["app2"]),
        ("artifactName=etl,other&artifactVersion=1.0.0", ["app2"]),
        ("artifactName=other", []),
        ("artifactVersion=2.0.0", []),
        ("", ["app", "app2"]),
    ],
)
def test_applications_are_listed_by_their_artifact(asked: str, shown: list[str]) -> None:
    root = a_site("3.5")
    give(root, "namespace:ns1", "ana", *EVERYTHING)
    ana = Caller("ana")
    assert ana.send("PUT", f"{NS}/apps/app2", ETL).status_code == 200
    assert [item["name"] for item in ana.get(f"{NS}/apps?{asked}").json()] == shown


def test_artifacts_of_the_system_are_listed_when_they_are_meant() -> None:
    root = a_site("3.5")
    entities.create(root, text("namespace:system"), by=OPERATOR)
    entities.create(root, text("artifact:system.core"), by=OPERATOR)
    give(root, "instance:cdap", "ana", "READ")
    ana = Caller("ana")
    for scope, name in [("", "etl"), ("?scope=USER", "etl"), ("?scope=SYSTEM", "core")]:
        [artifact] = ana.get(f"{NS}/artifacts{scope}").json()
        assert artifact["name"] == name
        assert artifact["scope"] == ("SYSTEM" if name == "core" else "USER")
    assert ana.get(f"{NS}/artifacts/core?scope=SYSTEM").status_code == 200
    assert Caller("bob").get(f"{NS}/artifacts?scope=SYSTEM").json() == []


@pytest.mark.parametrize("policy", ["3.4", "3.5", "4.3"])
def test_a_system_artifact_that_is_not_there_is_not_found_whoever_asks(policy: str) -> None:
    """The client asks for it first, and only after a 404 for the caller's own."""
    root, bob = a_site(policy), Caller("bob")
    for name in ("namespace:system", "artifact:system.core"):
        entities.create(root, text(name), by=OPERATOR)
    for name, status in [("core", 403), ("etl", 404)]:
        for path in (f"artifacts/{name}", f"artifacts/{name}/versions/-SNAPSHOT"):
            assert bob.get(f"{NS}/{path}?scope=SYSTEM").status_code == status


def test_properties_of_an_artifact_are_written_one_by_one() -> None:
    root = a_site("4.3")
    give(root, "artifact:ns1.etl", "ana", "ADMIN")
    give(root, "artifact:ns1.etl", "bob", "READ")
    ana, bob, place = Caller("ana"), Caller("bob"), f"{NS}/artifacts/etl/versions/-SNAPSHOT/properties"
    assert ana.send("PUT", place, {"a": "1", "db.password": "hunter2"}).status_code == 200
    assert ana.send("PUT", f"{place}/b", b"two").status_code == 200
    assert bob.get(place).json() == {"a": "1", "b": "two", "db.password": "******"}
    assert ana.send("DELETE", f"{place}/a").status_code == 200
    for verb, path in [("PUT", f"{place}/b"), ("DELETE", f"{place}/b"), ("DELETE", place), ("PUT", place)]:
        assert bob.send(verb, path, {}).status_code == 403, (verb, path)
    assert bob.get(place).json() == {"b": "two", "db.password": "******"}
    assert ana.send("PUT", f"{place}/b", b"\xff").status_code == 400
    assert ana.send("PUT", f"{place}/b", b"x" * 10_001).status_code == 400
    elsewhere = place.replace("-SNAPSHOT", "9.9")
    assert ana.send("PUT", elsewhere, {}).status_code == 404 and ana.get(elsewhere).status_code == 404
    assert ana.send("DELETE", place).status_code == 200 and bob.get(place).json() == {}


def test_properties_of_a_dataset_are_read_apart() -> None:
    root = a_site("4.3")
    give(root, "dataset:ns1.orders", "ana", "ADMIN")
    ana, place = Caller("ana"), f"{NS}/data/datasets/orders/properties"
    assert ana.send("PUT", place, {"ttl": "1", "db.password": "hunter2"}).status_code == 200
    assert ana.get(place).json() == {"ttl": "1", "db.password": "******"}
    assert Caller("bob").get(place).status_code == 403


WEB, CLICKS, ORDERS = "program:ns1.app.service.web", "stream:ns1.clicks", "dataset:ns1.orders"
SERVICE = f"{NS}/apps/app/services/web"
ONLY_IN_CDAP = [
    ("POST", f"{SERVICE}/start", WEB, "EXECUTE"),
    ("POST", f"{SERVICE}/stop", WEB, "EXECUTE"),
    ("POST", f"{SERVICE}/debug", WEB, "EXECUTE"),
    ("GET", f"{SERVICE}/status", WEB, "READ"),
    ("GET", f"{SERVICE}/live-info", WEB, "READ"),
    ("GET", f"{SERVICE}/runs", WEB, "READ"),
    ("GET", f"{SERVICE}/logs", WEB, "READ"),
    ("GET", f"{SERVICE}/runtimeargs", WEB, "READ"),
    ("PUT", f"{SERVICE}/runtimeargs", WEB, "ADMIN"),
    ("GET", f"{SERVICE}/instances", WEB, "READ"),
    ("PUT", f"{SERVICE}/instances", WEB, "ADMIN"),
    ("POST", f"{NS}/streams/clicks", CLICKS, "WRITE"),
    ("POST", f"{NS}/streams/clicks/async", CLICKS, "WRITE"),
    ("POST", f"{NS}/streams/clicks/batch", CLICKS, "WRITE"),
    ("POST", f"{NS}/streams/clicks/truncate", CLICKS, "ADMIN"),
    ("GET", f"{NS}/streams/clicks/events", CLICKS, "READ"),
    ("POST", f"{NS}/data/datasets/orders/admin/truncate", ORDERS, "ADMIN"),
]
"""A call, on what it is, and the action that it takes; some that read are let in by more."""
OTHERS = {"EXECUTE": ("READ", "WRITE", "ADMIN"), "WRITE": ("READ", "ADMIN"), "ADMIN": ("READ", "WRITE")}


@pytest.mark.parametrize(("verb", "path", "target", "action"), ONLY_IN_CDAP)
@pytest.mark.parametrize("policy", ["3.5", "4.3"])
def test_what_only_a_cdap_does_is_decided(
    policy: str, verb: str, path: str, target: str, action: str
) -> None:
    """Who may is told that nothing was done; anybody else that they may not, and that is recorded."""
    root = a_site(policy)
    give(root, target, "ana", action)
    give(root, target, "cleo", *OTHERS.get(action, ()))
    assert Caller("ana").send(verb, path, b"x").status_code == 501
    for refused in ("bob", "cleo"):
        assert Caller(refused).send(verb, path, b"x").status_code == 403
    assert AccessRecord.objects.latest("pk").object_name == f"cdap/{target}"


def test_a_program_is_found_by_the_version_of_its_application() -> None:
    root = a_site("4.3")
    give(root, WEB, "ana", "EXECUTE")
    for version, status in [("-SNAPSHOT", 501), ("2.0", 404)]:
        path = f"{NS}/apps/app/versions/{version}/services/web/start"
        assert Caller("ana").send("POST", path).status_code == status
        assert Caller("bob").send("POST", path).status_code == 403


@pytest.mark.parametrize("path", [f"{NS}/apps/app/services/none/start", f"{NS}/streams/none/truncate"])
def test_what_is_not_there_is_not_found_by_who_may(path: str) -> None:
    root = a_site("3.5")
    give(root, "namespace:ns1", "ana", *EVERYTHING)
    assert Caller("ana").send("POST", path).status_code == 404
    assert Caller("bob").send("POST", path).status_code == 403

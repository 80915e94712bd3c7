"""Jobs run as who registered them: the token of a run, what it may ask, and what the record says."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts import people
from accounts.models import Token
from policies.decisions import slices
from policies.models import AccessRecord, Change, Event, Ownership
from policies.services import entries, objects
from policies.services.objects import NewObject
from tests.herd.test_entries import lacking, texts
from tests.herd.test_scenario import herd, pdp
from tests.herd.world import BY, REST, Caller, a_herd, give, namespaces, question, the_namespace

__all__ = ["herd", "pdp"]
JOBS = f"{REST}/jobDefinitions"
RUNS = "/authz/v1/runs"
NAME = "MarketToCrossMarket"
XML = "<definitions/>"


def register(caller: Caller, namespace: str = "ETL", name: str = NAME) -> Any:
    body = {"namespace": namespace, "jobName": name, "activitiJobXml": XML}
    return caller.send("POST", JOBS, body)


@pytest.fixture
def registered(pdp: Caller) -> Caller:
    answer = register(Caller("JarJar"))
    assert answer.status_code == 200, answer.content
    return pdp


def start(caller: Caller, program: str = f"ETL.{NAME}", **more: object) -> Any:
    return caller.send("POST", RUNS, {"realm": "herd", "program": program, **more})


class Running(Caller):
    """A job that holds the token of its run."""

    def __init__(self, token: str) -> None:
        super(Caller, self).__init__(headers={"Authorization": f"Bearer {token}"})


def started(caller: Caller) -> Running:
    answer = start(caller)
    assert answer.status_code == 201, answer.content
    assert answer.json()["runs_as"] == "user:JarJar"
    return Running(answer.json()["token"])


@pytest.mark.seed("S3-058", "S3-075", "S3-077", "S3-093", "S3-096")
def test_it_runs_as_who_registered_it(registered: Caller) -> None:
    run = started(Caller("Rey"))
    assert run.may("JarJar", "write", "CROSS_MARKET")
    assert run.may("JarJar", "write", "ETL")
    assert all(run.may("JarJar", "read", code) for code in ("MARKET", "ETL"))
    assert not run.may("JarJar", "execute", "ETL")
    assert not registered.may("Rey", "write", "CROSS_MARKET"), "what Rey lacks does not matter to the run"


def test_who_changes_what_it_does_has_it_run_as_themselves(registered: Caller) -> None:
    """Else whoever may write in a namespace would have a workflow of their own run with another's rights."""
    give("Rey", "ETL", "READ", "WRITE", "EXECUTE")
    path = f"{JOBS}/namespaces/ETL/jobNames/{NAME}"
    changed = Caller("Rey").send("PUT", path, {"activitiJobXml": "<mine/>"})
    assert (changed.status_code, changed.json()["lastUpdatedByUserId"]) == (200, "Rey")
    begun = start(Caller("Rey"))
    assert begun.json()["runs_as"] == "user:Rey"
    assert not Running(begun.json()["token"]).may("Rey", "write", "CROSS_MARKET")


@pytest.mark.seed("S3-078")
def test_so_does_what_an_event_started(registered: Caller) -> None:
    give("events", "ETL", "EXECUTE")
    assert started(Caller("events", kind="service")).may("JarJar", "write", "CROSS_MARKET")


START = {"namespace": "etl", "jobName": NAME}


@pytest.mark.seed("S3-089", "S3-090", "S3-095", "S3-077")
def test_herd_starts_it_by_its_own_call(registered: Caller) -> None:
    """JarJar's workflow reads MARKET and ETL and writes CROSS_MARKET and ETL, whoever starts it."""
    for who, status in (("Rey", 200), ("Artoo", 200), ("JarJar", 403), ("nobody", 403)):
        answer = Caller(who).send("POST", f"{REST}/jobs", START)
        assert answer.status_code == status, answer.content
        assert ("X-Lakewarden-Run-Token" in answer.headers) is (status == 200)
    run = Running(Caller("Rey").send("POST", f"{REST}/jobs", START).headers["X-Lakewarden-Run-Token"])
    touched = [("read", "MARKET"), ("read", "ETL"), ("write", "CROSS_MARKET"), ("write", "ETL")]
    assert all(run.may("JarJar", action, code) for action, code in touched)
    assert not run.may("JarJar", "write", "MARKET")
    assert not run.may("JarJar", "read", "CROSS_MARKET")
    assert texts(Caller("Rey").send("POST", f"{REST}/jobs", {**START, "jobName": "no"}), 404)
    assert texts(Caller("Rey").send("POST", f"{REST}/jobs", {"namespace": "ETL"}), 400)


@pytest.mark.seed("S3-059", "S3-072", "S3-073")
def test_jobs_are_listed_where_one_may_read(registered: Caller) -> None:
    made = Caller("Rey").send("POST", f"{REST}/jobs", {**START, "parameters": [{"name": "a", "value": "b"}]})
    job = made.json()
    assert (job["namespace"], job["jobName"], job["status"]) == ("ETL", NAME, "RUNNING")
    assert job["parameters"] == [{"name": "a", "value": "b"}]

    def listed(who: str, **asked: str) -> list[str]:
        answer = Caller(who).get(f"{REST}/jobs", asked)
        assert answer.status_code == 200, answer.content
        return [each["id"] for each in answer.json()["jobSummaries"]]

    for who, jobs in (("Rey", [job["id"]]), ("JarJar", [job["id"]]), ("Artoo", []), ("nobody", [])):
        assert listed(who) == jobs, who
        assert Caller(who).get(f"{REST}/jobs/{job['id']}").status_code == (200 if jobs else 403)
    assert listed("Rey", namespace="etl", jobName=NAME, status="running") == [job["id"]]
    assert listed("Rey", namespace="MARKET") == listed("Rey", status="COMPLETED") == []
    Token.objects.filter(run=job["id"]).update(expires=timezone.now())
    assert listed("Rey", status="COMPLETED") == [job["id"]]
    assert Caller("Rey").get(f"{REST}/jobs/none").status_code == 404


@pytest.mark.seed("S3-076")
def test_what_the_account_loses_the_run_loses_at_once(transactional_db: None) -> None:
    namespaces(a_herd(), "MARKET", "ETL")
    give("JarJar", "ETL", "WRITE")
    give("JarJar", "MARKET", "READ")
    give("Rey", "ETL", "EXECUTE")
    assert register(Caller("JarJar")).status_code == 200
    run = started(Caller("Rey"))
    assert run.may("JarJar", "read", "MARKET")
    give("JarJar", "MARKET", "WRITE")
    assert not run.may("JarJar", "read", "MARKET")
    slices.forget_all()


@pytest.mark.seed("S3-057")
@pytest.mark.parametrize("user", ["JarJar", "nobody", "Rey2"])
def test_starting_needs_execute(registered: Caller, user: str) -> None:
    if user == "Rey2":
        give("Rey2", "ETL", "READ", "WRITE")
    before = Token.objects.count()
    caller = Caller(user)
    refused, absent = start(caller), start(caller, "ETL.Nothing")
    assert refused.status_code == absent.status_code == 403
    assert refused.json()["detail"].replace(NAME, "Nothing") == absent.json()["detail"]
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert Token.objects.count() == before + 1
    assert AccessRecord.objects.filter(kind="refused", operation="execute").count() == 2


def test_a_run_asks_about_itself_in_its_realm_and_nothing_else(registered: Caller) -> None:
    namespaces(a_herd("other"), "ETL")
    run = started(Caller("Rey"))
    for user, resource in (("Rey", "herd/ETL"), ("admin", "herd/ETL"), ("JarJar", "other/ETL")):
        body = question("user", user, "read", "x", {})
        body["resource"]["id"] = resource
        assert run.send("POST", "/access/v1/evaluation", body).status_code == 403
    assert start(run).status_code == 403
    for path in ("currentUser", "namespaces", "userNamespaceAuthorizations/namespaces/ETL", "nowhere"):
        assert texts(run.get(f"{REST}/{path}"), 403) == "a run may only ask and report"
    assert texts(run.send("POST", f"{REST}/namespaces", {"namespaceCode": "X"}), 403)
    assert run.get("/api/metalakes").status_code == 403


def test_a_run_ends(registered: Caller) -> None:
    run = started(Caller("Rey"))
    Token.objects.exclude(run="").update(expires=timezone.now() - timedelta(seconds=1))
    assert (
        run.send("POST", "/access/v1/evaluation", question("user", "JarJar", "read", "ETL", {})).status_code
        == 401
    )


@pytest.mark.parametrize("ttl", [0, -1, 1.5, "60", True, 8 * 24 * 3600, None])
def test_a_run_lasts_a_sensible_time(registered: Caller, ttl: object) -> None:
    assert start(Caller("Rey"), ttl=ttl).status_code == 400
    expires = start(Caller("Rey"), ttl=60).json()["expires"]
    assert expires < (timezone.now() + timedelta(seconds=61)).isoformat()


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b'{"realm": "herd"}', b'{"realm": 1, "program": "ETL.x"}', b'{"program": "a"}']
)
def test_a_start_is_read_strictly(registered: Caller, body: bytes) -> None:
    answer = Caller("Rey").generic("POST", RUNS, body, content_type="application/json")
    assert answer.status_code == 400
    assert answer.json()["title"] == "Bad Request"


@pytest.mark.parametrize("program", ["", "ETL", "ETL.a.b", '"', "\0.x", "ETL.\0", ".", "ETL." + NAME + "x"])
def test_what_is_no_program_is_not_started(registered: Caller, program: str) -> None:
    assert start(Caller("Rey"), program).status_code == (403 if program else 400)
    assert start(Caller("Rey", "check")).status_code == 403
    assert start(Caller("Rey"), "etl.marketTOcrossmarket").status_code == 201, (
        "names are the same in any case"
    )


def test_nothing_runs_without_an_account(registered: Caller) -> None:
    from policies.services import objects
    from policies.services.objects import NewObject

    objects.register(the_namespace("ETL"), [NewObject("job_definition", "orphan")], **BY)
    assert not Ownership.objects.filter(securable__placements__name="orphan").exists()
    assert start(Caller("Rey"), "ETL.orphan").status_code == 409


def test_the_record_names_starter_and_account(registered: Caller) -> None:
    rey, jarjar = people.ensure("user", "Rey"), people.ensure("user", "JarJar")
    run = started(Caller("Rey"))
    change = Change.objects.order_by("-revision")[0]
    event = Event.objects.get(change=change)
    assert (change.kind, change.actor, event.people) == ("run.started", rey.pseudonym, [jarjar.pseudonym])
    assert not run.may("JarJar", "execute", "ETL")
    record = AccessRecord.objects.get(kind="refused")
    assert record.actor == jarjar.pseudonym
    assert record.via == f"run {event.data['run']} for {rey.pseudonym}"


def test_job_definitions_are_registered_read_and_changed(pdp: Caller) -> None:
    jarjar, rey = Caller("JarJar"), Caller("Rey")
    made = register(jarjar, " etl ", f" {NAME} ").json()
    assert (made["namespace"], made["jobName"], made["lastUpdatedByUserId"]) == ("ETL", NAME, "JarJar")
    path = f"{JOBS}/namespaces/etl/jobNames/{NAME.upper()}"
    assert rey.get(path).json() == made
    keys = rey.get(f"{JOBS}/namespaces/ETL").json()["jobDefinitionKeys"]
    assert keys == [{"namespace": "ETL", "jobName": NAME}]
    assert register(jarjar).status_code == 409
    assert texts(register(rey), 403) == lacking("Rey", "WRITE", "ETL")
    assert texts(rey.send("PUT", path, {"activitiJobXml": "<x/>"}), 403) == lacking("Rey", "WRITE", "etl")
    changed = jarjar.send("PUT", path, {"activitiJobXml": "<x/>", "description": "d"}).json()
    assert changed == made | {"activitiJobXml": "<x/>", "description": "d"}
    assert texts(Caller("Artoo").get(path), 403) == lacking("Artoo", "READ", "etl")
    assert rey.get(f"{JOBS}/namespaces/ETL/jobNames/none").status_code == 404
    assert texts(jarjar.send("POST", JOBS, {"namespace": "ETL", "jobName": "j"}), 400)
    assert texts(Caller("admin").delete(f"{REST}/namespaces/ETL"), 400).startswith("A constraint")


def test_a_run_searches_for_its_account_in_its_realm_only(registered: Caller) -> None:
    run, other = started(Caller("Rey")), a_herd("second")
    objects.register(other, [NewObject("namespace", "ETL")], **BY)
    entries.replace(the_namespace("ETL", "second"), people.ensure("user", "JarJar"), ["READ"], **BY)

    def search(caller: Caller, user: str) -> Any:
        who, where = {"type": "user", "id": user}, {"type": "namespace"}
        body = {"subject": who, "action": {"name": "read"}, "resource": where}
        return caller.send("POST", "/access/v1/search/resource", body)

    everywhere = {item["id"] for item in search(registered, "JarJar").json()["results"]}
    here = {item["id"] for item in search(run, "JarJar").json()["results"]}
    assert "second/ETL" in everywhere
    assert here == everywhere - {"second/ETL"}
    assert search(run, "Rey").status_code == 403
    explain = "/authz/v1/explain?action=read&resource=namespace:{}&principal=user:{}"
    statuses = [
        run.get(explain.format(*asked)).status_code
        for asked in (("herd/ETL", "JarJar"), ("herd/ETL", "Rey"), ("second/ETL", "JarJar"))
    ]
    assert statuses == [200, 403, 403]
    assert run.get("/authz/v1/audit?realm=herd").status_code == 403
    assert run.get("/authz/v1/access?principal=user:JarJar&realm=herd").status_code == 403

"""Business object data, whose status changes, and the jobs that start because of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts import people
from accounts.models import Token, User
from authzsite.api.herd.body_schemas import Whole
from authzsite.api.strictjson import BadBody
from catalog.nodes import nodes
from catalog.queries import below, find
from lakewarden.law.objects import ObjectRef
from policies.models import AccessRecord, Change, Event
from policies.services import data_notifications, jobs, objects
from tests.herd.test_entries import lacking, texts
from tests.herd.test_runs import NAME, Running, register
from tests.herd.test_scenario import herd, pdp
from tests.herd.world import BY, REST, Caller, give, namespaces, the_herd, the_namespace

__all__ = ["herd", "pdp"]
NOTES = f"{REST}/notificationRegistrations/businessObjectDataNotificationRegistrations"
FORMAT = {
    "businessObjectDefinitionName": "CLOSES",
    "businessObjectFormatUsage": "PRC",
    "businessObjectFormatFileType": "ORC",
    "businessObjectFormatVersion": 0,
}
_FORMAT = (
    "businessObjectDefinitionNames/CLOSES/businessObjectFormatUsages/PRC/businessObjectFormatFileTypes/ORC"
)
CHANGED, REGISTERED = "BUS_OBJCT_DATA_STTS_CHG", "BUS_OBJCT_DATA_RGSTN"


def new_data(caller: Caller, namespace: str = "MARKET", **more: object) -> Any:
    body = {"namespace": namespace, **FORMAT, "partitionKey": "DATE", "partitionValue": "2026-11-23", **more}
    return caller.send("POST", f"{REST}/businessObjectData", body)


def of_format(call: str, namespace: str = "MARKET", **asked: object) -> str:
    query = {"businessObjectFormatVersion": 0, "partitionValue": "2026-11-23", **asked}
    return f"{REST}/{call}/namespaces/{namespace}/{_FORMAT}?{urlencode(query)}"


def of_data(call: str, namespace: str = "MARKET", version: object = 0, sub: str = "") -> str:
    partition = f"businessObjectFormatVersions/0/partitionValues/2026-11-23{sub}"
    return f"{REST}/{call}/namespaces/{namespace}/{_FORMAT}/{partition}/businessObjectDataVersions/{version}"


def set_status(caller: Caller, status: object, *where: Any) -> Any:
    return caller.send("PUT", of_data("businessObjectDataStatus", *where), {"status": status})


def definition(data: str = "MARKET", jobs: tuple[str, ...] = ("ETL",), **asked: object) -> dict[str, Any]:
    return {
        "businessObjectDataEventType": CHANGED,
        "businessObjectDataNotificationFilter": {
            "namespace": data,
            "businessObjectDefinitionName": "CLOSES",
            "newBusinessObjectDataStatus": "VALID",
            **asked,
        },
        "jobActions": [{"namespace": code, "jobName": NAME} for code in jobs],
        "notificationRegistrationStatus": "ENABLED",
    }


def notify(caller: Caller, namespace: str = "ETL", name: str = "closes", **body: Any) -> Any:
    key = {"namespace": namespace, "notificationName": name}
    whole = {"businessObjectDataNotificationRegistrationKey": key, **(body or definition())}
    return caller.send("POST", NOTES, whole)


def note_path(name: str = "closes", namespace: str = "ETL") -> str:
    return f"{NOTES}/namespaces/{namespace}/notificationNames/{name}"


def runs() -> list[Event]:
    return list(Event.objects.filter(kind="run.started").order_by("pk"))


def ok(answer: Any) -> Any:
    assert answer.status_code == 200, answer.content
    return answer.json()


@pytest.fixture
def writer(pdp: Caller) -> Caller:
    """Who delivers the data of MARKET; JarJar's job is registered in ETL."""
    ok(register(Caller("JarJar")))
    give("feed", "MARKET", "READ", "WRITE")
    return Caller("feed")


@pytest.fixture
def uploading(writer: Caller) -> Caller:
    ok(new_data(writer, status="UPLOADING"))
    return writer


@pytest.mark.seed("S3-078", "S3-093", "S3-091", "S3-092")
def test_a_status_change_starts_the_job_as_who_registered_it(uploading: Caller) -> None:
    registration = ok(notify(Caller("Artoo")))
    assert ok(set_status(uploading, "PROCESSING"))["previousStatus"] == "UPLOADING"
    assert runs() == [], "another status than is requested"
    details = ok(set_status(uploading, "valid"))
    assert (details["status"], details["previousStatus"]) == ("VALID", "PROCESSING")
    [event] = runs()
    artoo, jarjar = people.ensure("user", "Artoo"), people.ensure("user", "JarJar")
    change = Change.objects.get(pk=event.change_id)
    assert (change.actor, change.via) == (artoo.pseudonym, "notification")
    assert event.people == [jarjar.pseudonym]
    assert event.data["notification"] == "herd/ETL.closes"
    assert registration["id"] > 0
    ok(set_status(uploading, "VALID"))
    assert len(runs()) == 1, "nothing changed"

    rey = Caller("Rey")
    job = ok(rey.get(f"{REST}/jobs"))["jobSummaries"][0]
    assert (job["namespace"], job["jobName"], job["status"]) == ("ETL", NAME, "RUNNING")
    for who in ("feed", "JarJar", "nobody"):
        refused = Caller(who).send("POST", f"{REST}/jobs/ids/{job['id']}/token")
        assert texts(refused, 403) == lacking(who, "EXECUTE", "ETL")
        assert "X-Lakewarden-Run-Token" not in refused.headers
    fetched = rey.send("POST", f"{REST}/jobs/ids/{job['id']}/token")
    parameters = {each["name"]: each["value"] for each in ok(fetched)["parameters"]}
    assert parameters["status"] == "VALID"
    assert "CLOSES/PRC/ORC/0/2026-11-23/0" in parameters["data"]
    run = Running(fetched.headers["X-Lakewarden-Run-Token"])
    assert run.may("JarJar", "write", "CROSS_MARKET")
    assert not run.may("JarJar", "execute", "ETL")
    Token.objects.filter(run=job["id"]).update(revoked=change.at)
    assert texts(rey.send("POST", f"{REST}/jobs/ids/{job['id']}/token"), 400) == "The job has ended."


@pytest.mark.seed("S3-078")
def test_who_defined_it_must_still_be_allowed(uploading: Caller) -> None:
    """Artoo loses EXECUTE on the job's namespace, then READ on the data's, then the account."""
    registration = ok(notify(Caller("Artoo")))
    artoo = people.ensure("user", "Artoo")
    for permissions, market, refused in (
        (("READ",), ("READ",), ("EXECUTE", f"herd/ETL.{NAME}")),
        (("EXECUTE",), ("WRITE",), ("READ", "herd/MARKET")),
    ):
        give("Artoo", "ETL", *permissions)
        give("Artoo", "MARKET", *market)
        ok(set_status(uploading, "INVALID"))
        assert ok(set_status(uploading, "VALID"))["status"] == "VALID", "the data are not Artoo's"
        assert runs() == []
        record = AccessRecord.objects.filter(kind="refused").latest("pk")
        assert (record.operation, record.object_name) == refused
        assert (record.actor, record.via) == (artoo.pseudonym, f"notification {registration['id']}")
    give("Artoo", "MARKET", "READ")
    User.objects.create_user(username="Artoo", principal=artoo, is_active=False)
    ok(set_status(uploading, "INVALID"))
    ok(set_status(uploading, "VALID"))
    assert runs() == []
    User.objects.filter(principal=artoo).update(is_active=True)
    ok(set_status(uploading, "INVALID"))
    ok(set_status(uploading, "VALID"))
    assert len(runs()) == 1


@pytest.mark.seed("S3-062", "S3-063", "S3-064", "S3-065", "S3-066", "S3-067")
def test_it_takes_execute_on_every_job_and_read_on_the_data(writer: Caller) -> None:
    """Two jobs in two namespaces, and the data in a third."""
    give("JarJar", "OPTIONS", "WRITE")
    ok(register(Caller("JarJar"), "OPTIONS"))
    both, artoo = definition(jobs=("ETL", "OPTIONS")), Caller("Artoo")
    assert texts(notify(artoo, **both), 403) == lacking("Artoo", "EXECUTE", "OPTIONS")
    give("Artoo", "OPTIONS", "EXECUTE")
    made = ok(notify(artoo, **both))
    assert [action["namespace"] for action in made["jobActions"]] == ["ETL", "OPTIONS"]
    status = f"{REST}/notificationRegistrationStatus/namespaces/etl/notificationNames/CLOSES"
    off, on = ({"notificationRegistrationStatus": word} for word in ("DISABLED", "ENABLED"))
    for loses, keeps, permission in (
        ("OPTIONS", "READ", "EXECUTE"),
        ("MARKET", "WRITE", "READ"),
    ):
        give("Artoo", loses, keeps)
        lacks = lacking("Artoo", permission, loses)
        assert texts(artoo.send("PUT", status, off), 403) == lacks
        assert texts(artoo.send("PUT", note_path(), both), 403) == lacks
        assert texts(notify(artoo, name="second", **both), 403) == lacks
        give("Artoo", loses, permission)
    give("Artoo", "OPTIONS", "READ")
    fewer = artoo.send("PUT", note_path(), definition())
    assert texts(fewer, 403) == lacking("Artoo", "EXECUTE", "OPTIONS"), "what it triggers now counts, too"
    give("Artoo", "OPTIONS", "EXECUTE")
    assert ok(artoo.send("PUT", status, off))["notificationRegistrationStatus"] == "DISABLED"
    ok(new_data(writer, status="VALID"))
    assert runs() == []
    ok(artoo.send("PUT", status, on))
    ok(set_status(writer, "INVALID"))
    ok(set_status(writer, "VALID"))
    assert [event.object_name for event in runs()] == [f"herd/ETL.{NAME}", f"herd/OPTIONS.{NAME}"]


@pytest.mark.seed("S3-061")
def test_registrations_are_read_listed_and_deleted(writer: Caller) -> None:
    artoo, rey, jarjar = Caller("Artoo"), Caller("Rey"), Caller("JarJar")
    made = ok(notify(artoo))
    assert made["businessObjectDataNotificationFilter"]["namespace"] == "MARKET"
    assert ok(rey.get(note_path("CLOSES", "etl"))) == made
    assert made["jobActions"] == [{"namespace": "ETL", "jobName": NAME}]
    assert set(made) == {"id", "businessObjectDataNotificationRegistrationKey", *definition()}
    assert texts(artoo.get(note_path()), 403) == lacking("Artoo", "READ", "ETL")
    assert texts(notify(artoo), 409)
    assert texts(rey.get(note_path("other")), 404)
    keys = [{"namespace": "ETL", "notificationName": "closes"}]
    name = "businessObjectDataNotificationRegistrationKeys"
    assert ok(rey.get(f"{NOTES}/namespaces/etl"))[name] == keys
    assert texts(artoo.get(f"{NOTES}/namespaces/ETL"), 403)
    asked = {
        "businessObjectDefinitionNamespace": "MARKET",
        "businessObjectDefinitionName": "closes",
        "businessObjectFormatUsage": "PRC",
    }
    assert ok(rey.get(NOTES, asked))[name] == keys
    assert ok(artoo.get(NOTES, asked))[name] == [], "Artoo may not read where it is registered"
    assert texts(Caller("nobody").get(NOTES, asked), 403) == lacking("nobody", "READ", "MARKET")
    assert ok(rey.get(NOTES, {**asked, "businessObjectDefinitionName": "opens"}))[name] == []
    assert texts(artoo.delete(note_path()), 403) == lacking("Artoo", "WRITE", "ETL")
    assert ok(jarjar.delete(note_path())) == made
    assert texts(rey.get(note_path()), 404)
    ok(new_data(writer))
    assert runs() == []


def test_who_changes_it_is_whom_it_acts_for(uploading: Caller) -> None:
    ok(notify(Caller("Artoo")))
    ok(Caller("Rey").send("PUT", note_path(), definition(newBusinessObjectDataStatus="INVALID")))
    give("Artoo", "ETL", "READ")
    ok(set_status(uploading, "INVALID"))
    [event] = runs()
    assert Change.objects.get(pk=event.change_id).actor == people.ensure("user", "Rey").pseudonym


@pytest.mark.parametrize(
    ("asked", "starts"),
    [
        ({}, 1),
        ({"oldBusinessObjectDataStatus": "UPLOADING"}, 1),
        ({"oldBusinessObjectDataStatus": "INVALID"}, 0),
        ({"businessObjectFormatUsage": "prc", "businessObjectFormatVersion": 0}, 1),
        ({"businessObjectFormatVersion": 1}, 0),
        ({"businessObjectFormatFileType": "TXT"}, 0),
        ({"businessObjectDefinitionName": "OPENS"}, 0),
        ({"namespace": "ETL"}, 0),
    ],
)
def test_a_filter_says_of_what(uploading: Caller, asked: dict[str, Any], starts: int) -> None:
    give("Artoo", "ETL", "READ", "EXECUTE")
    ok(notify(Caller("Artoo"), **definition(**asked)))
    ok(set_status(uploading, "VALID"))
    assert len(runs()) == starts


def test_new_data_are_told_too(writer: Caller) -> None:
    artoo = Caller("Artoo")
    ok(notify(artoo, **(definition() | {"businessObjectDataEventType": REGISTERED})))
    ok(new_data(writer, status="INVALID"))
    assert runs() == []
    ok(new_data(writer, createNewVersion=True))
    assert len(runs()) == 1
    ok(set_status(writer, "VALID"))
    assert len(runs()) == 1, "it asks for new data alone"


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"namespace": ""}, 400),
        ({"businessObjectDefinitionName": " "}, 400),
        ({"newBusinessObjectDataStatus": "GOOD"}, 404),
        ({"oldBusinessObjectDataStatus": "VALID"}, 400),
        ({"storageName": "S3"}, 404),
        ({"businessObjectFormatVersion": "0"}, 400),
        ({"businessObjectFormatVersion": -1}, 400),
    ],
)
def test_a_bad_filter_is_refused(writer: Caller, asked: dict[str, Any], status: int) -> None:
    assert texts(notify(Caller("Artoo"), **definition(**asked)), status)


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"jobActions": []}, 400),
        ({"jobActions": None}, 400),
        ({"jobActions": [{"namespace": "ETL", "jobName": "none"}]}, 404),
        ({"jobActions": [{"namespace": "ETL", "jobName": NAME}] * 2}, 400),
        ({"jobActions": [{"namespace": "ETL", "jobName": NAME, "correlationData": "\0"}]}, 400),
        ({"businessObjectDataEventType": None}, 400),
        ({"businessObjectDataEventType": "STRGE_UNIT_STTS_CHG"}, 404),
        ({"businessObjectDataNotificationFilter": None}, 400),
        ({"notificationRegistrationStatus": "ON"}, 404),
        ({"businessObjectDataNotificationRegistrationKey": None}, 400),
    ],
)
def test_a_bad_definition_is_refused(writer: Caller, changed: dict[str, Any], status: int) -> None:
    assert texts(notify(Caller("Artoo"), **(definition() | changed)), status)


def test_a_registration_needs_a_right_where_it_is(writer: Caller) -> None:
    lacks = lacking("Artoo", "WRITE OR EXECUTE", "CROSS_MARKET")
    assert texts(notify(Caller("Artoo"), "CROSS_MARKET"), 403) == lacks
    assert texts(notify(Caller("Artoo"), "NOWHERE"), 403) == lacks.replace("CROSS_MARKET", "NOWHERE")
    assert texts(notify(Caller("admin"), "NOWHERE"), 404)
    lines = texts(notify(Caller("nobody")), 403).splitlines()
    assert lines == [
        lacking("nobody", "WRITE OR EXECUTE", "ETL"),
        lacking("nobody", "READ", "MARKET"),
        lacking("nobody", "EXECUTE", "ETL"),
    ]


@pytest.mark.seed("S3-033", "S3-034", "S3-035")
def test_data_are_registered_read_changed_and_deleted(writer: Caller) -> None:
    made = ok(new_data(writer, " market ", subPartitionValues=["A"]))
    assert (made["namespace"], made["version"], made["status"]) == ("MARKET", 0, "VALID")
    assert made["latestVersion"] is True
    assert texts(new_data(writer, subPartitionValues=["a"]), 409)
    again = ok(new_data(writer, subPartitionValues=["A"], createNewVersion=True))
    assert (again["version"], again["latestVersion"]) == (1, True)
    rey, artoo = Caller("Rey"), Caller("Artoo")
    data = of_format("businessObjectData", subPartitionValues="A")
    assert ok(rey.get(data)) == again
    old = of_format("businessObjectData", subPartitionValues="A", businessObjectDataVersion=0)
    assert ok(rey.get(old)) == made | {"latestVersion": False}
    assert ok(artoo.get(of_format("businessObjectDataStatus", subPartitionValues="A")))["status"] == "VALID"
    assert texts(artoo.get(of_format("businessObjectDataStatus")), 404), "of other data"
    path = of_data("businessObjectDataStatus", "MARKET", 0, "/subPartition1Values/A")
    for who in ("Rey", "Artoo", "nobody"):
        assert texts(new_data(Caller(who)), 403) == lacking(who, "WRITE", "MARKET")
        for wanted in ("INVALID", "VALID"):
            refused = Caller(who).send("PUT", path, {"status": wanted})
            assert texts(refused, 403) == lacking(who, "WRITE", "MARKET")
    assert texts(Caller("nobody").get(data), 403) == lacking("nobody", "READ", "MARKET")
    assert ok(writer.send("PUT", path, {"status": "INVALID"}))["previousStatus"] == "VALID"
    assert ok(rey.get(old))["status"] == "INVALID"
    for body, status in (({"status": "GOOD"}, 404), ({}, 400)):
        assert texts(writer.send("PUT", path, body), status)
    assert texts(set_status(writer, "VALID", "MARKET", "x"), 400)
    assert texts(set_status(writer, "VALID", "MARKET", 7), 404)
    gone = of_data("businessObjectData", "MARKET", 1, "/subPartition1Values/A")
    assert texts(rey.delete(gone), 403)
    assert ok(writer.delete(gone)) == again
    assert ok(rey.get(data))["version"] == 0


@pytest.mark.parametrize(
    "more",
    [
        {"partitionKey": ""},
        {"partitionValue": "a/b"},
        {"businessObjectFormatVersion": None},
        {"businessObjectFormatVersion": True},
        {"businessObjectFormatUsage": " "},
        {"subPartitionValues": ["1", "2", "3", "4", "5"]},
        {"businessObjectDefinitionName": "x" * 255},
        {"partitionValue": "\0"},
    ],
)
def test_bad_data_are_refused(writer: Caller, more: dict[str, Any]) -> None:
    assert texts(new_data(writer, **more), 400)


def test_the_same_in_xml(writer: Caller) -> None:
    body = (
        "<businessObjectDataNotificationRegistrationCreateRequest>"
        "<businessObjectDataNotificationRegistrationKey><namespace>ETL</namespace>"
        "<notificationName>n</notificationName></businessObjectDataNotificationRegistrationKey>"
        f"<businessObjectDataEventType>{CHANGED}</businessObjectDataEventType>"
        "<businessObjectDataNotificationFilter><namespace>market</namespace>"
        "<businessObjectDefinitionName>CLOSES</businessObjectDefinitionName>"
        "<businessObjectFormatVersion>0</businessObjectFormatVersion></businessObjectDataNotificationFilter>"
        f"<jobActions><jobAction><namespace>ETL</namespace><jobName>{NAME}</jobName></jobAction></jobActions>"
        "</businessObjectDataNotificationRegistrationCreateRequest>"
    )
    headers = {"accept": "application/xml"}
    artoo = Caller("Artoo")
    made = artoo.generic("POST", NOTES, body, content_type="application/xml", headers=headers)
    assert made.status_code == 200, made.content
    assert b"<businessObjectFormatVersion>0</businessObjectFormatVersion>" in made.content
    assert b"<jobAction><namespace>ETL</namespace>" in made.content
    bad = body.replace(">0<", ">zero<")
    refused = artoo.generic("POST", NOTES, bad, content_type="application/xml", headers=headers)
    assert refused.status_code == 400
    assert b"<errorInformation>" in refused.content
    keys = Caller("Rey").get(f"{NOTES}/namespaces/ETL", headers=headers).content
    assert b"<notificationName>n</notificationName>" in keys


def test_who_reads_where_a_job_is_learns_of_no_data_that_they_may_not_read(uploading: Caller) -> None:
    """The data in MARKET, the job in ETL, the registration in OPTIONS."""
    give("Artoo", "OPTIONS", "WRITE")
    ok(notify(Caller("Artoo"), "OPTIONS"))
    ok(set_status(uploading, "VALID"))
    give("watcher", "ETL", "READ")
    watcher = Caller("watcher")
    [job] = ok(watcher.get(f"{REST}/jobs"))["jobSummaries"]

    def parameters(caller: Caller) -> dict[str, str]:
        answer = caller.get(f"{REST}/jobs/ids/{job['id']}")
        assert "X-Lakewarden-Run-Token" not in answer.headers
        return {each["name"]: each["value"] for each in ok(answer)["parameters"]}

    assert parameters(watcher) == {"status": "VALID"}
    give("watcher", "OPTIONS", "READ")
    assert set(parameters(watcher)) == {"status", "notification"}
    give("watcher", "MARKET", "READ")
    assert "MARKET" in parameters(watcher)["data"]
    elsewhere("MARKET", recreated=True)
    give("watcher", "MARKET", "READ")
    assert "data" not in parameters(watcher), "the data were elsewhere"
    assert "data" in parameters(Caller("admin"))


# names that others bear by now


def status_path(name: str = "closes", namespace: str = "ETL") -> str:
    return f"{REST}/notificationRegistrationStatus/namespaces/{namespace}/notificationNames/{name}"


def each_change(caller: Caller) -> list[Any]:
    """The two calls that change a registration, as somebody who points it at what is theirs."""
    give(caller.name, "MARKET", "READ")
    off = {"notificationRegistrationStatus": "DISABLED"}
    return [caller.send("PUT", status_path(), off), caller.send("PUT", note_path(), definition())]


def elsewhere(code: str, *, recreated: bool) -> None:
    """A namespace is called otherwise, or is gone; another of the same name is there."""
    node = the_namespace(code)
    if recreated:
        objects.drop(node, **BY)
    else:
        objects.rename(node, f"OLD_{code}", **BY)
    namespaces(the_herd(), code)


@pytest.mark.parametrize("recreated", [False, True])
def test_rights_on_what_bears_a_job_s_namespace_s_name_now_change_nothing(
    writer: Caller, recreated: bool
) -> None:
    give("JarJar", "OPTIONS", "WRITE")
    ok(register(Caller("JarJar"), "OPTIONS"))
    give("Artoo", "OPTIONS", "EXECUTE")
    ok(notify(Caller("Artoo"), **definition(jobs=("OPTIONS",))))
    elsewhere("OPTIONS", recreated=recreated)
    give("mallory", "ETL", "WRITE", "EXECUTE")
    give("mallory", "OPTIONS", "READ", "WRITE", "EXECUTE")
    whose = "OPTIONS" if recreated else "OLD_OPTIONS"
    for answer in each_change(Caller("mallory")):
        assert texts(answer, 403) == lacking("mallory", "EXECUTE", whose)
    admin = Caller("admin")
    if not recreated:
        give("mallory", "OLD_OPTIONS", "EXECUTE")
        assert [answer.status_code for answer in each_change(Caller("mallory"))] == [200, 200]
    else:
        assert ok(admin.send("PUT", note_path(), definition()))["jobActions"][0]["namespace"] == "ETL"


@pytest.mark.parametrize("recreated", [False, True])
def test_rights_on_what_bears_the_data_s_name_now_change_nothing(writer: Caller, recreated: bool) -> None:
    give("Artoo", "OPTIONS", "READ")
    ok(notify(Caller("Artoo"), **definition("OPTIONS")))
    elsewhere("OPTIONS", recreated=recreated)
    give("mallory", "ETL", "WRITE", "EXECUTE")
    give("mallory", "OPTIONS", "READ", "WRITE", "EXECUTE")
    whose = "OPTIONS" if recreated else "OLD_OPTIONS"
    for answer in each_change(Caller("mallory")):
        assert texts(answer, 403) == lacking("mallory", "READ", whose)
    give("feed", "OPTIONS", "READ", "WRITE")
    ok(new_data(writer, "OPTIONS"))
    assert runs() == [], "they are not the data that it listens to"


def test_a_job_that_bears_the_name_of_a_dropped_one_is_not_started(uploading: Caller) -> None:
    ok(notify(Caller("Artoo")))
    job = find(ObjectRef("job_definition", "herd", ("ETL", NAME)))
    assert job is not None
    objects.drop(job, **BY)
    ok(register(Caller("JarJar")))
    ok(set_status(uploading, "VALID"))
    assert runs() == []
    off = {"notificationRegistrationStatus": "DISABLED"}
    give("mallory", "ETL", "WRITE")
    give("mallory", "MARKET", "READ")
    message = texts(Caller("mallory").send("PUT", status_path(), off), 403)
    assert message == lacking("mallory", "EXECUTE", "ETL"), "where the job was"
    ok(Caller("Artoo").send("PUT", note_path(), definition()))
    ok(set_status(uploading, "INVALID"))
    ok(set_status(uploading, "VALID"))
    assert len(runs()) == 1


def test_data_that_are_removed_while_they_are_answered_are_no_error(
    writer: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def remove(happened: data_notifications.StatusChange, **_: object) -> int:
        return objects.drop(happened.data, **BY)

    monkeypatch.setattr(data_notifications, "start_jobs", remove)
    made = ok(new_data(writer))
    assert (made["version"], made["latestVersion"], made["status"]) == (0, True, "VALID")
    assert texts(writer.get(of_format("businessObjectData")), 404)


@pytest.mark.parametrize(
    ("text", "status"), [("0000000000", 404), (2**31 - 1, 404), (2**31, 400), (10**10, 400)]
)
def test_numbers_are_as_long_in_paths_as_in_bodies(writer: Caller, text: object, status: int) -> None:
    assert texts(set_status(writer, "VALID", "MARKET", text), status)
    element = ElementTree.Element("version")
    element.text = str(text)
    if status == 400:
        with pytest.raises(BadBody):
            Whole().from_xml(element)
    else:
        assert Whole().from_xml(element) == int(str(text))


def test_what_is_looked_up_does_not_grow_with_the_registrations(
    uploading: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each run is a change of its own; what they have in common is asked once."""
    monkeypatch.setattr(jobs, "start", lambda job, **_: None)
    numbers = below(the_namespace("MARKET"), "business_object_data").values_list("securable", flat=True)
    [data] = nodes(numbers).values()
    asked = []
    for number in range(3):
        ok(notify(Caller("Artoo"), name=f"note{number}"))
        happened = data_notifications.StatusChange(data, {}, "VALID", "UPLOADING")
        with CaptureQueriesContext(connection) as queries:
            assert data_notifications.start_jobs(happened, lasting=timedelta(hours=1)) == number + 1
        asked.append(len(queries))
    assert asked[0] == asked[1] == asked[2] == 7

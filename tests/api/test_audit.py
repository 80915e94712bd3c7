"""The record for programs: in order, in pages, with refusals, for those who may read it."""

from __future__ import annotations

import csv
import io
import json
from typing import Any
from urllib.parse import urlencode

import pytest
from django.utils import timezone

from accounts import people
from policies.record import access_log
from policies.services import duties, objects, realms
from policies.services.objects import NewObject
from tests.api.world import BY, EVALUATION, Caller, Shop, question, token, user

AUDIT = "/authz/v1/audit"


@pytest.fixture
def marek(shop: Shop) -> Caller:
    return Caller(token("user", "marek"))


def ask(caller: Caller, **asked: str) -> Any:
    response = caller.get(f"{AUDIT}?{urlencode({'realm': 'demo', **asked})}")
    assert response.status_code == 200, response.content
    return response.json()


def kinds(caller: Caller, **asked: str) -> list[str]:
    return [item["kind"] for item in ask(caller, **asked)["results"]]


def test_events_come_in_order_with_names_and_words(shop: Shop, marek: Caller) -> None:
    shop.allow(shop.sales, "SELECT_TABLE")
    answer = ask(marek)
    revisions = [item["revision"] for item in answer["results"]]
    assert revisions == sorted(revisions)
    assert answer["next"] is None
    last = answer["results"][-1]
    assert (last["kind"], last["actor"]) == ("grant.added", "operator")
    assert last["object"] == {"type": "schema", "id": "demo/shop.sales"}
    assert "readers" in last["text"]
    [joined] = [item for item in answer["results"] if "user:bob" in item["people"]]
    assert joined["kind"] == "member.added"


def refuse(caller: Caller, times: int = 1) -> None:
    for _ in range(times):
        assert not caller.send(
            EVALUATION, question("user:ana", "read", "table:demo/shop.sales.orders")
        ).json()["decision"]


def test_a_refusal_is_one_entry_that_counts(shop: Shop, ana: Caller, marek: Caller) -> None:
    refuse(ana, 3)
    [refused] = ask(marek, actor="user:ana")["results"]
    assert refused["kind"] == "refused"
    assert refused["operation"] == "Table.loadTable"
    assert refused["object"] == {"type": "table", "id": "demo/shop.sales.orders"}
    assert (refused["actor"], refused["count"]) == ("user:ana", 3)
    assert ask(marek, kind="refused")["results"] == ask(marek, actor="ana")["results"] == [refused]


def test_a_refusal_at_nothing_is_the_realms(shop: Shop, ada: Caller, marek: Caller) -> None:
    access_log.refused(user("ana"), "Table.loadTable", None, name="demo/shop.sales.nothing", via="x")
    access_log.refused(user("ana"), "Table.loadTable", None, name="demolition/a", via="x")
    assert [item["object"]["id"] for item in ask(marek, kind="refused")["results"]] == [
        "demo/shop.sales.nothing"
    ]
    assert kinds(ada, kind="refused") == []


def test_filters_narrow_and_pages_are_the_whole(shop: Shop, ana: Caller, marek: Caller) -> None:
    refuse(ana)
    shop.allow(shop.sales, "SELECT_TABLE")
    shop.take(shop.sales, "SELECT_TABLE")
    refuse(ana)
    middle = timezone.now()
    shop.allow(shop.secret, "SELECT_TABLE")
    whole = ask(marek)["results"]
    assert [item["kind"] for item in whole][-4:] == ["refused", "grant.added", "grant.removed", "grant.added"]
    assert set(kinds(marek, kind="grant")) == {"grant.added", "grant.removed"}
    assert kinds(marek, kind="grant.removed,refused") == ["refused", "grant.removed"]
    assert kinds(marek, since=middle.isoformat()) == ["grant.added"]
    assert kinds(marek, kind="nothing") == kinds(marek, actor="nobody") == kinds(marek, kind="\0") == []
    assert kinds(marek, resource="demo/shop.secret", kind="grant") == ["grant.added"]
    assert kinds(marek, resource="schema:demo/shop.secret", kind="grant") == ["grant.added"]
    paged, cursor = [], ""
    while cursor is not None:
        page = ask(marek, limit="3", cursor=cursor)
        assert 0 < len(page["results"]) <= 3
        paged += page["results"]
        cursor = page["next"]
    assert paged == whole


def test_a_duty_shows_what_it_is_about(shop: Shop, ada: Caller, marek: Caller) -> None:
    shop.allow(shop.sales, "SELECT_TABLE")
    shop.allow(shop.secret, "SELECT_TABLE")
    objects.register(shop.secret, [NewObject("table", "hidden")], **BY)
    places = {item["object"]["id"] for item in ask(ada)["results"]}
    assert places
    assert all(place.startswith("demo/shop.sales") for place in places)
    assert places < {item["object"]["id"] for item in ask(marek)["results"] if item["object"]}
    assert ada.get(f"{AUDIT}?realm=demo&resource=demo/shop.secret").status_code == 403


@pytest.mark.parametrize("asked", ["realm=demo", "realm=nothing", "realm=demo&resource=demo/shop.nothing"])
def test_without_the_duty_nothing_is_told(shop: Shop, ana: Caller, asked: str) -> None:
    response = ana.get(f"{AUDIT}?{asked}")
    assert response.status_code == 403
    assert response.headers["Content-Type"] == "application/problem+json"
    assert "view_history" in response.json()["detail"]


@pytest.mark.parametrize(
    "asked",
    [
        "",
        "realm=",
        "limit=0",
        "limit=x",
        "limit=-1",
        "since=yesterday",
        "since=2026-02-31",
        "cursor=x",
        "format=xml",
    ],
)
def test_a_broken_question_is_400(marek: Caller, asked: str) -> None:
    path = f"{AUDIT}?realm=demo&{asked}" if asked and not asked.startswith("realm") else f"{AUDIT}?{asked}"
    response = marek.get(path)
    assert response.status_code == 400
    assert response.headers["Content-Type"] == "application/problem+json"


def test_a_token_needs_the_scope(shop: Shop) -> None:
    assert Caller(token("user", "marek", "check")).get(f"{AUDIT}?realm=demo").status_code == 403
    assert Caller(token("user", "marek", "audit")).get(f"{AUDIT}?realm=demo").status_code == 200
    assert Caller().get(f"{AUDIT}?realm=demo").status_code == 401
    assert Caller(token("user", "marek")).post(f"{AUDIT}?realm=demo").status_code == 405


def test_what_the_gravitino_api_refuses_is_there(shop: Shop, ana: Caller, marek: Caller) -> None:
    table = "/api/metalakes/demo/catalogs/shop/schemas/sales/tables"
    for name in ("orders", "orders", "nothing"):
        assert ana.get(f"{table}/{name}").status_code == 403
    refusals = ask(marek, actor="user:ana", kind="refused")["results"]
    assert [(item["operation"], item["count"]) for item in refusals] == [
        ("Table.loadTable", 2),
        ("Table.loadTable", 1),
    ]


# taken away: csv and ocsf


def export(caller: Caller, **asked: str) -> Any:
    return caller.get(f"{AUDIT}?{urlencode({'realm': 'demo', **asked})}")


def body(response: Any) -> str:
    return b"".join(response.streaming_content).decode()


@pytest.fixture
def exporter(shop: Shop) -> Caller:
    people.make_account("ada")
    duties.give(shop.realm, "export_history", user("ada"), **BY)
    return Caller(token("user", "ada"))


@pytest.mark.parametrize("form", ["csv", "jsonl", "ocsf"])
def test_seeing_the_history_is_not_enough_to_take_it_away(marek: Caller, form: str) -> None:
    response = export(marek, format=form)
    assert response.status_code == 403
    assert "export_history" in response.json()["detail"]


def test_a_duty_in_another_realm_takes_nothing_from_this_one(shop: Shop) -> None:
    people.make_account("ada")
    duties.give(
        realms.create("gravitino", "other", owner=user("marek"), **BY), "export_history", user("ada"), **BY
    )
    assert export(Caller(token("user", "ada")), format="csv").status_code == 403


def test_as_csv_every_entry_is_a_line(shop: Shop, marek: Caller, exporter: Caller) -> None:
    shop.allow(shop.sales, "SELECT_TABLE")
    lines = list(csv.DictReader(io.StringIO(body(export(exporter, format="csv")))))
    wired = ask(marek)["results"]
    assert [line["id"] for line in lines][: len(wired)] == [item["id"] for item in wired]
    granted = [line for line in lines if line["kind"] == "grant.added"][-1]
    assert (granted["object_id"], granted["actor"]) == ("demo/shop.sales", "operator")
    entries = [json.loads(line) for line in body(export(exporter, format="jsonl")).splitlines()]
    assert entries[: len(wired)] == wired


def test_an_export_is_on_record(exporter: Caller, marek: Caller) -> None:
    body(export(exporter, format="csv"))
    [looked] = ask(marek, kind="looked")["results"]
    assert (looked["actor"], looked["operation"]) == ("user:ada", "export of the history as csv")


@pytest.mark.parametrize(
    ("version", "kind", "class_uid", "type_uid"),
    [
        ("1.8", "grant.added", 3004, 300403),  # to a role
        ("1.9", "grant.added", 3008, 300804),
        ("1.8", "role.assigned", 3005, 300503),
        ("1.9", "role.assigned", 3007, 300716),
        ("1.8", "refused", 6003, 600399),
        ("1.9", "refused", 6003, 600399),
    ],
)
def test_as_ocsf_in_the_version_asked_for(
    shop: Shop, ana: Caller, exporter: Caller, version: str, kind: str, class_uid: int, type_uid: int
) -> None:
    refuse(ana)
    shop.allow(shop.sales, "SELECT_TABLE")
    lines = body(export(exporter, format="ocsf", version=version)).splitlines()
    events = [json.loads(line) for line in lines]
    labelled = next(event for event in events if event["metadata"]["event_code"] == kind)
    assert (labelled["class_uid"], labelled["type_uid"]) == (class_uid, type_uid)
    assert labelled["metadata"]["version"].startswith(version)
    required = {"activity_id", "category_uid", "class_uid", "type_uid", "severity_id", "time", "metadata"}
    assert all(required <= event.keys() for event in events)


@pytest.mark.parametrize("asked", [{"format": "xml"}, {"format": "ocsf", "version": "2.0"}])
def test_an_unknown_form_or_version_is_bad(exporter: Caller, asked: dict[str, str]) -> None:
    assert export(exporter, **asked).status_code == 400

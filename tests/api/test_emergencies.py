"""Breaking the glass by program: the same rules as in the browser, each error in the surface's form."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts import people
from policies.models import Emergency
from policies.services import duties
from tests.api.world import BY, Caller, Shop, token

ORDERS = {"type": "table", "id": "demo/shop.sales.orders"}
GOOD = {"resource": ORDERS, "action": "read", "hours": 2, "reason": "The nightly load stopped"}


@pytest.fixture
def ana(shop: Shop) -> Caller:
    duties.give(shop.catalog, "break_glass", people.make_account("ana").principal, **BY)
    return Caller(token("user", "ana", "manage"))


def send(caller: Caller, body: object, address: str = "/authz/v1/emergencies", **headers: str) -> Any:
    return caller.send(address, json.dumps(body).encode(), **headers)


def test_opened_read_ended_and_closed_by_another(ana: Caller) -> None:
    answer = send(ana, GOOD)
    assert answer.status_code == 201
    made = answer.json()
    assert (made["status"], made["resource"], made["principal"]) == ("open", ORDERS, "user:ana")
    assert ana.get("/authz/v1/emergencies").json()["results"][0]["id"] == made["id"]
    address = f"/authz/v1/emergencies/{made['id']}"
    assert send(ana, GOOD).status_code == 409
    assert send(ana, {}, f"{address}/end").json()["status"] == "ended"
    assert "waits for its review" in send(ana, GOOD).json()["detail"]
    assert send(ana, {"verdict": "All was in order"}, f"{address}/close").status_code == 403
    people.make_account("marek")
    marek = Caller(token("user", "marek", "manage"))
    assert send(marek, {"verdict": "ok"}, f"{address}/close").status_code == 400
    closed = send(marek, {"verdict": "All was in order"}, f"{address}/close").json()
    assert (closed["status"], closed["reviewer"]) == ("closed", "user:marek")
    assert send(marek, {"verdict": "All was in order"}, f"{address}/close").status_code == 409


def test_the_list_asks_the_database_as_often_for_many_as_for_one(ana: Caller) -> None:
    often = []
    for name in ("orders", "items", "naïve 店 😀"):
        wanted = {"type": "table", "id": f"demo/shop.sales.{name}"}
        assert send(ana, {**GOOD, "resource": wanted}).status_code == 201
        with CaptureQueriesContext(connection) as queries:
            assert ana.get("/authz/v1/emergencies").status_code == 200
        often.append(len(queries))
    assert len(set(often)) == 1


def test_one_at_a_time_on_one_branch(ana: Caller) -> None:
    branch = [("table", "shop.sales.orders"), ("schema", "shop.sales"), ("catalog", "shop"), ("metalake", "")]
    bodies = [
        {**GOOD, "resource": {"type": type_, "id": f"demo/{name}" if name else "demo"}}
        for type_, name in branch
    ]
    assert [send(ana, body).status_code for body in bodies[1:2]] == [201]
    statuses = [send(ana, body) for body in bodies]
    assert {answer.status_code for answer in statuses} <= {404, 409}
    assert statuses[0].status_code == statuses[2].status_code == 409
    assert "overlaps" in statuses[0].json()["detail"]


def test_the_same_key_is_the_same_emergency(ana: Caller) -> None:
    made = [send(ana, GOOD, **{"Idempotency-Key": "k1"}).json()["id"] for _ in range(2)]
    assert made[0] == made[1]
    assert Emergency.objects.count() == 1
    other = {**GOOD, "resource": {"type": "schema", "id": "demo/shop.sales"}}
    assert send(ana, other, **{"Idempotency-Key": "k1"}).status_code == 409


WRONG: dict[str, tuple[object, int]] = {
    "no body": ("", 400),
    "no object": ({**GOOD, "resource": "orders"}, 400),
    "a type that is none": ({**GOOD, "resource": {"type": "moon", "id": "demo/shop"}}, 404),
    "an object that is not there": (
        {**GOOD, "resource": {"type": "table", "id": "demo/shop.sales.moon"}},
        404,
    ),
    "one beside the duty": ({**GOOD, "resource": {"type": "metalake", "id": "demo"}}, 404),
    "hours that are none": ({**GOOD, "hours": "two"}, 400),
    "hours as a truth": ({**GOOD, "hours": True}, 400),
    "too many hours": ({**GOOD, "hours": 500}, 400),
    "more hours than time has": ({**GOOD, "hours": 10**30}, 400),
    "hours before all time": ({**GOOD, "hours": -(10**12)}, 400),
    "an action that is none": ({**GOOD, "action": "fly"}, 400),
    "a reason that is none": ({**GOOD, "reason": "x"}, 400),
    "a reason of another kind": ({**GOOD, "reason": 7}, 400),
    "a field that is none": ({**GOOD, "hour": 3}, 400),
    "a field of the resource that is none": ({**GOOD, "resource": {**ORDERS, "realm": "demo"}}, 400),
    "a NUL": ({**GOOD, "reason": "\0" * 20}, 400),
}


@pytest.mark.parametrize(("body", "status"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_a_problem_and_opens_nothing(ana: Caller, body: object, status: int) -> None:
    answer = send(ana, body)
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
    assert not Emergency.objects.exists()


def test_who_may_not(shop: Shop, ana: Caller) -> None:
    made = send(ana, GOOD).json()
    people.make_account("mia")
    mia = Caller(token("user", "mia", "manage"))
    assert send(mia, GOOD).status_code == 404
    for number in (made["id"], 10**9):
        answer = mia.get(f"/authz/v1/emergencies/{number}")
        assert answer.status_code == 404
        assert "no such emergency" in answer.json()["detail"]
    assert send(Caller(token("user", "ana", "check")), GOOD).status_code == 403

"""Many questions in one call: their order, their defaults, where they stop, what they cost."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from policies.models import AccessRecord, AccessRepeat
from policies.services import objects
from policies.services.objects import NewObject
from tests.api.world import BY, EVALUATION, EVALUATIONS, Caller, Shop, question

ORDERS = "table:demo/shop.sales.orders"
PLANS = "table:demo/shop.secret.plans"
YES, NO = question("user:ana", "read", ORDERS), question("user:ana", "read", PLANS)
BROKEN: dict[str, Any] = {**YES, "action": {"name": 123}}


@pytest.fixture
def readable(shop: Shop) -> Shop:
    shop.allow(shop.sales, "SELECT_TABLE")
    return shop


def decisions(response: Any) -> list[bool]:
    assert response.status_code == 200, response.content
    assert list(response.json()) == ["evaluations"]
    return [each["decision"] for each in response.json()["evaluations"]]


@pytest.mark.parametrize(
    "body",
    [
        {"evaluations": [YES, NO]},
        {
            "subject": YES["subject"],
            "action": YES["action"],
            "evaluations": [{"resource": YES["resource"]}, {"resource": NO["resource"]}],
        },
        {**YES, "evaluations": [{}, {"resource": NO["resource"]}]},
        {**NO, "context": {"a": 1}, "evaluations": [{"resource": YES["resource"]}, {"context": {}}]},
    ],
    ids=["whole", "shared subject and action", "empty item", "replaced"],
)
def test_answers_stand_in_the_order_of_questions(readable: Shop, ana: Caller, body: dict[str, Any]) -> None:
    assert decisions(ana.send(EVALUATIONS, body)) == [True, False]


def test_batch_and_single_agree_to_the_byte(readable: Shop, ana: Caller) -> None:
    resources = (
        ORDERS,
        PLANS,
        "table:demo/none",
        "schema:demo/shop.sales",
        "catalog:demo/shop",
        "metalake:demo",
        "metalake:none",
        "thing:demo",
        "role:demo/readers",
        "table:demo/shop.sales.none",
    )
    asked = [
        question("user:ana", action, resource)
        for resource in resources
        for action in ("read", "write", "use", "grant", "create_table", "Table.loadTable", "nonsense", "")
    ]
    together = ana.send(EVALUATIONS, {"evaluations": asked}).json()["evaluations"]
    assert together == [ana.send(EVALUATION, each).json() for each in asked]
    assert {True, False} == {each["decision"] for each in together}


@pytest.mark.parametrize("extra", [{}, {"evaluations": []}])
def test_without_items_it_answers_like_a_single_question(
    readable: Shop, ana: Caller, extra: dict[str, Any]
) -> None:
    assert ana.send(EVALUATIONS, {**YES, **extra}).content == ana.send(EVALUATION, YES).content


def test_a_broken_item_is_a_no_in_its_place(readable: Shop, ana: Caller) -> None:
    response = ana.send(EVALUATIONS, {"evaluations": [YES, BROKEN, "x", YES]})
    assert decisions(response) == [True, False, False, True]
    contexts = [each["context"] for each in response.json()["evaluations"]]
    assert contexts[1] == {"error": {"status": 400, "message": "action.name must be a string"}}
    assert contexts[2]["error"]["status"] == 400


@pytest.mark.parametrize(
    ("semantic", "items", "answers"),
    [
        ("execute_all", [YES, NO, BROKEN, YES], [True, False, False, True]),
        ("deny_on_first_deny", [YES, NO, YES], [True, False]),
        ("deny_on_first_deny", [YES, BROKEN, YES], [True, False]),
        ("permit_on_first_permit", [NO, BROKEN, YES, NO], [False, False, True]),
        ("permit_on_first_permit", [NO, NO], [False, False]),
    ],
)
def test_a_semantic_truncates(
    readable: Shop, ana: Caller, semantic: str, items: list[Any], answers: list[bool]
) -> None:
    body = {"options": {"evaluations_semantic": semantic}, "evaluations": items}
    assert decisions(ana.send(EVALUATIONS, body)) == answers


def test_five_hundred_items_are_answered(readable: Shop, ana: Caller) -> None:
    assert decisions(ana.send(EVALUATIONS, {"evaluations": [YES, NO] * 250})) == [True, False] * 250


def queries(caller: Caller, items: list[dict[str, Any]]) -> int:
    with CaptureQueriesContext(connection) as seen:
        assert caller.send(EVALUATIONS, {"evaluations": items}).status_code == 200
    return len(seen)


@pytest.mark.parametrize(
    ("name", "subject"), [("own yes", "user:ana"), ("another's yes", "user:ana")], ids=["own", "another's"]
)
def test_a_hundred_yeses_cost_the_queries_of_one(
    readable: Shop, ana: Caller, etl: Caller, name: str, subject: str
) -> None:
    new = [NewObject("table", f"t{number}") for number in range(100)]
    objects.register(readable.sales, new, **BY)
    asked = [question(subject, "read", f"table:demo/shop.sales.{each.name}") for each in new]
    caller = ana if name.startswith("own") else etl
    queries(caller, asked[:1])
    single, hundred = queries(caller, asked[:1]), queries(caller, asked)
    assert single == hundred
    assert single <= (3 if caller is ana else 4)


def test_a_hundred_noes_cost_the_queries_of_one(shop: Shop, ana: Caller) -> None:
    new = [NewObject("table", f"t{number}") for number in range(100)]
    objects.register(shop.sales, new, **BY)
    asked = [question("user:ana", "read", f"table:demo/shop.sales.{each.name}") for each in new]
    absent = [question("user:ana", "read", f"table:demo/shop.none.{number}") for number in range(100)]
    mixed = [each for pair in zip(asked, absent, strict=True) for each in pair]
    queries(ana, [question("user:ana", "use", "catalog:demo/shop")])
    assert queries(ana, mixed[:2]) == queries(ana, mixed[2:])
    assert queries(ana, mixed[:2]) == queries(ana, mixed)
    assert AccessRecord.objects.count() == 200
    assert AccessRepeat.objects.get(record__object_name="demo/shop.sales.t0").count == 3


def test_every_subject_is_answered_for_itself(readable: Shop, etl: Caller) -> None:
    subjects = (
        "user:ana",
        "user:olivia",
        "user:marek",
        "user:bob",
        "user:nobody",
        "group:ana",
        "service:etl",
        "robot:x",
    )
    asked = [question(subject, "read", ORDERS) for subject in subjects]
    answers = decisions(etl.send(EVALUATIONS, {"evaluations": asked}))
    assert dict(zip(subjects, answers, strict=True)) == {
        "user:ana": True,
        "user:olivia": False,
        "user:marek": True,
        "user:bob": False,
        "user:nobody": False,
        "group:ana": False,
        "service:etl": False,
        "robot:x": False,
    }

"""One question over HTTP: its form, its errors, its answer."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.world import EVALUATION, EVALUATIONS, Caller, Shop, question

ORDERS = "table:demo/shop.sales.orders"
WHOLE = question("user:ana", "read", ORDERS)


def test_a_yes_carries_the_revision_and_nothing_to_ask_for(shop: Shop, ana: Caller) -> None:
    shop.allow(shop.sales, "SELECT_TABLE")
    answer = ana.decide("user:ana", "read", ORDERS)
    assert answer["decision"] is True
    assert list(answer["context"]) == ["revision"]


def test_a_no_says_what_is_lacking_who_can_give_it_and_where_to_ask(shop: Shop, ana: Caller) -> None:
    answer = ana.decide("user:ana", "read", ORDERS)
    context = answer["context"]
    assert answer["decision"] is False
    assert context["missing"] == [
        {
            "kind": "privilege",
            "privilege": "SELECT_TABLE",
            "object": {"type": "table", "id": "demo/shop.sales.orders"},
            "owner": "user:olivia",
        }
    ]
    assert context["reason_user"] == (
        "ana may not read table demo/shop.sales.orders: "
        "SELECT_TABLE on table demo/shop.sales.orders is missing."
    )
    assert context["request_url"] == (
        "http://testserver/requests/new"
        "?resource=demo%2Fshop.sales.orders&type=table&action=read&for=user%3Aana"
    )
    assert isinstance(context["revision"], int)


@pytest.mark.parametrize("what", ["record:demo/shop.sales.orders", "Table:demo/shop", "table:demo/orders"])
def test_a_kind_of_object_that_no_law_knows_is_not_taken_for_a_realm(
    shop: Shop, ana: Caller, what: str
) -> None:
    context = ana.decide("user:ana", "read", what)["context"]
    assert context["missing"] == [{"kind": "object"}]
    assert context["reason_user"].endswith("there is no such object, or it may not be seen.")


@pytest.mark.parametrize(
    "extra",
    [
        {"context": {"time": "1985-10-26T01:22-07:00", "deep": [{"a": None}]}},
        {"foo": "bar", "evaluations": [], "options": {"evaluations_semantic": "?"}},
        {"subject": {**WHOLE["subject"], "properties": {"role": "admin", "owner": True}}},
        {"resource": {**WHOLE["resource"], "properties": {"owner": "ana"}}},
        {"action": {"name": "read", "properties": {"soft": True}}},
    ],
    ids=["context", "unknown fields", "subject properties", "resource properties", "action properties"],
)
def test_what_is_sent_beside_changes_nothing(ana: Caller, extra: dict[str, Any]) -> None:
    plain, dressed = ana.send(EVALUATION, WHOLE), ana.send(EVALUATION, {**WHOLE, **extra})
    assert plain.content == dressed.content


def test_the_same_question_gives_the_same_bytes(ana: Caller) -> None:
    assert len({ana.send(EVALUATION, WHOLE).content for _ in range(5)}) == 1


MISSING = [
    ("subject",),
    ("action",),
    ("resource",),
    ("subject", "type"),
    ("subject", "id"),
    ("action", "name"),
    ("resource", "type"),
    ("resource", "id"),
]


@pytest.mark.parametrize("path", [EVALUATION, EVALUATIONS])
@pytest.mark.parametrize("field", MISSING, ids=".".join)
def test_a_missing_field_is_400_with_a_text(caller: Caller, path: str, field: tuple[str, ...]) -> None:
    body = question("user:ana", "read", ORDERS)
    inner = body
    for name in field[:-1]:
        inner = inner[name]
    del inner[field[-1]]
    response = caller.send(path, body)
    assert (response.status_code, response.json()) == (400, f"{'.'.join(field)} is missing")


@pytest.mark.parametrize("path", [EVALUATION, EVALUATIONS])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nonsense",
        b"[]",
        b'"x"',
        b"null",
        {**WHOLE, "subject": "alice"},
        {**WHOLE, "subject": None},
        {**WHOLE, "action": {"name": 123}},
        {**WHOLE, "action": {"name": None}},
        {**WHOLE, "context": "x"},
        {**WHOLE, "resource": {"type": ["table"], "id": "demo"}},
        {**WHOLE, "resource": {"type": "table", "id": 1}},
    ],
    ids=str,
)
def test_a_broken_body_is_400_with_a_text(caller: Caller, path: str, body: object) -> None:
    response = caller.send(path, body)
    assert response.status_code == 400
    assert isinstance(response.json(), str)
    assert response.json()


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/xml", ""])
def test_another_content_type_is_400(caller: Caller, kind: str) -> None:
    response = caller.generic("POST", EVALUATION, b"{}", content_type=kind)
    assert (response.status_code, response.json()) == (400, "the content type must be application/json")


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
@pytest.mark.parametrize("path", [EVALUATION, EVALUATIONS])
def test_another_method_is_405(caller: Caller, path: str, method: str) -> None:
    response = caller.generic(method, path)
    assert response.status_code == 405
    assert response.headers["Allow"] == "POST"


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "*/*", "nonsense", ""])
def test_the_answer_is_json_whatever_is_accepted(caller: Caller, accept: str) -> None:
    response = caller.send(EVALUATION, WHOLE, Accept=accept)
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    ("body", "token", "status"),
    [
        (WHOLE, True, 200),
        ({}, True, 400),
        (WHOLE, False, 401),
        (question("user:bob", "read", ORDERS), True, 403),
    ],
)
def test_the_request_id_comes_back_with_every_answer(
    caller: Caller, body: Any, token: bool, status: int
) -> None:
    sender = caller if token else Caller()
    response = sender.send(EVALUATION, body, **{"X-Request-ID": "bfe9eb29-ab87-4ca3-be83-a1d5d8305716"})
    assert response.status_code == status
    assert response.headers["X-Request-ID"] == "bfe9eb29-ab87-4ca3-be83-a1d5d8305716"
    assert "X-Request-ID" not in sender.send(EVALUATION, body).headers


TEXTS = [
    "",
    " ",
    " ana ",
    "ANA",
    "a\0b",
    "😀",
    "x" * 5000,
    "\ud800",
    "../..",
    "demo",
    "demo/",
    "/x",
    "demo/.",
    'demo/"',
    "demo/shop..x",
    "demo/shop.sales.orders\0",
    "demo/" + "a." * 2000 + "b",
    "demo/ shop.sales.orders",
    "Demo/shop.sales.orders",
    "'; drop table x; --",
    "%",
    "\u202e",
    "nobody",
]


@pytest.mark.parametrize(
    "field", ["subject.id", "subject.type", "action.name", "resource.type", "resource.id"]
)
def test_strange_names_are_a_no_and_never_an_error(etl: Caller, shop: Shop, field: str) -> None:
    shop.allow(shop.sales, "SELECT_TABLE")
    outer, _, inner = field.partition(".")
    for text in TEXTS:
        body = question("user:ana", "read", ORDERS)
        body[outer][inner] = text
        response = etl.send(EVALUATION, body)
        assert response.status_code == 200, ascii(text[:30])
        answer = response.json()
        assert answer["decision"] is False, ascii(text[:30])
        assert answer["context"]["missing"], ascii(text[:30])
        assert answer["context"]["reason_user"]


def test_odd_but_true_names_are_found(ana: Caller, shop: Shop) -> None:
    shop.allow(shop.sales, "SELECT_TABLE")
    for name in (
        "shop.sales.orders",
        'shop.sales."odd.name"',
        "shop.sales.naïve 店 😀",
        '"shop".sales.items',
    ):
        assert ana.decide("user:ana", "read", f"table:demo/{name}")["decision"] is True, name

"""The description of the calls says what there is, and what is not there answers as a program expects."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from authzsite.api.v1 import urls
from authzsite.api.v1.openapi import document
from tests.api.described import fits
from tests.api.world import Caller, Shop, question, token

BASE = "/authz/v1/"


@pytest.fixture
def described(db: None) -> dict[str, Any]:
    response = Client().get("/authz/v1/openapi.json")
    assert (response.status_code, response["Content-Type"]) == (200, "application/json")
    schema: dict[str, Any] = response.json()
    assert schema == json.loads(json.dumps(document()))
    return schema


def offered() -> dict[str, set[str]]:
    """The calls that there are, with the methods they take."""
    operations = {}
    for pattern in urls.urlpatterns:
        view = getattr(pattern.callback, "cls", None)
        if view is not None and pattern.name != "openapi":
            address = re.sub(r"<\w+:(\w+)>", r"{\1}", str(pattern.pattern))
            operations[f"/{address}"] = set(view.http_method_names)
    return operations


def test_every_call_is_described_and_no_other(described: dict[str, Any]) -> None:
    assert {path: set(calls) for path, calls in described["paths"].items()} == offered()


def references(value: object) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if "$ref" in value else []
        return own + [each for item in value.values() for each in references(item)]
    return [each for item in value for each in references(item)] if isinstance(value, list) else []


def test_every_reference_leads_somewhere(described: dict[str, Any]) -> None:
    references_ = references(described)
    assert references_
    for text in references_:
        place: Any = described
        for part in text.removeprefix("#/").split("/"):
            place = place[part]


def lists(value: object, place: str = "") -> list[tuple[str, object]]:
    """Every list that is described, with what its items are."""
    if isinstance(value, dict):
        own = [(place, value.get("items"))] if value.get("type") == "array" else []
        return own + [each for name, item in value.items() for each in lists(item, f"{place}/{name}")]
    some = enumerate(value) if isinstance(value, list) else ()
    return [each for number, item in some for each in lists(item, f"{place}/{number}")]


def test_a_generator_can_make_a_client_of_it(described: dict[str, Any]) -> None:
    """openapi-python-client leaves out the calls of an answer in which a list does not say what it holds."""
    assert [place for place, items in lists(described) if items is None] == []
    names = [call["operationId"] for calls in described["paths"].values() for call in calls.values()]
    assert len(names) == len(set(names))
    assert not [name for name in names if not re.fullmatch(r"[a-z][a-z_-]*", name)]
    for path, calls in described["paths"].items():
        for call in calls.values():
            in_path = {each["name"] for each in call.get("parameters", ()) if each["in"] == "path"}
            assert in_path == set(re.findall(r"{(\w+)}", path))


ORDERS = "demo/shop.sales.orders"
ASKED = [
    ("get", "snapshot", {"realm": "demo"}),
    ("get", "explain", {"action": "read", "resource": ORDERS}),
    ("get", "explain", {"action": "use", "resource": "demo/shop"}),
    ("get", "access", {"principal": "user:marek", "realm": "demo"}),
    ("get", "access", {"resource": ORDERS}),
    ("post", "resolve", {"realm": "demo", "names": ["shop", "x"], "locations": ["s3://a/b"]}),
    (
        "post",
        "uses",
        {"realm": "demo", "run": "r", "uses": [{"resource": f"table:{ORDERS}", "action": "read"}]},
    ),
]


@pytest.mark.parametrize(("method", "path", "asked"), ASKED)
def test_answers_are_as_described(
    shop: Shop, described: dict[str, Any], method: str, path: str, asked: dict[str, Any]
) -> None:
    marek = Caller(token("user", "marek"))
    call = described["paths"][BASE + path][method]
    if method == "get":
        assert set(asked) <= {item["name"] for item in call["parameters"]}
        response = marek.get(f"{BASE}{path}?{urlencode(asked)}")
    else:
        assert fits(asked, call["requestBody"]["content"]["application/json"]["schema"])
        response = marek.send(BASE + path, asked)
    responses = call["responses"][str(response.status_code)]
    assert fits(response.json(), responses["content"]["application/json"]["schema"])


@pytest.mark.parametrize(
    "path",
    [
        "/authz/v1",
        "/authz/v1/",
        "/authz/v1/nothing",
        "/authz/v1/snapshot/",
        "/access/v1",
        "/access/v1/search/x",
    ],
)
@pytest.mark.parametrize("method", ["get", "post", "delete", "options"])
@pytest.mark.django_db
def test_what_is_no_call_is_a_problem_and_not_a_page(path: str, method: str) -> None:
    response = getattr(Client(enforce_csrf_checks=True), method)(path, headers={"X-Request-ID": "r7"})
    assert (response.status_code, response["Content-Type"]) == (404, "application/problem+json")
    assert (response.json()["status"], response["X-Request-ID"]) == (404, "r7")


@pytest.mark.parametrize(("path", "status"), [("request-rules", 404), ("explain", 200), ("access", 403)])
@pytest.mark.parametrize("type_", ["%00", "table%00", "nothing"])
def test_a_type_that_no_database_can_hold_is_one_that_no_object_has(
    shop: Shop, path: str, status: int, type_: str
) -> None:
    answer = Caller(token("user", "marek")).get(
        f"{BASE}{path}?resource=demo/shop.sales&action=read&type={type_}"
    )
    assert answer.status_code == status


@pytest.mark.parametrize("text", ["\0", "\ud800"])
@pytest.mark.parametrize("part", ["subject", "resource"])
def test_nor_is_a_question_about_such_a_type_a_failure(shop: Shop, part: str, text: str) -> None:
    asked = question("user:marek", "read", f"table:{ORDERS}")
    asked[part]["type"] = text
    answer = Caller(token("user", "marek")).send("/access/v1/evaluation", asked)
    assert answer.status_code in (200, 400, 403)

"""Questions are read strictly: a wrong type is told, nothing is bent, trimmed or guessed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import RequestFactory

from authzsite.api.authzen.answers import Answer, truncated, undecided
from authzsite.api.authzen.questions import (
    MOST_ITEMS,
    Action,
    BadQuestion,
    Batch,
    Entity,
    Question,
    read_batch,
    read_question,
)
from authzsite.api.strictjson import BadBody, read_object

ALICE = {"type": "user", "id": "alice"}
READ = {"name": "read"}
ORDERS = {"type": "table", "id": "demo/shop.sales.orders"}
WHOLE = {"subject": ALICE, "action": READ, "resource": ORDERS}
QUESTION = Question(Entity("user", "alice"), Action("read"), Entity("table", "demo/shop.sales.orders"))


def without(*path: str) -> dict[str, Any]:
    return changed(path, None, drop=True)


def changed(path: tuple[str, ...], value: object, *, drop: bool = False) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(json.dumps(WHOLE))
    inner = body
    for name in path[:-1]:
        inner = inner[name]
    if drop:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return body


@pytest.mark.parametrize(
    "body",
    [
        WHOLE,
        {**WHOLE, "context": {"time": "1985-10-26T01:22-07:00"}},
        {**WHOLE, "evaluations": "ignored here", "foo": [1], "options": 7},
        changed(("subject", "department"), "sales"),
    ],
    ids=["whole", "context", "unknown fields", "unknown inner fields"],
)
def test_what_does_not_matter_is_ignored(body: dict[str, Any]) -> None:
    assert read_question(body) == QUESTION


def test_properties_are_kept_as_sent() -> None:
    body = changed(("resource", "properties"), {"status": "active"})
    assert read_question(body).resource.properties == {"status": "active"}


@pytest.mark.parametrize("text", ["", " alice ", "ALICE", "a\0b", "😀", "x" * 5000, "\ud800", "None"])
def test_texts_come_through_untouched(text: str) -> None:
    assert read_question(changed(("subject", "id"), text)).subject.id == text


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


@pytest.mark.parametrize("path", MISSING, ids=".".join)
def test_a_missing_field_is_named(path: tuple[str, ...]) -> None:
    with pytest.raises(BadQuestion, match=f"{'.'.join(path)} is missing"):
        read_question(without(*path))


@pytest.mark.parametrize("value", [None, 123, 1.5, True, [], ["x"], {}], ids=repr)
@pytest.mark.parametrize("path", [path for path in MISSING if len(path) == 2], ids=".".join)
def test_a_field_of_another_type_is_named(path: tuple[str, ...], value: object) -> None:
    with pytest.raises(BadQuestion, match=f"{'.'.join(path)} must be a string"):
        read_question(changed(path, value))


@pytest.mark.parametrize("value", [None, "alice", 123, True, [], [ALICE]], ids=repr)
@pytest.mark.parametrize(
    "path",
    [
        ("subject",),
        ("action",),
        ("resource",),
        ("context",),
        ("subject", "properties"),
        ("action", "properties"),
        ("resource", "properties"),
    ],
    ids=".".join,
)
def test_what_must_be_an_object_is(path: tuple[str, ...], value: object) -> None:
    with pytest.raises(BadQuestion, match=f"{'.'.join(path)} must be an object"):
        read_question(changed(path, value))


BOB = {"type": "user", "id": "bob"}


@pytest.mark.parametrize(
    "body",
    [
        {**WHOLE, "evaluations": [{}]},
        {"evaluations": [WHOLE]},
        {"subject": ALICE, "action": READ, "evaluations": [{"resource": ORDERS}]},
        {"subject": BOB, "action": READ, "evaluations": [{"subject": ALICE, "resource": ORDERS}]},
        {"resource": ORDERS, "context": {"a": 1}, "evaluations": [{"subject": ALICE, "action": READ}]},
        {**WHOLE, "evaluations": [{"foo": "bar"}], "options": {"other": 1}},
    ],
    ids=["all defaults", "no defaults", "some", "replaced", "context", "unknown option"],
)
def test_items_take_what_they_lack_from_the_defaults(body: dict[str, Any]) -> None:
    assert read_batch(body) == Batch((QUESTION,), "execute_all")


def test_a_default_is_replaced_whole_and_not_merged() -> None:
    body = {**WHOLE, "evaluations": [{"subject": {"id": "bob"}}]}
    batch = read_batch(body)
    assert isinstance(batch, Batch)
    assert str(batch.items[0]) == "subject.type is missing"


@pytest.mark.parametrize("extra", [{}, {"evaluations": []}], ids=["missing", "empty"])
def test_without_items_it_is_a_single_question(extra: dict[str, Any]) -> None:
    assert read_batch({**WHOLE, **extra}) == QUESTION


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({}, "resource is missing"),
        ("text", "an item of evaluations must be an object"),
        (None, "an item of evaluations must be an object"),
        ([], "an item of evaluations must be an object"),
        ({"resource": None}, "resource must be an object"),
        ({"resource": {"type": "table", "id": 3}}, "resource.id must be a string"),
        ({"resource": ORDERS, "subject": "alice"}, "subject must be an object"),
        ({"resource": ORDERS, "context": []}, "context must be an object"),
    ],
)
def test_a_broken_item_stands_in_its_place(item: object, message: str) -> None:
    body = {
        "subject": ALICE,
        "action": READ,
        "evaluations": [{"resource": ORDERS}, item, {"resource": ORDERS}],
    }
    batch = read_batch(body)
    assert isinstance(batch, Batch)
    assert [isinstance(each, Question) for each in batch.items] == [True, False, True]
    assert str(batch.items[1]) == message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "subject is missing"),
        ({"evaluations": []}, "subject is missing"),
        ({**WHOLE, "evaluations": None}, "evaluations must be a list"),
        ({**WHOLE, "evaluations": {}}, "evaluations must be a list"),
        ({**WHOLE, "evaluations": "x"}, "evaluations must be a list"),
        ({**WHOLE, "evaluations": [{}], "options": None}, "options must be an object"),
        ({**WHOLE, "evaluations": [{}], "options": []}, "options must be an object"),
        *(
            ({**WHOLE, "evaluations": [{}], "options": {"evaluations_semantic": semantic}}, "must be one of")
            for semantic in ("EXECUTE_ALL", "", "first", None, 1, [], {})
        ),
        ({**WHOLE, "evaluations": [{}] * (MOST_ITEMS + 1)}, "more than"),
        ({"subject": "alice", "evaluations": [WHOLE]}, "subject must be an object"),
        ({"action": {"name": 123}, "evaluations": [WHOLE]}, "action.name must be a string"),
        ({"context": "x", "evaluations": [WHOLE]}, "context must be an object"),
    ],
)
def test_a_broken_batch_is_told(body: dict[str, Any], message: str) -> None:
    with pytest.raises(BadQuestion, match=message):
        read_batch(body)


def test_five_hundred_items_are_welcome() -> None:
    batch = read_batch({**WHOLE, "evaluations": [{}] * 500})
    assert isinstance(batch, Batch)
    assert len(batch.items) == 500


YES, NO, BROKEN = Answer(True, {}), Answer(False, {}), undecided(400, "broken")


@pytest.mark.parametrize(
    ("semantic", "answers", "kept"),
    [
        ("execute_all", [YES, NO, BROKEN, YES], 4),
        ("deny_on_first_deny", [YES, YES], 2),
        ("deny_on_first_deny", [YES, NO, YES], 2),
        ("deny_on_first_deny", [YES, BROKEN, YES], 2),
        ("permit_on_first_permit", [NO, BROKEN, NO], 3),
        ("permit_on_first_permit", [NO, YES, NO], 2),
        ("permit_on_first_permit", [YES], 1),
    ],
)
def test_a_semantic_stops_after_its_first(semantic: Any, answers: list[Answer], kept: int) -> None:
    assert list(truncated(answers, semantic)) == answers[:kept]


def posted(content: bytes, content_type: str = "application/json") -> dict[str, Any]:
    return read_object(RequestFactory().generic("POST", "/", content, content_type))


@pytest.mark.parametrize(
    "kind",
    ["application/json", "application/json; charset=utf-8", "Application/JSON", "application/json;x=y"],
)
def test_json_is_read_under_its_own_name(kind: str) -> None:
    assert posted(b'{"a":1}', kind) == {"a": 1}


@pytest.mark.parametrize(
    "kind",
    [
        "",
        "text/plain",
        "text/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/xml",
        "application/vnd.api+json",
        "json",
        "*/*",
    ],
)
def test_any_other_content_type_is_refused(kind: str) -> None:
    with pytest.raises(BadBody, match="content type"):
        posted(b'{"a":1}', kind)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b" ",
        b"{",
        b"nonsense",
        b'{"a":}',
        b"[]",
        b'["a"]',
        b'"text"',
        b"3",
        b"null",
        b"true",
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        b'{"a":1,"a":2}',
        b'{"b":{"a":1,"a":1}}',
        b"\xff",
        b'{"a":"\xe4"}',
        b"\xef\xbb\xbf{}",
        '{"a":1}'.encode("utf-16"),
        b"{'a':1}",
        b'{"a":1}{"a":1}',
        b'{"a":"\n"}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"a":' + b"9" * 10_000 + b"}",
        b" " * 3_000_000 + b"{}",
    ],
    ids=lambda content: repr(content[:20]),
)
def test_a_body_that_is_no_json_object_is_refused(content: bytes) -> None:
    with pytest.raises(BadBody):
        posted(content)

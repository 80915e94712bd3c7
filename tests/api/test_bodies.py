"""Bodies of `/authz/v1/` are read as they were sent: what was not meant so is refused, with a problem."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from rest_framework.exceptions import ValidationError

from authzsite.api.v1 import fields, urls
from tests.api.world import Caller, Shop, token

assert urls.urlpatterns  # so that every body there is has been imported
WRONG: dict[type, tuple[object, ...]] = {
    fields.Text: (7, True, 1.5, [], {}),
    fields.Whole: ("1", True, 1.0, [], {}),
    fields.Number: ("1", True, [], {}, 10**400, 10.0**308 * 10),
    fields.Flag: ("true", 1, 0, [], {}, None),
    fields.Moment: (7, True, "soon", "", [], {}),
    fields.Listed: ("x", 7, {}, {"0": "x"}, [object()]),
    fields.AnyObject: ("x", 7, []),
    fields.Body: ("x", 7, []),
}


def bodies(above: type[fields.Body] = fields.Body) -> Iterator[type[fields.Body]]:
    for body in above.__subclasses__():
        yield body
        yield from bodies(body)


BODIES = sorted(set(bodies()), key=lambda body: body.__qualname__)


def problems(body: type[fields.Body], sent: object) -> Any:
    with pytest.raises(ValidationError) as refused:
        body().run_validation(sent)
    return refused.value.detail


def test_there_are_bodies() -> None:
    assert {"NewUses", "NewReview", "Approval", "NewEmergency", "NewRun"} <= {
        body.__name__ for body in BODIES
    }


@pytest.mark.parametrize("body", BODIES)
def test_a_field_that_is_not_known_is_refused(body: type[fields.Body]) -> None:
    assert problems(body, {"nonsense": 1}) == {"nonsense": ["is no field of this body"]}


@pytest.mark.parametrize("body", BODIES)
def test_nothing_is_made_into_what_it_is_not(body: type[fields.Body]) -> None:
    for name, field in body().fields.items():
        kind = next((kind for kind in WRONG if isinstance(field, kind)), None)
        values = [*WRONG[kind], *(() if field.allow_null else (None,))] if kind else [7]
        for value in values:
            assert name in problems(body, {name: value}), (name, value)


def test_texts_are_neither_trimmed_nor_emptied() -> None:
    assert fields.Text().run_validation("  a\0 ") == "  a\0 "
    for unholdable in ("a\0", "\ud800", "x" * 9):
        with pytest.raises(ValidationError, match="at most 8"):
            fields.Text(max_length=8).run_validation(unholdable)


def test_a_day_alone_is_its_beginning_or_its_end() -> None:
    assert fields.Moment().run_validation("2026-01-31") == datetime(2026, 1, 31, tzinfo=UTC)
    assert fields.Moment(whole_day=True).run_validation("2026-01-31").hour == 23


RESOLVE = "/authz/v1/resolve"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"realm": "demo", "realm": "other"}', "stands twice"),
        (b'{"realm": "demo", "names": [{"a": 1, "a": 2}]}', "stands twice"),
        (b'{"realm": NaN}', "NaN is no JSON value"),
        (b'{"realm": -Infinity}', "-Infinity is no JSON value"),
        (b'{"realm": "demo"} {}', "is not JSON"),
        (b'{"realm": "\xff"}', "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b'["demo"]', "must be a JSON object"),
        (b"", "must be application/json"),
        (b'{"realm": 7}', "realm must be a text"),
        (b'{"realm": ""}', "realm must be a text"),
        (b'{"names": []}', "realm must be a text"),
        (b'{"realm": "demo", "names": "x"}', "names must be a list"),
        (b'{"realm": "demo", "names": ["x", 7]}', "names: an item must be a text"),
        (b'{"realm": "demo", "name": ["x"]}', "name is no field of this body"),
    ],
)
def test_what_is_wrong_is_named(shop: Shop, body: bytes, said: str) -> None:
    answer = Caller(token("user", "marek")).send(RESOLVE, body)
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    assert said in answer.json()["detail"]
    assert set(answer.json()) == {"title", "status", "detail"}


def test_a_body_says_that_it_is_json(shop: Shop) -> None:
    answer = Caller(token("user", "marek")).send(RESOLVE, b'{"realm": "demo"}', content_type="text/plain")
    assert (answer.status_code, "application/json" in answer.json()["detail"]) == (400, True)

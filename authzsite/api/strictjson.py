"""JSON read as it was meant: UTF-8, no doubled names, no NaN, nothing coerced or trimmed."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, UnreadablePostError


class BadBody(ValueError):
    """The body cannot be understood; the text says why, without repeating the body."""


def read_object(request: HttpRequest) -> dict[str, Any]:
    """The JSON object that was sent as `application/json`.  Raises BadBody."""
    if request.content_type != "application/json":
        raise BadBody("the content type must be application/json")
    value = read_content(request)
    if not isinstance(value, dict):
        raise BadBody("the body must be a JSON object")
    return value


def read_content(request: HttpRequest) -> Any:
    """The JSON value that was sent, whatever type it was said to be; None for no body.  Raises BadBody."""
    try:
        text = request.body.decode()
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant) if text else None
    except BadBody:
        raise
    except RequestDataTooBig:
        raise BadBody("the body is too large") from None
    except (ValueError, RecursionError, UnreadablePostError):
        raise BadBody("the body is not JSON in UTF-8") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        # two readers could each believe another of the two
        raise BadBody("a name stands twice in one object")
    return members


def _no_constant(name: str) -> NoReturn:
    raise BadBody(f"{name} is no JSON value")

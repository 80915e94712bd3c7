"""Whether what goes over `/authz/v1/` is as its description says."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from authzsite.api.v1.openapi import document

JSON = "application/json"


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """Whether a value is described: every field of it named, every needed one there."""
    return not _problems(value, schema)


def _problems(value: Any, schema: dict[str, Any]) -> list[str]:
    validator = Draft202012Validator({**schema, "components": document()["components"]})
    return [f"{each.json_path}: {each.message}" for each in validator.iter_errors(value)]


@cache
def _paths() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    paths = document()["paths"].items()
    return [(re.compile(re.sub(r"{\w+}", r"\\d+", path)), calls) for path, calls in paths]


def check_exchange(method: str, path: str, sent: bytes, response: Any) -> None:
    """That a body which was taken, and the answer to it, are as described."""
    calls = next((calls for pattern, calls in _paths() if pattern.fullmatch(path)), None)
    if calls is None or not 200 <= response.status_code < 300:
        return
    call = calls[method.lower()]
    if sent:
        schema = call["requestBody"]["content"][JSON]["schema"]
        assert not (problems := _problems(json.loads(sent), schema)), (path, problems)
    if response["Content-Type"] == JSON and response.get("Content-Encoding") is None:
        schema = call["responses"][str(response.status_code)]["content"][JSON]["schema"]
        assert not (problems := _problems(response.json(), schema)), (path, problems)

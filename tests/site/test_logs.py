"""No secret reaches a log line, whoever wrote it."""

from __future__ import annotations

import json
import logging

import pytest

from authzsite.runtime.telemetry.logs import JsonFormatter, NoSecretsFormatter
from lakewarden import request_ids

LINES = {
    "a URL": "connect postgresql://lake:s3cret-word@db:5432/shop failed",
    "a URL with an at sign in its password": "connect postgresql://lake:s3cret-wo%40rd@db/shop failed",
    "a bearer token": "Authorization: Bearer s3cret-word-0123456789",
    "a form": "POST password=s3cret-word&next=/",
    "a dictionary": "{'password': 's3cret-word', 'user': 'ana'}",
    "JSON": '{"api_token": "s3cret-word"}',
    "a statement": "ALTER ROLE ana PASSWORD='s3cret-word'",
    "a cookie": "Cookie: lakewarden_sessionid=s3cret-word; a=b",
}


def formatted(line: str, *, error: Exception | None = None) -> str:
    record = logging.LogRecord("test", logging.INFO, __file__, 1, "%s", (line,), None)
    if error:
        record.exc_info = (type(error), error, None)
    return NoSecretsFormatter("%(message)s").format(record)


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_the_secret_is_gone(line: str) -> None:
    assert "s3cret" not in formatted(line)


def test_in_a_traceback_too() -> None:
    assert "s3cret" not in formatted("failed", error=ValueError("postgresql://u:s3cret@h/db"))


@pytest.mark.parametrize(
    "line", ["GET /catalog 200", "user ana read 12 tokens at http://lake:8000/x@y", "no password given"]
)
def test_the_rest_stays(line: str) -> None:
    assert formatted(line) == line


def as_json(line: str, *, error: Exception | None = None) -> dict[str, object]:
    record = logging.LogRecord("test", logging.WARNING, __file__, 1, "%s", (line,), None)
    if error:
        record.exc_info = (type(error), error, None)
    text = JsonFormatter().format(record)
    assert "\n" not in text
    return json.loads(text)


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_the_secret_is_gone_from_json(line: str) -> None:
    assert "s3cret" not in str(as_json(line, error=ValueError(line)))


def test_a_line_of_json_says_what_happened_and_for_which_request() -> None:
    with request_ids.working_for("call-7"):
        line = as_json('a "quoted" line\nand another', error=ValueError("why"))
    assert line.pop("time") and line.pop("process")
    assert line == {
        "level": "warning",
        "logger": "test",
        "message": 'a "quoted" line\nand another',
        "request_id": "call-7",
        "exception": "ValueError: why",
    }


def test_a_plain_line_ends_with_its_request() -> None:
    with request_ids.working_for("call-7"):
        assert formatted("looked") == "looked [call-7]"
    assert formatted("looked") == "looked"

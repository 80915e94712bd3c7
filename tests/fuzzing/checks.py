"""What must hold of each answer: no failure; an error is in the surface's form and changes nothing."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from defusedxml.ElementTree import fromstring
from django.test import Client

from tests.fuzzing.calls import Call
from tests.fuzzing.database import digests

SAFE = ("GET", "HEAD", "OPTIONS")
ATTEMPTS = "axes_accessattempt"
"""A wrong password is counted, there as at the sign-in."""
NOT_OFFERED = ("SCIM", 501)
"""How RFC 7644 (3.12) has a server say what it does not do, such as searching users and groups at once."""
SIGNED = "policies_checkpoint"
"""Who takes evidence away has the end of the record signed, so that the file can be held against it."""


def _is_problem(answer: Any) -> bool:
    body = json.loads(answer.content)
    return answer["Content-Type"] == "application/problem+json" and body["status"] == answer.status_code


def _is_authzen(answer: Any) -> bool:
    return "json" in answer["Content-Type"] and isinstance(json.loads(answer.content), str | dict)


def _is_scim(answer: Any) -> bool:
    body = json.loads(answer.content)
    return (
        answer["Content-Type"] == "application/scim+json"
        and body["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]
        and str(body["status"]) == str(answer.status_code)
    )


def _is_gravitino(answer: Any) -> bool:
    body = json.loads(answer.content)
    return {"code", "type", "message"} <= body.keys() and body["code"] >= 1000


def _is_herd(answer: Any) -> bool:
    if "xml" in answer["Content-Type"]:
        root = fromstring(answer.content)
        return root.tag == "errorInformation" and root.findtext("statusCode") == str(answer.status_code)
    return str(json.loads(answer.content)["statusCode"]) == str(answer.status_code)


def _is_cdap(answer: Any) -> bool:
    return answer["Content-Type"].startswith(("text/plain", "application/json"))


def _is_trino(answer: Any) -> bool:
    return json.loads(answer.content).keys() == {"code", "message"}


def _is_page(answer: Any) -> bool:
    return answer["Content-Type"].startswith(("text/html", "text/plain", "application/json"))


FORMS: Mapping[str, Callable[[Any], bool]] = {
    "authz v1": _is_problem,
    "AuthZEN": _is_authzen,
    "SCIM": _is_scim,
    "Gravitino": _is_gravitino,
    "Herd": _is_herd,
    "CDAP": _is_cdap,
    "Trino": _is_trino,
    "forms": _is_page,
}
"""Whether an error is in the form that callers of a surface read."""


class _Failures(logging.Handler):
    """The failures that the console logs while it answers."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1]:
            self.texts.append("".join(traceback.format_exception(record.exc_info[1])[-6:]))


@contextmanager
def _failures() -> Iterator[list[str]]:
    handler = _Failures()
    logging.getLogger().addHandler(handler)
    try:
        yield handler.texts
    finally:
        logging.getLogger().removeHandler(handler)


class Checker:
    """Sends calls one after another into one world, and says what is wrong with an answer."""

    def __init__(self, surface: str, clients: Mapping[str, Client], world: dict[str, str]) -> None:
        """`world` has the digests of the world that each example begins with."""
        self.surface, self.clients = surface, clients
        self.before = world

    def check(self, call: Call) -> list[str]:
        """What is wrong; empty where all is well."""
        with _failures() as failures:
            answer = self._send(call)
        status = answer.status_code
        if status >= 500 and (self.surface, status) != NOT_OFFERED:
            return [f"{status} for {call}\n{''.join(failures) or answer.content[:500]}"]
        refused = status >= 400
        if refused and call.method != "HEAD" and not self._in_form(answer):
            return [f"{status} for {call} is in no form of {self.surface}: {answer.content[:300]}"]
        after = digests()
        different = [name for name, digest in after.items() if self.before[name] != digest]
        if not refused and call.path.endswith("/evidence"):
            different = [name for name in different if name != SIGNED]
        if refused and call.path == "/profile":
            different = [name for name in different if name != ATTEMPTS]
        self.before = after
        if different and (refused or call.method in SAFE):
            return [f"{status} for {call} changed {', '.join(different)}"]
        return []

    def _send(self, call: Call) -> Any:
        client = self.clients[call.who]
        answer = client.generic(
            call.method, call.path, call.body, content_type=call.content_type, headers=dict(call.headers)
        )
        if answer.streaming:
            answer.getvalue()  # what fails on the way to the caller fails here
        return answer

    def _in_form(self, answer: Any) -> bool:
        try:
            return FORMS[self.surface](answer)
        except (ValueError, KeyError, TypeError, AttributeError, SyntaxError):
            return False

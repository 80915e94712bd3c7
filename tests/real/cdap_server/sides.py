"""The two that are asked: a CDAP over HTTP, and Lakewarden's surface of it."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from lakewarden.cdap.wire import read_authorizable
from tests.cdap.world import Caller
from tests.real.cdap_server.server import Cdap
from tests.real.cdap_server.worlds import HERE_ALONE, JAR
from tests.real.differential.compare import LAKE, Answer, Call


class There:
    """The CDAP itself; everybody comes with a token of its own authentication server."""

    def __init__(self, cdap: Cdap) -> None:
        self.cdap, self._line = cdap, HTTPConnection("127.0.0.1", cdap.port, timeout=120)

    def answer(self, call: Call, lake: str) -> Answer:
        if call.operation == HERE_ALONE:
            return Answer(allowed=True)
        headers = {"Authorization": f"Bearer {self.cdap.token(call.who)}", **version_of(call)}
        content = body_of(call, lake, self.cdap.jar)
        self._line.request(call.method, call.path.replace(LAKE, lake), content, headers)
        answer = self._line.getresponse()
        return judged(call, lake, answer.status, answer.read())

    def close(self) -> None:
        self._line.close()


class Here:
    """Lakewarden in this process; everybody comes with a token of the console."""

    def __init__(self, jar: Path) -> None:
        self._jar, self._callers = jar, dict[str, Caller]()

    def answer(self, call: Call, lake: str) -> Answer:
        if call.who not in self._callers:
            self._callers[call.who] = Caller(call.who)
        answer = self._callers[call.who].generic(
            call.method,
            call.path.replace(LAKE, lake),
            body_of(call, lake, self._jar) or b"",
            content_type="application/x-www-form-urlencoded",
            headers=version_of(call),
        )
        return judged(call, lake, answer.status_code, answer.content)


def version_of(call: Call) -> dict[str, str]:
    return {"Artifact-Version": "1.0.0"} if call.body == JAR else {}


def body_of(call: Call, lake: str, jar: Path) -> bytes | None:
    if call.body is None or isinstance(call.body, bytes):
        return call.body
    return jar.read_bytes() if call.body == JAR else json.dumps(call.body).replace(LAKE, lake).encode()


def judged(call: Call, lake: str, status: int, content: bytes) -> Answer:
    """Let in, unless it was refused; that something is not there or was not done is another matter."""
    text = content.decode(errors="replace")
    assert status not in (401, 500, 502, 503), f"{call}: {status} {text}"
    shown = _shown(call.operation, lake, text) if call.method == "GET" and status == 200 else None
    words = "" if status == 200 else text[:200].replace(lake, LAKE)
    return Answer(status != 403, shown, status, words)


def _shown(operation: str, lake: str, text: str) -> Any:
    """The names in a list."""
    if operation == "privileges.list":
        return sorted(
            f"{row['action']} on {str(read_authorizable(row['authorizable'])).replace(lake, LAKE)}"
            for row in json.loads(text)
        )
    if not operation.endswith(".list"):
        return None
    rows = json.loads(text)
    names = sorted(rows if isinstance(rows, dict) else (row["name"] for row in rows))
    # the namespaces of other worlds are there too
    return [name for name in names if name == lake] if operation == "namespace.list" else names

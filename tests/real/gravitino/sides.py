"""Both systems as sides: the same request, and of the answer what the law decides."""

from __future__ import annotations

import http.client
import json
import socket
from typing import Any

from tests.api_gravitino.world import basic
from tests.real.differential.compare import LAKE, Answer, Call

LISTS = (
    "names",
    "identifiers",
    "users",
    "groups",
    "catalogs",
    "roles",
    "tags",
    "versions",
    "metadataObjects",
)


class Rest:
    """A server that speaks Gravitino's REST interface."""

    def __init__(self, port: int) -> None:
        self._line = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def send(self, who: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Authorization": basic(who)}
        for again in (True, False):
            try:
                self._line.request(method, path, data, headers)
                # a server that writes twice would wait for this before the second time
                self._line.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
                answer = self._line.getresponse()
                content = answer.read()
                break
            except (http.client.RemoteDisconnected, ConnectionError):
                self._line.close()
                if not again:
                    raise
        try:
            return answer.status, json.loads(content) if content else {}
        except ValueError:
            return answer.status, {"message": content[:200].decode(errors="replace")}

    def answer(self, call: Call, lake: str) -> Answer:
        body = json.loads(json.dumps(call.body).replace(LAKE, lake))
        status, body_read = self.send(call.who, call.method, call.path.replace(LAKE, lake), body)
        shown = _shown(body_read) if call.method == "GET" and status == 200 else None
        text = "" if status == 200 else f"{body_read.get('type')}: {body_read.get('message')}"[:160]
        return Answer(status != 403, shown, status, text.replace(lake, LAKE))

    def close(self) -> None:
        self._line.close()


def _shown(body: dict[str, Any]) -> Any:
    """The names in a list, or the owner."""
    if "owner" in body:
        return body["owner"]["name"]
    for key in LISTS:
        if key in body and isinstance(body[key], list):
            return sorted(_name(item) for item in body[key])
    return None


def _name(item: Any) -> str:
    return str(item.get("fullName", item.get("name"))) if isinstance(item, dict) else str(item)

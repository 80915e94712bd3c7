"""People with clients: real ones of the package `apache-gravitino`, and bare HTTP for what it cannot say."""

from __future__ import annotations

import base64
import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from http.client import HTTPConnection
from typing import Any

from django.db import connection
from gravitino import GravitinoAdminClient, GravitinoClient, NameIdentifier
from gravitino.api.authorization.privileges import Privilege, Privileges
from gravitino.auth.simple_auth_provider import SimpleAuthProvider
from gravitino.namespace import Namespace

ADMIN = "root_admin"
OK = (200, 0, None)
FORBIDDEN = (403, 1008, "ForbiddenException")


class As(SimpleAuthProvider):
    """Comes by name."""

    def __init__(self, name: str) -> None:
        self._header = basic(name).encode()

    def get_token_data(self) -> bytes:
        return self._header

    def has_token_data(self) -> bool:
        return True

    def close(self) -> None:
        pass


def basic(name: str, second: str = "dummy") -> str:
    return "Basic " + base64.b64encode(f"{name}:{second}".encode()).decode()


@dataclass(frozen=True)
class Reply:
    status: int
    body: Any
    headers: Any

    @property
    def told(self) -> tuple[int, Any, Any]:
        """Status, code and type: what a client's errors are made of."""
        return self.status, self.body.get("code"), self.body.get("type")


class Site:
    """The running server, over one connection that stays open."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._wire = HTTPConnection(url.removeprefix("http://"), timeout=120)

    def send(
        self, method: str, path: str, body: Any = None, *, who: str | None = ADMIN, **headers: str
    ) -> Reply:
        """One call over bare HTTP.  A body of bytes goes as it is; names of headers are written with `_`."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        sent = {"Content-Type": "application/json"} | {k.replace("_", "-"): v for k, v in headers.items()}
        if who is not None:
            sent.setdefault("Authorization", basic(who))
        try:
            self._wire.request(method, path, data, sent)
            # the server writes twice, and would wait for this before the second time
            self._wire.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
            answer = self._wire.getresponse()
            content = answer.read()
        except OSError:
            self.close()
            raise
        return Reply(answer.status, json.loads(content) if content else None, answer.headers)

    def close(self) -> None:
        self._wire.close()


@cache
def service_admin(site: Site) -> GravitinoAdminClient:
    return GravitinoAdminClient(site.url, auth_data_provider=As(ADMIN))


@dataclass
class Lake:
    """A metalake with its people; the site admin who made it owns it."""

    site: Site
    name: str
    _clients: dict[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return f"/api/metalakes/{self.name}"

    def send(self, method: str, path: str, body: Any = None, **more: Any) -> Reply:
        return self.site.send(method, self.path + path, body, **more)

    def client(self, who: str) -> GravitinoClient:
        if who not in self._clients:
            self._clients[who] = GravitinoClient(
                self.site.url, self.name, auth_data_provider=As(who), check_version=False
            )
        return self._clients[who]

    @property
    def owner(self) -> GravitinoClient:
        return self.client(ADMIN)

    def join(self, *names: str) -> GravitinoClient:
        """Let people in; the client of the last."""
        for name in names:
            assert self.send("POST", "/users", {"name": name}).status in (200, 409)
        return self.client(names[-1])

    def make(self, path: str, body: dict[str, Any], who: str = ADMIN) -> Any:
        """Create something that must succeed."""
        reply = self.send("POST", path, body, who=who)
        assert reply.told == OK, reply.body
        return reply.body

    def role(self, name: str, *rules: str, to: tuple[str, ...] = ()) -> None:
        """A role from `"allow SELECT_TABLE table rel.s.t"`, given to people."""
        objects: dict[tuple[str, str], list[dict[str, str]]] = {}
        for rule in rules:
            condition, privilege, kind, full_name = rule.split(" ")
            objects.setdefault((kind, full_name), []).append({"name": privilege, "condition": condition})
        wanted = [{"type": k, "fullName": n, "privileges": p} for (k, n), p in objects.items()]
        self.make("/roles", {"name": name, "properties": None, "securableObjects": wanted})
        for person in to:
            reply = self.send("PUT", f"/permissions/users/{person}/grant", {"roleNames": [name]})
            assert reply.told == OK, reply.body


def beside(work: Callable[[], Any]) -> Any:
    """Do something in the database that commits, as an operator at the machine's own shell would."""
    neighbours: list[Any] = []

    def run() -> None:
        try:
            neighbours.append(work())
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return neighbours[0]


def may(name: str) -> Privilege:
    """A privilege, allowed: `may("SELECT_TABLE")`."""
    return _PRIVILEGES[Privilege.Name[name]].allow()


def may_not(name: str) -> Privilege:
    """A privilege, denied."""
    return _PRIVILEGES[Privilege.Name[name]].deny()


_PRIVILEGES = Privileges._PRIVILEGE_TYPES


def ident(*parts: str) -> NameIdentifier:
    return NameIdentifier.of(*parts)


def space(*parts: str) -> Namespace:
    return Namespace.of(*parts)

"""People with clients: real ones of the package `apache-gravitino`, and bare HTTP for what it cannot say."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from functools import cache
from http.client import HTTPConnection
from typing import Any

from gravitino import GravitinoAdminClient, GravitinoClient, NameIdentifier
from gravitino.api.authorization.privileges import Privilege, Privileges
from gravitino.auth.simple_auth_provider import SimpleAuthProvider

ADMIN = "root_admin"


class As(SimpleAuthProvider):
    """Comes by name."""

    def __init__(self, name: str) -> None:
        self._token = base64.b64encode(f"{name}:dummy".encode()).decode()

    def get_token_data(self) -> bytes:
        return f"Basic {self._token}".encode()

    def has_token_data(self) -> bool:
        return True

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class Reply:
    status: int
    body: Any
    headers: Any

    @property
    def told(self) -> tuple[int, Any, Any]:
        """Status, code and type: what a client's errors are made of."""
        return self.status, self.body.get("code"), self.body.get("type")


@dataclass(frozen=True)
class Site:
    url: str

    def send(
        self, method: str, path: str, body: Any = None, *, who: str | None = ADMIN, **headers: str
    ) -> Reply:
        """One call over bare HTTP.  A body of bytes goes as it is."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if who is not None:
            headers.setdefault("Authorization", "Basic " + base64.b64encode(f"{who}:x".encode()).decode())
        headers.setdefault("Content-Type", "application/json")
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return _reply(answer)
        except urllib.error.HTTPError as error:
            with error:
                return _reply(error)


def _reply(answer: Any) -> Reply:
    content = answer.read()
    return Reply(answer.status, json.loads(content) if content else None, answer.headers)


@cache
def service_admin(site: Site) -> GravitinoAdminClient:
    return GravitinoAdminClient(site.url, auth_data_provider=As(ADMIN))


@dataclass
class Lake:
    """A metalake with its people."""

    site: Site
    name: str
    _clients: dict[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return f"/api/metalakes/{self.name}"

    def send(
        self, method: str, path: str, body: Any = None, *, who: str | None = ADMIN, **headers: str
    ) -> Reply:
        """One call over bare HTTP.  A body of bytes goes as it is; names of headers are written with `_`."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        sent = {"Content-Type": "application/json"} | {k.replace("_", "-"): v for k, v in headers.items()}
        if who is not None:
            sent.setdefault("Authorization", basic(who))
        connection = HTTPConnection(self.url.removeprefix("http://"), timeout=20)
        try:
            connection.request(method, path, data, sent)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        return Reply(answer.status, json.loads(content) if content else None, answer.headers)


def basic(name: str, password: str = "x") -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


@cache
def service_admin(site: Site) -> GravitinoAdminClient:
    return GravitinoAdminClient(site.url, auth_data_provider=As(ADMIN))


@dataclass
class Lake:
    """A metalake with its people."""

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
            self.owner.add_user(name)
        return self.client(names[-1])


def ident(*parts: str) -> NameIdentifier:
    return NameIdentifier.of(*parts)


def may(name: str) -> Privilege:
    """A privilege, allowed: `may("SELECT_TABLE")`."""
    return _PRIVILEGES[Privilege.Name[name]].allow()


def may_not(name: str) -> Privilege:
    """A privilege, denied."""
    return _PRIVILEGES[Privilege.Name[name]].deny()


_PRIVILEGES = Privileges._PRIVILEGE_TYPES

"""The calls to Ranger Admin that are made, and no others; errors by what to do next.

Ranger answers nearly every refusal with 400 and says in words what it is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from lakewarden.backends.errors import BackendError, Gone, Misconfigured, Rejected
from lakewarden.backends.network import Network
from policies.sync.backends.shared.rest import Address, Refused, Rest, by_password

SCHEME = "ranger"
SCHEMES = (f"{SCHEME}+https://", f"{SCHEME}+http://")
PORTS = {True: 6182, False: 6080}
PAGE = 200
OPTIONS = frozenset(("catalog", "instance", "beside", "ca"))
_PUBLIC = ("service", "public", "v2", "api")
_CODE = re.compile(r"error code\[(\d+)\]")
_REASON = re.compile(r"reason\[(.*?)\], field\[", re.DOTALL)


class Session:
    """One line to one service; not to be shared by threads.  Everything raises BackendError."""

    def __init__(self, url: str, network: Network) -> None:
        """From `ranger+https://user:password@host:6182/service`."""
        port = PORTS[url.startswith(SCHEMES[0])]
        self.at = Address.read(url, SCHEME, port=port, options=OPTIONS, path=1)
        if not self.at.user:
            raise Misconfigured("the URL names no account of Ranger")
        self.service_name = self.at.path[0]
        self._rest = Rest(self.at, by_password(self.at), network=network, explain=_words)

    # what is read

    def profile(self) -> dict[str, Any]:
        """Who we are there, with `userRoleList`."""
        return _as_object(self._call("GET", "service", "users", "profile"))

    def service(self) -> dict[str, Any]:
        """Our service.  Raises Misconfigured when there is none of that name."""
        service = self._named(*_PUBLIC, "service", "name", self.service_name)
        if service is None:
            raise Misconfigured(f"Ranger has no service {self.service_name}")
        return service

    def definition(self, type_: str) -> dict[str, Any]:
        """The definition of a type of service."""
        return _as_object(self._call("GET", *_PUBLIC, "servicedef", "name", type_))

    def policies(self) -> list[dict[str, Any]]:
        """All policies of the service that we may see."""
        return list(self._paged(*_PUBLIC, "policy", serviceName=self.service_name, sortBy="policyId"))

    def policy_named(self, name: str) -> dict[str, Any] | None:
        """One policy of the service; None when there is none of that name."""
        return self._named(*_PUBLIC, "service", self.service_name, "policy", name)

    def roles(self) -> list[dict[str, Any]]:
        """All roles."""
        return list(self._paged(*_PUBLIC, "roles"))

    def role_named(self, name: str) -> dict[str, Any] | None:
        """One role; None when there is none of that name, which Ranger says with 400 and words."""
        try:
            return self._named(*_PUBLIC, "roles", "name", name)
        except Gone:
            return None

    def roles_of(self, user: str) -> list[str]:
        """The names of the roles that somebody is in directly."""
        return [str(role) for role in _as_list(self._call("GET", *_PUBLIC, "roles", "user", user))]

    def users(self) -> list[dict[str, Any]]:
        """All users that Ranger knows, with their groups."""
        return list(self._paged("service", "xusers", "users", inside="vXUsers"))

    def plugins(self) -> list[dict[str, Any]]:
        """What the plugins of all services loaded, and what is in force at each."""
        return _as_list(self._call("GET", *_PUBLIC, "plugins", "info"))

    # what is written

    def make_policy(self, policy: Mapping[str, Any]) -> dict[str, Any]:
        return _as_object(self._call("POST", *_PUBLIC, "policy", body=policy))

    def put_policy(self, id_: int, policy: Mapping[str, Any]) -> dict[str, Any]:
        return _as_object(self._call("PUT", *_PUBLIC, "policy", str(id_), body=policy))

    def drop_policy(self, id_: int) -> None:
        self._call("DELETE", *_PUBLIC, "policy", str(id_))

    def make_role(self, role: Mapping[str, Any]) -> dict[str, Any]:
        return _as_object(self._call("POST", *_PUBLIC, "roles", body=role))

    def put_role(self, id_: int, role: Mapping[str, Any]) -> dict[str, Any]:
        return _as_object(self._call("PUT", *_PUBLIC, "roles", str(id_), body=role))

    def drop_role(self, id_: int) -> None:
        self._call("DELETE", *_PUBLIC, "roles", str(id_))

    @property
    def machine(self) -> str:
        """Where this leads, the same for every spelling of the host."""
        return self._rest.machine

    def close(self) -> None:
        """Let go of the line; the next call makes a new one."""
        self._rest.close()

    # how

    def _paged(self, *names: str, inside: str = "", **query_asked: str) -> Iterator[dict[str, Any]]:
        """Every row, page by page until one brings nothing new: pages may be shorter than asked for, a list
        says no total, and where pages are not known each call brings all."""
        seen: set[int] = set()
        while True:
            query = {**query_asked, "startIndex": str(len(seen)), "pageSize": str(PAGE)}
            answer = self._call("GET", *names, query=query)
            rows = _as_list(answer.get(inside) if inside and isinstance(answer, dict) else answer)
            fresh = [row for row in rows if row["id"] not in seen]
            if not fresh:
                return
            seen |= {row["id"] for row in fresh}
            yield from fresh

    def _named(self, *names: str) -> dict[str, Any] | None:
        try:
            return _as_object(self._rest.call("GET", *names))
        except Refused as refused:
            if refused.status == 404:
                return None
            raise _error(refused) from None

    def _call(
        self, method: str, *names: str, body: Any = None, query: Mapping[str, str] | None = None
    ) -> Any:
        try:
            return self._rest.call(method, *names, body=body, query=query)
        except Refused as refused:
            raise _error(refused) from None


def _error(refused: Refused) -> BackendError:
    """What to do next after a refusal, in Ranger's own words."""
    words = _words(refused.body, str(refused))
    code, reason = _CODE.search(words), _REASON.search(words)
    if refused.status == 403 or (code and code[1] == "3007"):
        return Misconfigured(words)
    names = [
        message.get("name") for message in refused.body.get("messageList") or () if isinstance(message, dict)
    ]
    if refused.status == 404 or "DATA_NOT_FOUND" in names or (not code and "does not exist" in words):
        return Gone(words)
    return Rejected(f"{reason[1]} ({code[1]})" if code and reason else words)


def _words(body: Mapping[str, Any], plain: str) -> str:
    message = body.get("msgDesc")
    return message[:2000] if isinstance(message, str) and message else plain


def _as_object(body: Any) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise Misconfigured("Ranger's answer is of another form than its documents say")
    return body


def _as_list(body: Any) -> list[Any]:
    if not isinstance(body, list):
        raise Misconfigured("Ranger's answer is of another form than its documents say")
    return body

"""What a Gravitino server answers about a metalake's access, read over its REST API for an import."""

from __future__ import annotations

import base64
import os
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any, Optional
from urllib.parse import quote

from lakewarden.client.transport import Transport, Unavailable
from lakewarden.law.objects import join_name

TYPE = "application/vnd.gravitino.v1+json"
HOLDS = {"relational": "table", "fileset": "fileset", "messaging": "topic", "model": "model"}
"""What is in the schemas of each kind of catalog."""
EACH = 100
"""After so many objects it is told how far it is."""
NOBODY = "nobody"


class Server(Transport):
    """A Gravitino server; with GRAVITINO_TOKEN, or by its simple authentication as GRAVITINO_USER."""

    def __init__(self, address: str) -> None:
        token, user = os.environ.get("GRAVITINO_TOKEN", ""), os.environ.get("GRAVITINO_USER", NOBODY)
        basic = base64.b64encode(f"{user}:dummy".encode()).decode()
        self._kind = "Bearer" if token else "Basic"
        super().__init__(address, token or basic, timeout=60.0, attempts=3, ca=None)

    def _request(
        self, method: str, path: str, content: Optional[bytes], request_id: str, etag: str
    ) -> urllib.request.Request:
        request = super()._request(method, path, content, request_id, etag)
        request.add_unredirected_header("Authorization", f"{self._kind} {self._token}")
        request.add_header("Accept", TYPE)
        return request

    def _object(self, content: bytes, kind: str, request_id: str) -> dict[str, Any]:
        return super()._object(content, "application/json" if kind == TYPE else kind, request_id)

    def ask(self, path: str, **query: str) -> dict[str, Any]:
        """What it answers.  Raises ConsoleError."""
        return self.get(path, query).value or {}


def answers(address: str, tell: Callable[[str], object] = lambda line: None) -> list[dict[str, Any]]:
    """Users, groups, each role, and the owner of each object of the metalake at an address such as
    `https://gravitino.example.org/api/metalakes/prod`.

    Raises ConsoleError: where one answer lacks there is no list, as a part of it would be taken for all.
    """
    server = Server(address)
    results = [server.ask("/users", details="true"), server.ask("/groups", details="true")]
    roles = _names(server.ask("/roles"))
    results += [server.ask(f"/roles/{quote(role, safe='')}") for role in roles]
    tell(f"{len(roles):,} roles read")
    for number, (kind, path) in enumerate(_objects(server), 1):
        full = join_name(path)
        owner = server.ask(f"/owners/{kind}/{quote(full, safe='')}").get("owner")
        if owner is not None:
            results.append({"owner": owner, "type": kind, "fullName": full})
        if number % EACH == 0:
            tell(f"{number:,} objects read")
    return results


def _objects(server: Server) -> Iterator[tuple[str, tuple[str, ...]]]:
    for catalog in _identified(server.ask("/catalogs")):
        place = f"/catalogs/{quote(catalog, safe='')}"
        kind = server.ask(place).get("catalog", {}).get("type", "")
        yield "catalog", (catalog,)
        for schema in _identified(server.ask(f"{place}/schemas")):
            yield "schema", (catalog, schema)
            leaf = HOLDS.get(str(kind).lower())
            if leaf is None:
                raise Unavailable(f"{server.url} has catalog {catalog} of a kind that is not known: {kind}")
            inside = server.ask(f"{place}/schemas/{quote(schema, safe='')}/{leaf}s")
            yield from ((leaf, (catalog, schema, name)) for name in _identified(inside))


def _names(answer: dict[str, Any]) -> list[str]:
    names = answer.get("names")
    if not isinstance(names, list):
        raise Unavailable("the server's answer is not a list of names")
    return [str(name) for name in names]


def _identified(answer: dict[str, Any]) -> list[str]:
    try:
        return [str(each["name"]) for each in answer["identifiers"]]
    except (KeyError, TypeError):
        raise Unavailable("the server's answer is not a list of objects") from None

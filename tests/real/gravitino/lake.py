"""A metalake of the real server as the contract suite of backends sees it: filesets play the tables."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote

from lakewarden.backends.base import Right
from lakewarden.backends.testing.kit import READS, WRITES
from tests.api_gravitino.world import basic
from tests.peers import worlds
from tests.peers.site import ADMIN, Said, new_name

WORDS = {READS: "READ_FILESET", WRITES: "WRITE_FILESET"}


def on(schema: str, name: str, *deeds: str) -> frozenset[Right]:
    """Privileges on a fileset and the way to it."""
    way = (Right("catalog", (), "USE_CATALOG"), Right("schema", (schema,), "USE_SCHEMA"))
    return frozenset((*way, *(Right("fileset", (schema, name), WORDS[deed]) for deed in deeds)))


class There:
    """The server, asked by name over a line of its own."""

    def __init__(self, port: int) -> None:
        self.port = port

    def send(self, method: str, path: str, body: Any = None, *, who: str = ADMIN) -> Said:
        line = HTTPConnection("127.0.0.1", self.port, timeout=120)
        headers = {"Content-Type": "application/json", "Authorization": basic(who)}
        try:
            line.request(method, path, None if body is None else json.dumps(body), headers)
            answer = line.getresponse()
            return Said(answer.status, json.loads(answer.read() or b"{}"))
        finally:
            line.close()


class Lake(worlds.Lake):
    """A metalake with one catalog of filesets."""

    def __init__(self, there: There, folder: str) -> None:
        self.peer, self.name, self.realm = there, new_name("lake"), "here"  # type: ignore[assignment]
        self.mark = new_name("contract-")
        self.do("POST", "/api/metalakes", {"name": self.name, "comment": "", "properties": {}})
        properties = {"location": f"file://{folder}/{self.name}"}
        self.make("/catalogs", name=worlds.CATALOG, type="fileset", provider="fileset", properties=properties)

    def table(self, schema: str, name: str) -> None:
        self.make(self._tables(schema), name=name, type="managed")

    def may(self, person: str, deed: str, schema: str, table: str) -> bool:
        """Ask over there, as that person; an alteration by nothing is refused or found to be empty."""
        path = f"/api/metalakes/{self.name}{self._tables(schema)}/{quote(table, safe='')}"
        method, body = ("PUT", {"updates": []}) if deed == WRITES else ("GET", None)
        response = self.peer.send(method, path, body, who=person)
        assert response.status in (200, 400, 403), response
        return bool(response.status != 403)

    def _tables(self, schema: str) -> str:
        return f"/catalogs/{worlds.CATALOG}/schemas/{quote(schema, safe='')}/filesets"

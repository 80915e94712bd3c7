"""A Trino of one node on loopback, its plug-in for Open Policy Agent, and the gate that adds our token."""

from __future__ import annotations

import http.client
import json
import tarfile
import threading
import urllib.request
from collections import Counter
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.real.artifacts import pinned
from tests.real.servers import Server, free_port, java_of

PLUGINS = ("opa", "postgresql", "memory", "geospatial")  # PostgreSQL has a type of the last
QUESTIONS = {
    "opa.policy.uri": "allow",
    "opa.policy.batched-uri": "batch",
    "opa.policy.row-filters-uri": "rowFilters",
    "opa.policy.batch-column-masking-uri": "batchColumnMasks",
}
BOUNDS = ("-Xmx768m", "-XX:MaxMetaspaceSize=384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class Refused(Exception):
    """What Trino says of a statement that it does not run."""


class Gate:
    """Passes the plug-in's questions on with the token of a service, as a proxy beside Trino does."""

    def __init__(self, site: str, token: str) -> None:
        self.site, self.token, self.open = site, token, True
        self.asked: Counter[str] = Counter()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/data/trino"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        gate = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, answer = gate.pass_on(self.path, body) if gate.open else (502, b"")
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                """The tests look at what comes of it."""

        return Handler

    def pass_on(self, path: str, body: bytes) -> tuple[int, bytes]:
        self.asked[json.loads(body)["input"]["action"]["operation"]] += 1
        line = http.client.HTTPConnection(self.site.removeprefix("http://"), timeout=60)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        try:
            line.request("POST", path, body, headers)
            answer = line.getresponse()
            return answer.status, answer.read()
        finally:
            line.close()


class Trino(Server):
    """Coordinator and worker in one process; `catalogs` are the properties of each, by its name."""

    def __init__(self, questions: str, query: str, catalogs: Mapping[str, Mapping[str, object]]) -> None:
        program = java_of(24) or pytest.skip("Trino wants Java 24 or newer")
        [archive] = pinned("trino")
        if not archive.kept.exists():
            pytest.skip("Trino is not in the cache; `make real ONLY=trino` fetches it")
        super().__init__("trino")
        self._unpack(archive.fetch())
        self.port = free_port()
        self._write("config", self._settings())
        rules = {name: f"{questions}/{path}{query}" for name, path in QUESTIONS.items()}
        self._write("access-control", {"access-control.name": "opa", **rules})
        for name, properties in catalogs.items():
            self._write(f"catalog/{name}", properties)
        options = ["-Dconfig=etc/config.properties", f"-Dnode.data-dir={self.home}/data"]
        opened = ["--add-opens=java.base/java.nio=ALL-UNNAMED", "--enable-native-access=ALL-UNNAMED"]
        self.run([program, *BOUNDS, *options, *opened, "-cp", "lib/*", "io.trino.server.TrinoServer"])
        self.wait(self._answers, seconds=300)

    def _unpack(self, archive: object) -> None:
        """Its libraries and the plug-ins that are used; files of these may be links to those of others."""
        with tarfile.open(archive) as packed:  # type: ignore[call-overload]
            packed.extractall(self.home / "all", filter="data")
        [whole] = (self.home / "all").iterdir()
        for name in ("lib", "secrets-plugin"):
            (self.home / name).symlink_to(whole / name)
        (self.home / "plugin").mkdir()
        for name in PLUGINS:
            (self.home / "plugin" / name).symlink_to(whole / "plugin" / name)

    def _settings(self) -> dict[str, object]:
        return {
            "coordinator": "true",
            "node-scheduler.include-coordinator": "true",
            "http-server.http.port": self.port,
            "discovery.uri": f"http://127.0.0.1:{self.port}",
            "node.environment": "test",
            "node.internal-address": "127.0.0.1",
            "query.max-memory": "200MB",
            "query.max-memory-per-node": "100MB",
            "memory.heap-headroom-per-node": "100MB",
        }

    def _write(self, name: str, properties: Mapping[str, object]) -> None:
        path = self.home / "etc" / f"{name}.properties"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))

    def _answers(self) -> bool:
        return self._get(f"http://127.0.0.1:{self.port}/v1/info")["starting"] is False

    def _get(self, url: str, statement: str | None = None, **headers: str) -> dict[str, Any]:
        data = statement.encode() if statement is not None else None
        request = urllib.request.Request(url, data, headers)  # noqa: S310 - loopback
        with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310
            return dict(json.load(answer))

    def query(self, user: str, statement: str, *, as_: str = "") -> list[list[Any]]:
        """The rows, by Trino's own protocol, for oneself or in another's name.  Raises Refused."""
        url = f"http://127.0.0.1:{self.port}/v1/statement"
        headers = {"X-Trino-User": as_, "X-Trino-Original-User": user} if as_ else {"X-Trino-User": user}
        answer = self._get(url, statement, **headers)
        rows: list[list[Any]] = []
        while True:
            if "error" in answer:
                raise Refused(f"{answer['error']['errorName']}: {answer['error']['message']}")
            rows += answer.get("data") or []
            if "nextUri" not in answer:
                return rows
            answer = self._get(answer["nextUri"], **headers)

    def lets(self, user: str, statement: str) -> bool:
        """Whether it runs; a failure that is no refusal is an error."""
        try:
            self.query(user, statement)
        except Refused as refusal:
            if not str(refusal).startswith(("PERMISSION_DENIED", "TABLE_NOT_FOUND", "SCHEMA_NOT_FOUND")):
                raise
            return False
        return True

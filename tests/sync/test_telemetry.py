"""One id, and one trace, from a call over the worker to the system behind; and nobody's names in it."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from redis import Redis

from accounts import people, tokens
from catalog.nodes import Node
from policies.sync import worker
from tests.client.test_process import Process
from tests.factories import admit, owned
from tests.sync.conftest import Source, make_governed, make_members
from tests.sync.test_worker_process import Worker
from tests.waiting import PATIENCE, until

ASKED = "pipeline-7/step.3"
TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
ROUTE = "PUT /^api(?:/.*)?$"
"""All calls of Gravitino's API have one route."""
NAMES = (b"ana", b"olivia", b"marek", b"sales_read", b"orders", b"demo", b"secret")


class Collector(ThreadingHTTPServer):
    """Takes spans as a collector does, and keeps what came."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Collect)
        self.bodies: list[bytes] = []

    def of_trace(self, name: str) -> list[Any]:
        """The spans of that name in the trace that the caller began."""
        return [
            span
            for body in list(self.bodies)
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
            if span.name == name and span.trace_id.hex() == TRACE
        ]


class _Collect(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def shop(transactional_db: None, redis_url: str, source: Source) -> Node:
    """A metalake with a database that is in sync, so that a worker finds nothing else to do."""
    root = make_members()
    row = make_governed(source, root)
    people.ensure("user", "marek")
    admit(root, "marek")
    owned(root, "marek")
    assert worker.now(row).settled
    Redis.from_url(redis_url).flushall()
    return root


@pytest.fixture
def site(
    shop: Node, collector: Collector, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Process]:
    """A web server and a worker that send their spans to the collector."""
    monkeypatch.setenv("LAKEWARDEN_TRACES", f"http://127.0.0.1:{collector.server_port}/v1/traces")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
    monkeypatch.setenv("REDIS_URL", redis_url)
    web, tasks = Process(), Worker(redis_url, beat=False)
    tasks.start()
    web.start()
    yield web
    web.kill()
    tasks.kill()


def test_a_grant_is_one_trace_from_its_call_to_the_worker_and_names_nobody(
    site: Process, source: Source, collector: Collector
) -> None:
    source.run("ALTER SYSTEM SET log_line_prefix = 'called %a: '")
    source.run("SELECT pg_reload_conf()")
    source.run(f"ALTER DATABASE {source.database} SET log_statement = 'ddl'")
    body = json.dumps({"roleNames": ["sales_read"]}).encode()
    address = f"http://127.0.0.1:{site.port}/api/metalakes/demo/permissions/users/ana/grant"
    headers = {
        "Authorization": f"Bearer {tokens.create(people.ensure('user', 'marek'))}",
        "Content-Type": "application/json",
    }
    headers |= {"X-Request-ID": ASKED, "traceparent": f"00-{TRACE}-{CALLER}-01"}
    call = urllib.request.Request(address, body, headers, method="PUT")
    with urllib.request.urlopen(call, timeout=PATIENCE) as answer:  # noqa: S310 - the test's own server
        assert answer.headers["X-Request-ID"] == ASKED
    until(lambda: collector.of_trace(ROUTE) and collector.of_trace("policies.tasks.deliver"))
    [request], [task, *_] = collector.of_trace(ROUTE), collector.of_trace("policies.tasks.deliver")
    assert request.parent_span_id.hex() == CALLER
    assert {_attribute(span, "lakewarden.request_id") for span in (request, task)} == {ASKED}
    inserts = [span for span in collector.of_trace("INSERT") if span.parent_span_id == request.span_id]
    assert len(inserts) == len({span.start_time_unix_nano for span in inserts}) > 0
    log = source.server.home / "log"
    until(lambda: f"called lakewarden {ASKED}: LOG:  statement: GRANT" in log.read_text(), log.read_text)
    source.run("ALTER SYSTEM RESET log_line_prefix")
    assert [name for name in NAMES for body in collector.bodies if name in body] == []


def _attribute(span: Any, name: str) -> str:
    return next(item.value.string_value for item in span.attributes if item.key == name)

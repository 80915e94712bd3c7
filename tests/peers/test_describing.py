"""Bringing objects here: what the other side refuses to tell is not taken for nothing to tell."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from lakewarden.backends.base import FoundObject, Observation
from lakewarden.backends.errors import Misconfigured
from policies.sync.backends.gravitino import kind as gravitino
from policies.sync.connections.needs import needed

ORDERS = FoundObject("table", ("shop", "sales", "orders"), "shop.sales.orders")
SEEN = Observation(True, "", (ORDERS,), frozenset(), {}, {})


@pytest.fixture
def refusing() -> Iterator[Callable[[int], str]]:
    """The address of a server that refuses each call with a status."""
    servers = []

    def start(status: int) -> str:
        class Refuses(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = json.dumps({"code": 1, "message": "not for you"}).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Refuses)
        servers.append(server)
        Thread(target=server.serve_forever, daemon=True).start()
        return f"gravitino+http://sam:secret@127.0.0.1:{server.server_port}/lake"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_what_went_since_it_was_listed_is_left_as_it_was_listed(refusing: Callable[[int], str]) -> None:
    lake = gravitino.open(refusing(404), realm="demo", mark="peer", **needed(gravitino.KIND, None, "peer"))
    assert lake.describe(SEEN) == SEEN  # type: ignore[attr-defined]
    lake.close()


def test_what_may_not_be_read_stops_the_reading(refusing: Callable[[int], str]) -> None:
    lake = gravitino.open(refusing(403), realm="demo", mark="peer", **needed(gravitino.KIND, None, "peer"))
    with pytest.raises(Misconfigured, match="not for you"):
        lake.describe(SEEN)  # type: ignore[attr-defined]
    lake.close()

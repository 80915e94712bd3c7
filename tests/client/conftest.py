"""A console that answers as it is told, over a real socket."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from lakewarden.client import Client

TOKEN = "lw_s3cret0123456789"

Script = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    disable_nagle_algorithm = True  # or each answer's second part waits 40 ms
    server: Peer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.path, json.loads(body), self.headers))
        self.follow()

    def do_GET(self) -> None:
        self.server.asked.append((self.path, None, self.headers))
        self.follow()

    def follow(self) -> None:
        scripts = self.server.scripts or [answer({"decision": True})]
        (scripts.pop(0) if len(scripts) > 1 else scripts[0])(self)

    def log_message(self, *args: Any) -> None:
        pass


class Peer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, Any, Message]] = []
        self.scripts: list[Script] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def client(self, **options: Any) -> Client:
        return Client(self.url, TOKEN, **{"timeout": 120.0, "attempts": 3, **options})

    def handle_error(self, *args: Any) -> None:
        pass  # a client that gave up is what some tests are about


def answer(value: object, status: int = 200, **headers: str) -> Script:
    return raw(json.dumps(value).encode(), status, **headers)


def raw(content: bytes, status: int = 200, kind: str = "application/json", **headers: str) -> Script:
    def send(handler: Handler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    return send


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LAKEWARDEN_URL", "LAKEWARDEN_TOKEN", "LAKEWARDEN_CA", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def console() -> Iterator[Peer]:
    with Peer() as peer:
        thread = threading.Thread(target=peer.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield peer
        peer.shutdown()
        thread.join()

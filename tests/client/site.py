"""A console that goes away and comes back, at one address: the whole site behind a socket."""

from __future__ import annotations

import time

from django.test.testcases import LiveServerThread, QuietWSGIRequestHandler, _StaticFilesHandler

from lakewarden.client import Client
from tests.ports import free_port
from tests.servers import TestServer


class Again(LiveServerThread):
    """Takes the very port that the one before it had."""

    def _create_server(self, connections_override: object = None) -> TestServer:
        return TestServer((self.host, self.port), QuietWSGIRequestHandler, allow_reuse_address=True)


class Site:
    """Serves the site of these tests; `stop` takes it away, `start` brings it back."""

    def __init__(self) -> None:
        self.port = free_port()
        self._thread: Again | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        thread = Again("127.0.0.1", _StaticFilesHandler, port=self.port)
        thread.daemon = True
        thread.start()
        thread.is_ready.wait()
        if thread.error:
            raise thread.error
        self._thread = thread

    def stop(self) -> None:
        if self._thread is None:
            return
        server = self._thread.httpd
        self._thread.terminate()
        self._thread = None
        server.hang_up()

    def client(self, token: str) -> Client:
        return Client(self.url, token, timeout=60, attempts=1)


class Clock:
    """The time of day, as far ahead as a test says."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead

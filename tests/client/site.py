"""A console that goes away and comes back, at one address: the whole site behind a socket."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

from django.core.servers.basehttp import ThreadedWSGIServer
from django.test.testcases import LiveServerThread, QuietWSGIRequestHandler, _StaticFilesHandler

from lakewarden.client import Client


class Server(ThreadedWSGIServer):
    """Knows the threads that answer its requests; other servers of the process have their own."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.answering: list[threading.Thread] = []

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        self.answering.append(threading.current_thread())
        super().process_request_thread(request, client_address)


class Again(LiveServerThread):
    """Takes the very port that the one before it had."""

    def _create_server(self, connections_override: object = None) -> Server:
        return Server((self.host, self.port), QuietWSGIRequestHandler, allow_reuse_address=True)


class Site:
    """Serves the site of these tests; `stop` takes it away, `start` brings it back."""

    def __init__(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self.port = int(taken.getsockname()[1])
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
        for thread in server.answering:
            thread.join(10)

    def client(self, token: str) -> Client:
        return Client(self.url, token, timeout=60, attempts=1)


class Clock:
    """The time of day, as far ahead as a test says."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead

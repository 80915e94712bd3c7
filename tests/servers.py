"""Servers of tests: they end a connection with the test that opened it, however long its client keeps it."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Any

from django.core.servers.basehttp import ThreadedWSGIServer

PATIENCE = 120.0
"""Seconds for an answer that is still being worked out."""


class TestServer(ThreadedWSGIServer):
    """Knows the connections it answers; other servers of the process have their own."""

    __test__ = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._answering: dict[threading.Thread, socket.socket] = {}

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        thread = threading.current_thread()
        self._answering[thread] = request
        try:
            super().process_request_thread(request, client_address)
        finally:
            del self._answering[thread]

    def hang_up(self) -> None:
        """Answer what was asked and end; with a thread ends its own connection to the database."""
        answering = dict(self._answering)
        for connection in answering.values():
            with contextlib.suppress(OSError):  # its client was faster
                connection.shutdown(socket.SHUT_RD)
        for thread in answering:
            thread.join(PATIENCE)
            assert not thread.is_alive(), f"{thread.name} still answers after {PATIENCE} s"

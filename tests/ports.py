"""Ports for what other processes serve: nobody else is given them, at once or later."""

from __future__ import annotations

import random
import socket
from contextlib import suppress

AMONG = range(20_000, 32_000)
"""Below those that the kernel gives to connections that go out, which may take any free one at any moment."""
_chance = random.SystemRandom()


def free_port() -> int:
    """A port of this machine where nobody listens; while this process lives no other test is given it."""
    while True:
        port = _chance.choice(AMONG)
        with suppress(OSError):
            _take(port)
            return port


def _take(port: int) -> None:
    """Raises OSError where it is taken."""
    mark = socket.socket(socket.AF_UNIX)
    try:
        mark.bind(f"\0lakewarden-tests-port-{port}")  # a name that goes with the process
        with socket.socket() as trial:
            trial.bind(("127.0.0.1", port))
    except OSError:
        mark.close()
        raise
    mark.detach()  # stays open as long as the process

"""Deadlines on this side of the line, for whatever is asked of another system."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from lakewarden.backends.errors import NotAnswering
from policies.sync.runs import lease

LONGEST = 40.0
"""Seconds for one statement or call; what hangs is told within a minute, connecting included."""


@contextmanager
def answered_within(seconds: float, line: Callable[[], Any], place: str) -> Iterator[None]:
    """Cut the socket that `line` tells when the block takes longer.  Raises NotAnswering.

    A time-out of the socket itself is not enough: it begins anew with each byte of an answer that drips.
    """
    lease.still_ours()
    expired = threading.Event()

    def cut() -> None:
        expired.set()
        shut(line())

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Exception as error:
        if expired.is_set():
            raise NotAnswering(f"{place} gave no answer within {seconds:.0f} seconds") from error
        raise
    finally:
        timer.cancel()


def shut(line: Any) -> None:
    """End a connection for whoever waits on it in another thread; closing it would not wake them."""
    if line is not None:
        with suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)

"""Deadlines on this side of the line, for whatever is asked of another system.

Who works on a backend may lose it while a call hangs.  So the console hands in, by `asking_before`, a
question that is asked before each call to the backend; where it raises, nothing more is done.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

from lakewarden.backends.errors import NotAnswering

LONGEST = 40.0
"""Seconds for one statement or call; what hangs is told within a minute, connecting included."""


def _nothing() -> None:
    """Outside of a run nothing has to be asked."""


_question: ContextVar[Callable[[], None]] = ContextVar("before_call", default=_nothing)


@contextmanager
def asking_before(question: Callable[[], None]) -> Iterator[None]:
    """Ask this before each call that is made inside; it raises when no call is to be made any more."""
    token = _question.set(question)
    try:
        yield
    finally:
        _question.reset(token)


def before_call() -> None:
    """Whatever calls another system calls this first.  Raises what the question raises."""
    _question.get()()


@contextmanager
def answered_within(seconds: float, line: Callable[[], Any], place: str) -> Iterator[None]:
    """Cut the socket that `line` tells when the block takes longer.  Raises NotAnswering.

    A time-out of the socket itself is not enough: it begins anew with each byte of an answer that drips.
    """
    before_call()
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

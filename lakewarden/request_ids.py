"""The id of the request that this thread works for: in log lines, in tasks and in calls to other systems."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

HEADER = "X-Request-ID"
_WELL_FORMED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/+=-]{0,63}")
_current: ContextVar[str] = ContextVar("request_id", default="")


def current() -> str:
    """The id of the request that is worked for, empty outside of any."""
    return _current.get()


def of_caller(sent: str | None) -> str:
    """The id that a caller sent, or a new one when there is none that a log line can hold."""
    return sent if sent and _WELL_FORMED.fullmatch(sent) else uuid.uuid4().hex


def work_for(request_id: str) -> None:
    """All that this thread does from now on is done for this request; empty ends that."""
    _current.set(request_id)


@contextmanager
def working_for(request_id: str) -> Iterator[None]:
    """The same for the block alone."""
    before = _current.set(request_id)
    try:
        yield
    finally:
        _current.reset(before)

"""Connections to PostgreSQL that never wait without end for a server, proxy or network that hangs.

`statement_timeout` lives in the server and a keepalive is answered by a kernel, so neither ends the wait for
somebody who took the call and says nothing.  These bound the wait on this side of the line.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.errors import _WaitTimeout
from psycopg.rows import TupleRow

INTERVAL = 0.1
_patience: ContextVar[float | None] = ContextVar("patience", default=None)


class TookTooLong(psycopg.OperationalError):
    """The server was asked and did not answer in time; the connection is closed."""


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Wait at most so long for each answer inside, and for a new connection."""
    token = _patience.set(seconds)
    try:
        yield
    finally:
        _patience.reset(token)


class BoundedConnection(psycopg.Connection[TupleRow]):
    """Waits for each answer as long as `limit` says; None is for ever."""

    limit: float | None = None

    def wait(self, gen: Any, interval: float = INTERVAL, timeout: float | None = None) -> Any:
        limit = timeout if timeout is not None else _patience.get() or self.limit
        try:
            return super().wait(gen, interval, limit)
        except _WaitTimeout:
            self.pgconn.finish()
            raise TookTooLong(f"no answer within {limit:.0f} seconds") from None


class _Steps(Generator[Any, Any, Any]):
    """A wait that can be taken up again after a pause; it counts how often something came or went."""

    def __init__(self, gen: Any) -> None:
        self.moved = 0
        self._gen, self._awaits = gen, None

    def __next__(self) -> Any:
        if self._awaits is None:
            self._awaits = next(self._gen)
        return self._awaits

    def send(self, ready: int) -> Any:
        self.moved += bool(ready)
        self._awaits = self._gen.send(ready)
        return self._awaits

    def throw(self, *problem: Any) -> Any:
        return self._gen.throw(*problem)


class WatchedConnection(BoundedConnection):
    """Goes on waiting while the server still works on the statement, which another connection finds out.

    A change that waits for the writers' lock, or a long report, is no trouble; a server that does not answer
    anybody, or that finished long ago and was not heard, is.
    """

    looks_after = 3.0
    asks_for = 2.0
    hears_within = 0.5
    answered = float("-inf")
    """When the server said something last, as `time.monotonic` counts."""

    def wait(self, gen: Any, interval: float = INTERVAL, timeout: float | None = None) -> Any:
        if timeout is not None or _patience.get() is not None:
            return super().wait(gen, interval, timeout)
        steps, looks_after, given_up = _Steps(gen), self.looks_after, False
        while True:
            before = steps.moved
            try:
                answer = psycopg.Connection.wait(self, steps, interval, looks_after)
                self.answered = time.monotonic()
                return answer
            except _WaitTimeout:
                if steps.moved != before or self._is_worked_on():
                    looks_after, given_up = self.looks_after, False
                elif not given_up:
                    # the answer may have come while we asked
                    looks_after, given_up = self.hears_within, True
                else:
                    self.pgconn.finish()
                    raise TookTooLong("the database does not answer") from None

    def _is_worked_on(self) -> bool:
        """Whether the server says, twice within a moment, that it is at our statement still."""
        query = "SELECT state FROM pg_stat_activity WHERE pid = %s"
        pid = self.pgconn.backend_pid
        try:
            info = make_conninfo(self.info.dsn, password=self.info.password or None)
            with patience(self.asks_for), BoundedConnection.connect(info, connect_timeout=2) as other:
                for _ in range(2):
                    row = other.execute(query, [pid]).fetchone()
                    if row is not None and row[0] in ("active", "fastpath function call"):
                        return True
                    time.sleep(INTERVAL)
        except psycopg.Error:
            return False
        return False

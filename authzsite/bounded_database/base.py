import select
import time
from typing import Any

import psycopg
from django.db.backends.postgresql import base

from policies.sync.backends.shared.bounded_connection import WatchedConnection, patience

USABLE_WITHIN = 1.0
"""Seconds in which a connection that was kept must show that it still works, before a new one is made."""
HEARD_WITHIN = 1.0
"""A connection that answered so many seconds ago is not asked whether it still works."""


class _Driver:
    """psycopg, but for the class of its connections."""

    connect = WatchedConnection.connect

    def __getattr__(self, name: str) -> Any:
        return getattr(psycopg, name)


class DatabaseWrapper(base.DatabaseWrapper):
    Database = _Driver()  # type: ignore[assignment]

    def is_usable(self) -> bool:
        if self._answered_just_now():
            return True
        with patience(USABLE_WITHIN):
            return bool(super().is_usable())

    def _answered_just_now(self) -> bool:
        """Without a question: a server that hangs up, even one that is killed, is heard on the line."""
        line = self.connection
        if not isinstance(line, WatchedConnection) or line.closed:
            return False
        if time.monotonic() - line.answered > HEARD_WITHIN:
            return False
        # between two statements a healthy server says nothing
        poll = select.poll()
        poll.register(line.fileno(), select.POLLIN)
        return not poll.poll(0)

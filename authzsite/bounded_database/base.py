import select
import time
from typing import Any, Self

import psycopg
from django.db.backends.postgresql import base
from django.db.backends.postgresql.schema import DatabaseSchemaEditor

from accounts.migrations._beside_older import LOCK_WITHIN
from policies.sync.backends.shared.bounded_connection import WatchedConnection, patience

USABLE_WITHIN = 1.0
"""Seconds in which a connection that was kept must show that it still works, before a new one is made."""
HEARD_WITHIN = 1.0
"""A connection that answered so many seconds ago is not asked whether it still works."""
WRITES = 1
"""The form in which this version writes sealed rows.  Who changes the form raises it, and has the database
refuse the older one (accounts/migrations/_beside_older.py)."""
_BEGIN = """
SELECT set_config('lakewarden.writes', %s, false),
       CASE WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')
            THEN set_config('synchronous_commit', 'on', false) END
"""


class _Driver:
    """psycopg, but for the class of its connections."""

    connect = WatchedConnection.connect

    def __getattr__(self, name: str) -> Any:
        return getattr(psycopg, name)


LOCKED = "55P03"
"""What PostgreSQL says to who waited for a lock as long as was allowed."""


class SchemaEditor(DatabaseSchemaEditor):
    """Of a migration: who waits behind it for a table waits no longer than it does."""

    def __enter__(self) -> Self:
        super().__enter__()
        if self.atomic_migration:
            with self.connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_WITHIN}'")
        return self


class DatabaseWrapper(base.DatabaseWrapper):
    SchemaEditorClass = SchemaEditor
    Database = _Driver()  # type: ignore[assignment]

    def init_connection_state(self) -> None:
        """What is acknowledged is on disk, also where the server, the database or the role says otherwise."""
        super().init_connection_state()
        with self.cursor() as cursor:
            cursor.execute(_BEGIN, [str(WRITES)])

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

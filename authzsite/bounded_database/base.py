from typing import Any

import psycopg
from django.db.backends.postgresql import base

from policies.sync.backends.shared.bounded_connection import WatchedConnection, patience

USABLE_WITHIN = 1.0
"""Seconds in which a connection that was kept must show that it still works, before a new one is made."""


class _Driver:
    """psycopg, but for the class of its connections."""

    connect = WatchedConnection.connect

    def __getattr__(self, name: str) -> Any:
        return getattr(psycopg, name)


class DatabaseWrapper(base.DatabaseWrapper):
    Database = _Driver()  # type: ignore[assignment]

    def is_usable(self) -> bool:
        with patience(USABLE_WITHIN):
            return bool(super().is_usable())

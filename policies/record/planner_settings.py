"""How the database plans what it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def planned_anew() -> Iterator[None]:
    """Within, each statement is planned for the values it is asked with, however often it was asked before.

    Elsewhere one that comes again and again gets one plan for all values.  Where the best way turns on how
    frequent a value is, or on how much of a table a range leaves, that a plan may read a whole index.
    """
    connection.ensure_connection()
    held = connection.connection
    kept, held.prepare_threshold = held.prepare_threshold, None
    try:
        yield
    finally:
        held.prepare_threshold = kept

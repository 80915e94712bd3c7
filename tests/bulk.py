"""Facts for tests that need very many, or some that no service makes: sealed, and past the door."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection

from accounts.record import Fact
from accounts.seals import seal_fact
from policies.changes import _numbers_for


def put(rows: Sequence[Fact], opened: int) -> None:
    """Write facts of one model as the writer would, but for the change that says so."""
    if not rows:
        return
    table = rows[0]._meta.db_table
    for row, number in zip(rows, _numbers_for(rows), strict=True):
        row.pk, row.opened = number, opened
        seal_fact(row)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
    type(rows[0]).objects.bulk_create(rows, batch_size=5000)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")

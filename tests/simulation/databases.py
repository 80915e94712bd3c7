"""The whole database at a moment, so that two moments can be compared."""

from __future__ import annotations

from django.db import connection


def contents() -> dict[str, str]:
    """A digest of every row of every table, and the last number of every sequence."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_stat_user_tables WHERE schemaname = 'public'")
        tables = [name for (name,) in cursor.fetchall()]
        by_table = {}
        for name in tables:
            cursor.execute(
                f"SELECT md5(coalesce(string_agg(t::text, E'\\n' ORDER BY t::text), '')) FROM \"{name}\" t"
            )
            [by_table[name]] = cursor.fetchone()
        cursor.execute("SELECT sequencename, last_value::text FROM pg_sequences WHERE schemaname = 'public'")
        return by_table | dict(cursor.fetchall())

"""Whether a call changed anything: the whole database as one digest for each table."""

from __future__ import annotations

from functools import cache

from django.db import connection

NOTED = frozenset({
    "policies_accessrecord",  # that somebody looked or was refused
    "policies_accesscounter",
    "policies_accessrepeat",
    "policies_use",
    "accounts_token",  # when it was last used
    "django_session",
})  # fmt: skip
"""Where it is written down that somebody called, whatever became of the call."""


@cache
def _statement() -> str:
    tables = sorted(set(connection.introspection.table_names()) - NOTED)
    each = (
        "SELECT '{0}', md5(coalesce(string_agg(md5(t::text), '' ORDER BY md5(t::text)), '')) FROM \"{0}\" t"
    )
    return " UNION ALL ".join(each.format(name) for name in tables)


def digests() -> dict[str, str]:
    """A digest of the rows of each table, by its name."""
    with connection.cursor() as cursor:
        cursor.execute(_statement())
        return dict(cursor.fetchall())

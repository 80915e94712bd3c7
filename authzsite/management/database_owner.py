"""The user who owns the site's tables, where it is another one than the site enters its database as."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connection
from psycopg import sql

WRITES = "SELECT, INSERT, UPDATE, DELETE"
LESS = {
    "django_migrations": "SELECT",
    "policies_change": "SELECT, INSERT",
    "policies_event": "SELECT, INSERT, DELETE",  # what an archive holds goes
    "policies_accessrecord": "SELECT, INSERT",
}
"""What the site may do with some tables; with all others it may do WRITES."""


@contextmanager
def entered_as_owner() -> Iterator[None]:
    """Within it the database is entered as the user of DATABASE_OWNER_URL, where that is set."""
    owner = settings.LAKEWARDEN_DATABASE_OWNER
    if not owner:
        yield
        return
    site = {name: connection.settings_dict[name] for name in owner}
    connection.close()
    connection.settings_dict.update(owner)
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict.update(site)


def let_site_in(user: str) -> None:
    """Give a user what the site needs of each table, and take what they had more; for the tables' owner."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tablename FROM pg_tables"
            " WHERE schemaname = current_schema() AND tableowner = current_user"
        )
        names = [name for (name,) in cursor.fetchall()]
        site = sql.Identifier(user)
        for name in names:
            table = sql.Identifier(name)
            rights = sql.SQL(LESS.get(name, WRITES))
            cursor.execute(sql.SQL("REVOKE ALL ON {} FROM {}").format(table, site))
            cursor.execute(sql.SQL("GRANT {} ON {} TO {}").format(rights, table, site))
        cursor.execute(sql.SQL("SELECT current_schema()"))
        schema = sql.Identifier(cursor.fetchone()[0])
        cursor.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(schema, site))
        cursor.execute(
            sql.SQL("GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA {} TO {}").format(schema, site)
        )

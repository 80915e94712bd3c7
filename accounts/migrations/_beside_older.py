"""What migrations are made of that run while processes of an older version still work (docs/development/releasing.md)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import migrations, transaction

LOCK_WITHIN = "1s"
"""Who waits longer for a table lets all pass who wait behind it; `manage.py migrate` tries again."""
FUNCTION = """
CREATE OR REPLACE FUNCTION lakewarden_refuse_older() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF coalesce(nullif(current_setting('lakewarden.writes', true), ''), '0')::int >= TG_ARGV[0]::int THEN
        RETURN NEW;
    END IF;
    -- of the class of a server that takes nothing now, which every version answers with 503 and a moment to wait
    RAISE EXCEPTION 'this process is older than what the database holds; % is written by newer ones alone', TG_TABLE_NAME
        USING ERRCODE = 'cannot_connect_now', HINT = 'Restart it with the new version.';
END $$"""
# who writes again what is there writes nothing that a seal covers: a sync remembers where it leads
TRIGGERS = """
CREATE OR REPLACE TRIGGER no_older_row BEFORE INSERT ON {table}
    FOR EACH ROW EXECUTE FUNCTION lakewarden_refuse_older({form});
CREATE OR REPLACE TRIGGER no_older_edition BEFORE UPDATE OF {columns} ON {table}
    FOR EACH ROW WHEN (ROW({before}) IS DISTINCT FROM ROW({after}))
    EXECUTE FUNCTION lakewarden_refuse_older({form})"""


class NotByOlder(migrations.RunSQL):
    """A process of an older version writes none of those columns any more, and no new row.

    It would write them without a seal, or an edition, that it does not know, so that they passed for written
    outside the console.  Each connection of the site says in `lakewarden.writes` which form it writes
    (authzsite/bounded_database).  This comes before a table is sealed: what is there then is all there is.
    """

    def __init__(self, table: str, columns: tuple[str, ...], form: int) -> None:
        names = [f'"{column}"' for column in columns]
        sql = TRIGGERS.format(
            table=table,
            form=form,
            columns=", ".join(names),
            before=", ".join(f"OLD.{name}" for name in names),
            after=", ".join(f"NEW.{name}" for name in names),
        )
        undo = "".join(f"DROP TRIGGER IF EXISTS {name} ON {table};" for name in ("no_older_row", "no_older_edition"))
        super().__init__(f"{FUNCTION};{sql}", undo)
        self.given = (table, columns, form)

    def deconstruct(self) -> Any:
        return self.__class__.__qualname__, self.given, {}

    def database_forwards(self, app_label: str, schema_editor: Any, *states: Any) -> None:
        with briefly(schema_editor):
            super().database_forwards(app_label, schema_editor, *states)


class AddFieldOnce(migrations.AddField):
    """For migrations that are not atomic: what they did before they were stopped stays and is not done again."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        model = to_state.apps.get_model(app_label, self.model_name)
        connection = schema_editor.connection
        with connection.cursor() as cursor:
            there = connection.introspection.get_table_description(cursor, model._meta.db_table)
        if model._meta.get_field(self.name).column in {column.name for column in there}:
            return
        with briefly(schema_editor):
            super().database_forwards(app_label, schema_editor, from_state, to_state)


@contextmanager
def briefly(schema_editor: Any) -> Iterator[None]:
    """A transaction of its own that gives up soon where others hold the table."""
    with transaction.atomic(schema_editor.connection.alias):
        with schema_editor.connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_WITHIN}'")
        yield

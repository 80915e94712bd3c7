"""What migrations are made of that seal the rows which a table has when seals come to it (adr 0074)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from django.db import migrations

log = logging.getLogger(__name__)
KIND, RECORDED = "record.sealed", "sealed"
"""The kind of event that tells of tables that bear seals, and where its data names them."""
SEALED = f"SELECT jsonb_array_elements_text(data->'{RECORDED}') FROM policies_event WHERE kind = '{KIND}'"
REFUSED = (
    "%s: no row was sealed, because the audit log says that they were before. Unless you migrated back, someone "
    "took the migration out of django_migrations: look at what `manage.py facts` and `manage.py verify_audit` say."
)


class SealOnce(migrations.RunPython):
    """Seals what stands in some tables, unless the record says that they bear seals of that form.

    Who can write into the database but has no key could else take the migration out of what Django remembers
    to have applied, and the seals out of rows that they wrote.
    """

    def __init__(
        self,
        code: Callable[[Any, Any], None],
        tables: tuple[str, ...],
        form: int = 1,
        undo: Callable[[Any, Any], None] = migrations.RunPython.noop,
    ) -> None:
        super().__init__(code, undo, elidable=True)
        self.tables, self.form = tables, form
        self.names = tuple(f"{table} ({form})" for table in tables)

    def deconstruct(self) -> Any:
        return self.__class__.__qualname__, (self.code, self.tables, self.form, self.reverse_code), {}

    def database_forwards(self, app_label: str, schema_editor: Any, *states: Any) -> None:
        if sealed := sealed_by_record(schema_editor.connection).intersection(self.names):
            log.error(REFUSED, ", ".join(sorted(sealed)))
        elif _has_record(schema_editor.connection):  # a new site has no rows yet
            super().database_forwards(app_label, schema_editor, *states)


def sealed_by_record(connection: Any) -> set[str]:
    """The tables that bear seals by what the record says, each with the form of its seals."""
    if not _has_record(connection):
        return set()
    with connection.cursor() as cursor:
        cursor.execute(SEALED)
        return {name for (name,) in cursor.fetchall()}


def _has_record(connection: Any) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('policies_event') IS NOT NULL")
        return bool(cursor.fetchone()[0])

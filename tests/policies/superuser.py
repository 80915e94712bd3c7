"""Who owns the database: past every trigger, and able to make every digest anew."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from django.db import connection
from django.db.models import JSONField, Model
from psycopg.types.json import Jsonb

from policies.models import AccessRecord, Change
from policies.record import access_log
from policies.record.change import digest_of

LAST = "(SELECT max(revision) FROM policies_change)"


def hostile(*statements: str) -> None:
    """Run statements as the owner of the tables, past every trigger that guards them."""
    tables = ("change", "event", "accessrecord")
    switched = [f"ALTER TABLE policies_{table} {{}} TRIGGER USER" for table in tables]
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # a table with checks still due cannot be altered
        for statement in switched:
            cursor.execute(statement.format("DISABLE"))
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")  # and from here on no key is checked
        for statement in statements:
            cursor.execute(statement)


def made_to_fit() -> None:
    """Every digest anew, as whoever knows the code can, the counters set to fit, no checkpoint left."""
    statements, previous = [], ""
    for row in Change.objects.order_by("revision").prefetch_related("events"):
        row.previous = previous
        previous = digest_of(row, sorted(row.events.all(), key=lambda event: event.number))
        statements.append(_chained("policies_change", "revision", row.pk, row.previous, previous))
    statements.append(f"UPDATE policies_counter SET revision = {LAST}, digest = '{previous}'")
    previous = ""
    for look in AccessRecord.objects.order_by("pk"):
        look.previous = previous
        previous = access_log.digest_of(look)
        statements.append(_chained("policies_accessrecord", "id", look.pk, look.previous, previous))
    size = AccessRecord.objects.count()
    statements.append(f"UPDATE policies_accesscounter SET size = {size}, digest = '{previous}'")
    hostile(*statements, "DELETE FROM policies_checkpoint")


def _chained(table: str, key: str, number: int, previous: str, digest: str) -> str:
    return f"UPDATE {table} SET previous = '{previous}', digest = '{digest}' WHERE {key} = {number}"


def past_triggers(*statements: str, checks: Sequence[str] = ()) -> None:
    """Run statements with the triggers off that guard what they write, as the owner of the tables may."""
    written = re.findall(r"(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)", " ".join(statements))
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for table in dict.fromkeys(written):
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        for statement in checks:  # that are taken off, to see what holds without them
            cursor.execute(statement)
        for statement in statements:
            cursor.execute(statement)
            assert cursor.rowcount > 0, statement


def former(model: type[Model], **where: object) -> Callable[[], None]:
    """Keep a copy of rows as they are now, seals and all; called later, it puts them back, as SQL can."""
    rows: list[dict[str, Any]] = list(model._base_manager.filter(**where).values())
    assert rows
    json = {field.attname for field in model._meta.concrete_fields if isinstance(field, JSONField)}
    keys = {field.attname: field.column for field in model._meta.concrete_fields}

    def put_back() -> None:
        table, number = model._meta.db_table, str(model._meta.pk and model._meta.pk.column)
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")
            for row in rows:
                values: dict[Any, Any] = {
                    keys[name]: Jsonb(value) if name in json else value for name, value in row.items()
                }
                columns, others = ", ".join(f'"{name}"' for name in values), ", ".join("%s" for _ in values)
                news = ", ".join(f'"{name}" = EXCLUDED."{name}"' for name in values)
                cursor.execute(
                    f"INSERT INTO {table} ({columns}) VALUES ({others})"
                    f" ON CONFLICT ({number}) DO UPDATE SET {news}",
                    [*values.values()],
                )

    return put_back

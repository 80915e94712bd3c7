"""Facts that the record says are true and that somebody deleted or closed past the console, perhaps a denial.

The console deletes none that is open.  PostgreSQL counts what is deleted from each table, so the record is
asked only when that number is another; and when what was found before was deleted or altered.
"""

from __future__ import annotations

import json
from datetime import datetime

from django.db import connection

from accounts.fact_content import values_told
from accounts.record import Fact
from policies.decisions.seals import unsealed
from policies.models import UnsealedFact
from policies.record import touches

Deleted = list[tuple[str, int, int]]
"""Of each table the file it lies in and how many rows were deleted; of what was found, altered ones too."""
_COUNTED = """
SELECT name, pg_relation_filenode(name::regclass),
       pg_stat_get_tuples_deleted(name::regclass) + pg_stat_get_xact_tuples_deleted(name::regclass)
       + CASE WHEN name = %(kept)s THEN pg_stat_get_tuples_updated(name::regclass)
                                       + pg_stat_get_xact_tuples_updated(name::regclass) ELSE 0 END
  FROM unnest(%(tables)s::text[]) name
"""
_MISSING = """
SELECT b.data->>'fact', b.change_id, b.data->>'state' FROM policies_event b
 WHERE b.data ? 'fact' AND b.data ? 'state' AND starts_with(b.data->>'fact', %(name)s)
   AND NOT EXISTS (SELECT FROM {table} f WHERE f.id = substr(b.data->>'fact', %(after)s)::bigint
                      AND f.closed IS NULL)
   AND NOT EXISTS (SELECT FROM policies_event e WHERE e.data->>'fact' = b.data->>'fact'
                      AND e.data ? 'fact' AND NOT e.data ? 'state')
"""


class DeletedFacts:
    """What this process knows of deletions."""

    def __init__(self) -> None:
        self._counted: Deleted | None = None

    def keep(self) -> int:
        """Keep those that are gone or closed, and tell, if anything was deleted since the last look.

        How many there are.  Of a fact whose beginning went to an archive only the replay tells.
        """
        counted = _deletions()
        if counted == self._counted:
            return 0
        many = sum(map(_keep, unsealed.fact_models()))
        self._counted = counted
        return many


deleted_facts = DeletedFacts()


def _deletions() -> Deleted:
    kept = UnsealedFact._meta.db_table
    tables = [kept, *(model._meta.db_table for model in unsealed.fact_models())]
    with connection.cursor() as cursor:
        cursor.execute(_COUNTED, {"tables": tables, "kept": kept})
        return list(cursor.fetchall())


def _keep(model: type[Fact]) -> int:
    missing = _missing(model)
    by_id = model.objects.in_bulk([fact.pk for fact in missing])
    deleted = [fact for fact in missing if fact.pk not in by_id]
    if deleted:
        unsealed.keep_gone(deleted, touches.realms_by_fact(deleted))
    return len(deleted) + unsealed.hold_closed(by_id.values())


def _missing(model: type[Fact]) -> list[Fact]:
    name = f"{model._meta.model_name}:"
    with connection.cursor() as cursor:
        cursor.execute(_MISSING.format(table=model._meta.db_table), {"name": name, "after": len(name) + 1})
        rows = cursor.fetchall()
    return [_as_told(model, int(code.removeprefix(name)), opened, state) for code, opened, state in rows]


def _as_told(model: type[Fact], number: int, opened: int, state: str) -> Fact:
    values = values_told(model, json.loads(state))
    for edge in ("valid_from", "valid_until"):
        values[edge] = datetime.fromisoformat(values[edge]) if values[edge] else None
    fact = model(opened=opened, **values)
    fact.pk = number
    return fact

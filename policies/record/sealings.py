"""Which tables bear seals, told in the record, so that no migration seals their rows a second time.

A migration that brings seals to a table takes its rows as they stand.  Django remembers in the database what
it applied, so who writes there could have it applied again, and what they wrote there sealed (adr 0074).
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db import connection
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

from accounts.migrations._seal_once import RECORDED, SealOnce, sealed_by_record
from policies.authority import SYSTEM, of_system
from policies.events import TABLES_SEALED
from policies.models import Counter
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.record.verify import verify


def put_on_record() -> list[str]:
    """Tell of each table whose rows a migration sealed, unless that is told; which ones it told of.

    A record that has not begun yet begins with something else: the first checkpoint comes right after.
    """
    if not _has_begun() or _plan() or not _untold():
        return []
    with change(TABLES_SEALED, realm=None, by=SYSTEM) as current:
        names = sorted(_untold())
        if names:
            draft = make_event(TABLES_SEALED, None, tables=", ".join(names), **{RECORDED: names})
            current.say(draft, by=of_system("their migrations are applied"))
    return names


def problem_ahead() -> str:
    """What is wrong with the record, where a migration that is due would seal rows by it; else empty."""
    due = {name for migration, _ in _plan() for name in _names(migration.operations)}
    if not _has_begun() or due <= sealed_by_record(connection):
        return ""
    return verify(facts=False).broken or ""


def _plan() -> list[tuple[Migration, bool]]:
    executor = MigrationExecutor(connection)
    return executor.migration_plan(executor.loader.graph.leaf_nodes())


def _has_begun() -> bool:
    is_there = Counter._meta.db_table in connection.introspection.table_names()
    return is_there and Counter.objects.filter(revision__gt=0).exists()


def _untold() -> set[str]:
    loader = MigrationLoader(connection)
    applied = (loader.disk_migrations.get(key) for key in loader.applied_migrations)
    sealed = {name for migration in applied if migration for name in _names(migration.operations)}
    return sealed - sealed_by_record(connection)


def _names(operations: Iterable[object]) -> set[str]:
    return {name for operation in operations if isinstance(operation, SealOnce) for name in operation.names}

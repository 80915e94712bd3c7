"""Migrations that seal rows as they stand do so once, whatever somebody writes into the database."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, migrations
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState

from accounts import seals
from accounts.fact_content import content
from accounts.migrations._seal_once import SealOnce
from catalog.models import Detail
from catalog.nodes import Node
from policies import tasks
from policies.events import TABLES_SEALED
from policies.models import Event
from policies.record import sealings
from policies.record.verify import verify

pytestmark = pytest.mark.django_db
LOADER = MigrationLoader(None)
SEALING = {
    f"{app}.{name}.{operation.code.__name__}": (app, name, operation)
    for (app, name), migration in sorted(LOADER.disk_migrations.items())
    for operation in migration.operations
    if isinstance(operation, SealOnce)
}
N = 9_999
"""The number of rows that nobody made here, and of whatever they lead to."""
BEFORE: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "policies_review (2)": lambda row: content(
        "review", N, 0, None, row["realm_id"], row["starter_id"], row["silence"]
    ),
    "policies_groupduty (2)": lambda row: content("groupduty", N, 0, None, N, "view_history", N),
    "accounts_directorymember (2)": lambda row: f"directorymember {N} {N}".encode(),
}
"""What seals covered before a migration that makes good ones anew."""
SOME = {
    "bigint": N,
    "integer": N,
    "smallint": N,
    "boolean": False,
    "jsonb": "{}",
    "ARRAY": "{}",
    "bytea": b"",
}


@contextmanager
def _past_the_door() -> Iterator[Any]:
    """As who owns the database: no trigger looks."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        yield cursor
        cursor.execute("SET LOCAL session_replication_role = DEFAULT")


@pytest.fixture
def forged() -> Iterator[list[str]]:
    """Tables with a row N that leads nowhere, and that is gone before the test's end looks at that."""
    tables: list[str] = []
    yield tables
    with _past_the_door() as cursor:
        for table in tables:
            cursor.execute(f"DELETE FROM {table} WHERE {_key(table)} = {N}")


def _key(table: str) -> str:
    return "securable_id" if table == "catalog_detail" else "id"


def _forge(table: str, **given: Any) -> None:
    """Row N of a table, of which nothing is known in the console."""
    with _past_the_door() as cursor:
        cursor.execute(
            "SELECT column_name, data_type FROM information_schema.columns"
            " WHERE table_name = %s AND is_nullable = 'NO' AND column_default IS NULL",
            [table],
        )
        values = {
            name: SOME.get(kind, "2026-01-01" if "time" in kind else "") for name, kind in cursor.fetchall()
        }
        values |= {_key(table): N} | given
        cursor.execute(f"DELETE FROM {table} WHERE {_key(table)} = {N}")
        marks = ", ".join(["%s"] * len(values))
        names = ", ".join(f'"{name}"' for name in values)
        cursor.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", [*values.values()])


def _row(table: str) -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {table} WHERE {_key(table)} = {N}")
        return dict(zip((column.name for column in cursor.description), cursor.fetchone(), strict=True))


def _seal_of(name: str) -> bytes | None:
    """Of `policies_reviewrow.desk (1)` the seal in the column `desk_seal`."""
    table, _, which = name.partition(" ")[0].partition(".")
    held = _row(table)[f"{which}_seal" if which else "seal"]
    return held and bytes(held)


def _forge_all(operation: SealOnce, forged: list[str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM auth_permission WHERE codename = 'view_history'")
        duty = cursor.fetchone()[0]
    tables = ("auth_group", "policies_review", *operation.tables, "policies_reviewrow")
    forged += dict.fromkeys(table.partition(".")[0] for table in tables)
    given = {"policies_groupduty": {"permission_id": duty}, "policies_reviewrow": {"desk_id": N}}
    for table in forged:
        _forge(table, **given.get(table, {}))
    for name in operation.names:
        if name in BEFORE:
            table = name.partition(" ")[0]
            with _past_the_door() as cursor:
                old = seals.seal(BEFORE[name](_row(table)))
                cursor.execute(f"UPDATE {table} SET seal = %s WHERE id = {N}", [old])


def _apply(app: str, name: str, operation: SealOnce) -> None:
    state = LOADER.project_state((app, name))
    with connection.schema_editor(atomic=False) as editor:
        operation.database_forwards(app, editor, state, state)


@pytest.mark.parametrize("case", SEALING.values(), ids=SEALING)
def test_rows_are_sealed_where_no_seals_were_before(
    case: tuple[str, str, SealOnce], forged: list[str]
) -> None:
    _forge_all(case[2], forged)
    before = {name: _seal_of(name) for name in case[2].names}
    _apply(*case)
    assert [name for name in case[2].names if _seal_of(name) in (None, before[name])] == []


@pytest.mark.parametrize("case", SEALING.values(), ids=SEALING)
def test_no_row_is_sealed_where_the_record_says_that_they_were(
    case: tuple[str, str, SealOnce], shop: Node, forged: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    tasks.sign()
    _forge_all(case[2], forged)
    before = {name: _seal_of(name) for name in case[2].names}
    with caplog.at_level(logging.ERROR):
        _apply(*case)
    assert {name: _seal_of(name) for name in case[2].names} == before
    assert "no row was sealed, because the audit log says that they were before" in caplog.text
    assert case[2].names[0] in caplog.text


def test_every_migration_that_seals_seals_once() -> None:
    """One that has the function of seals at hand and runs Python of its own is one that seals."""
    others = [
        f"{app}.{name}"
        for (app, name), migration in LOADER.disk_migrations.items()
        if app in ("accounts", "catalog", "policies") and _can_seal(migration)
        for operation in migration.operations
        if isinstance(operation, migrations.RunPython) and not isinstance(operation, SealOnce)
    ]
    assert others == [] and len(SEALING) == 8
    twice = [name for *_, operation in SEALING.values() for name in operation.names]
    assert len(twice) == len({*twice})


def _can_seal(migration: migrations.Migration) -> bool:
    source = inspect.getsource(inspect.getmodule(type(migration)))  # type: ignore[arg-type]
    return "seal" in source.replace("seals_of_", "").replace("0044_seals", "")


# somebody who can write into the database, and an operator who migrates


def _take_out(*applied: tuple[str, str]) -> None:
    for app, name in applied:
        MigrationRecorder(connection).record_unapplied(app, name)


def _migrated() -> str:
    output = StringIO()
    call_command("migrate", stdout=output, verbosity=1)
    return output.getvalue()


ATTACKED = (("policies", "0060_older_writers"), ("catalog", "0010_seals_of_realms_and_details"))


def test_a_forged_place_gets_no_seal_from_a_migration_that_is_applied_again(shop: Node) -> None:
    tasks.sign()
    table = Detail.objects.order_by("pk").first()
    number = table.pk if table else shop.id
    _take_out(*ATTACKED)
    with _past_the_door() as cursor:
        cursor.execute("DELETE FROM catalog_detail WHERE securable_id = %s", [number])
    _forge("catalog_detail", securable_id=number, properties='{"location": "file:///etc"}')
    assert "Applying catalog.0010" in _migrated()
    forged = Detail.objects.get(pk=number)
    assert forged.seal is None and not forged.is_sealed


def test_what_the_record_does_not_tell_yet_is_told_when_a_site_was_migrated(shop: Node) -> None:
    _migrated()
    [event] = Event.objects.filter(kind=TABLES_SEALED)
    assert event.data["sealed"] == sorted(
        name for *_, operation in SEALING.values() for name in operation.names
    )
    _migrated()
    tasks.sign()
    assert Event.objects.filter(kind=TABLES_SEALED).count() == 1
    assert verify()


def test_a_site_of_which_nothing_is_recorded_begins_with_nothing() -> None:
    _migrated()
    tasks.sign()
    assert not Event.objects.exists()


def test_nothing_is_told_while_migrations_are_due(shop: Node) -> None:
    _take_out(*ATTACKED)
    assert sealings.put_on_record() == []


def test_rows_are_not_sealed_by_a_record_that_someone_wrote_into(shop: Node) -> None:
    """Who takes out what the record tells of seals breaks it, and then nothing is migrated."""
    tasks.sign()
    _take_out(*ATTACKED)
    with _past_the_door() as cursor:
        cursor.execute("DELETE FROM policies_event WHERE kind = %s", [TABLES_SEALED])
    with pytest.raises(CommandError, match="so nothing was migrated"):
        _migrated()
    assert ("catalog", "0010_seals_of_realms_and_details") not in MigrationRecorder(
        connection
    ).applied_migrations()


def test_a_new_database_has_nothing_to_seal_and_no_record_to_ask() -> None:
    ran: list[object] = []
    operation = SealOnce(lambda *_: ran.append(1), ("accounts_principal",))
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE policies_event RENAME TO hidden")
    with connection.schema_editor(atomic=False) as editor:
        operation.database_forwards("accounts", editor, ProjectState(), ProjectState())
    assert not ran

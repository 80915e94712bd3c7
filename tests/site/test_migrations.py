"""Databases of before 0.1.0, whose migrations were squashed; and what the database itself enforces."""

from __future__ import annotations

from importlib import import_module
from io import StringIO

import psycopg
import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.core.management.base import SystemCheckError
from django.db import OperationalError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from accounts import people
from accounts.models import Principal
from accounts.models.sealing import Sealed
from accounts.record import Fact
from authzsite.api import outage
from authzsite.management.commands import migrate as migrate_command

pytestmark = pytest.mark.django_db
FACTS = [model for model in apps.get_models() if issubclass(model, Fact)]
SEALED = [model for model in apps.get_models() if issubclass(model, Sealed)]
GUARDS = {
    "only_close": "lakewarden_only_close",
    "no_delete": "lakewarden_refuse",
    "no_truncate": "lakewarden_refuse",
    "begun": "lakewarden_fact_begun",
    "ended": "lakewarden_fact_ended",
}
NEVER_ARCHIVED = {"keeping", "membership", "separationexception", "separationrule"}


def put_back(without: dict[str, int]) -> None:
    """As if the migrations of before had been applied, but for the last so many of an app."""
    for (app, name), migration in MigrationLoader(None).disk_migrations.items():
        if name.startswith("0001_squashed_"):
            lost = migration.replaces[len(migration.replaces) - without.get(app, 0) :]
            for missing in [(app, name), *lost]:  # Django records what is replaced too
                MigrationRecorder(connection).record_unapplied(*missing)


def migrate() -> str:
    output = StringIO()
    call_command("migrate", stdout=output, skip_checks=False)
    return output.getvalue()


def test_a_database_that_applied_all_that_were_squashed_is_up_to_date() -> None:
    put_back({})
    executor = MigrationExecutor(connection)
    assert executor.migration_plan(executor.loader.graph.leaf_nodes()) == []
    assert "No migrations to apply." in migrate()


@pytest.mark.parametrize(
    ("without", "said"),
    [
        (
            {"policies": 2},
            "policies lacks 0043_states_of_items and what follows",
        ),
        ({"catalog": 1}, "catalog lacks 0008_seals and what follows"),
        ({"accounts": 10, "policies": 40}, "accounts lacks 0002_names_in_any_case and what follows"),
    ],
)
def test_a_database_between_two_of_them_is_left_alone_and_told(without: dict[str, int], said: str) -> None:
    put_back(without)
    before = MigrationRecorder(connection).applied_migrations().keys()
    with pytest.raises(SystemCheckError) as refused:
        migrate()
    assert said in str(refused.value)
    assert "with commit b965fbb, which has them, then" in str(refused.value)
    assert MigrationRecorder(connection).applied_migrations().keys() == before


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact._meta.label_lower)
def test_the_database_guards_every_table_of_facts(fact: type[Fact]) -> None:
    table, name = fact._meta.db_table, fact._meta.model_name
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tgname, proname, encode(tgargs, 'escape')"
            " FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid"
            " WHERE tgrelid = %s::regclass AND NOT tgisinternal AND tgenabled = 'O'",
            [table],
        )
        triggers = {trigger: (function, arguments) for trigger, function, arguments in cursor.fetchall()}
        cursor.execute("SELECT indexname FROM pg_indexes WHERE tablename = %s", [table])
        indexes = {index for (index,) in cursor.fetchall()}
    wanted = {trigger: (function, "") for trigger, function in GUARDS.items()}
    if name not in NEVER_ARCHIVED:
        wanted["no_delete"] = ("lakewarden_refuse_fact", "")
    for trigger in ("begun", "ended"):
        wanted[trigger] = (GUARDS[trigger], f"{name}\\000")
    assert triggers == wanted
    assert {f"{table}_by_opened", f"{table}_by_closed"} <= indexes


@pytest.mark.parametrize("model", SEALED, ids=lambda model: model._meta.label_lower)
def test_an_older_process_writes_nothing_that_the_seal_of_a_row_covers(model: type[Sealed]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tgname, array(SELECT attname FROM pg_attribute"
            " WHERE attrelid = tgrelid AND attnum = ANY(tgattr::int2[]))"
            " FROM pg_trigger WHERE tgrelid = %s::regclass AND tgname LIKE 'no_older%%' AND tgenabled = 'O'",
            [model._meta.db_table],
        )
        triggers = dict(cursor.fetchall())
    assert triggers["no_older_row"] == []
    assert set(model.SEALED) == set(triggers["no_older_edition"])


def of_an_older_version(statement: str) -> None:
    """Run it on a connection that says nothing of what it writes, as those of older versions."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL lakewarden.writes = ''")
        cursor.execute(statement)


def test_what_an_older_process_cannot_seal_is_an_outage_to_it_and_the_rest_it_writes() -> None:
    ana = people.ensure("user", "ana")
    for statement in (
        "INSERT INTO accounts_principal (kind, name, display_name, pseudonym, erased)"
        " VALUES ('user', 'mia', '', 'x', false)",
        "UPDATE accounts_principal SET name = 'mia'",
    ):
        with pytest.raises(OperationalError, match="older than what the database holds") as refused:
            of_an_older_version(statement)
        assert outage.is_outage(refused.value)
    of_an_older_version("UPDATE accounts_principal SET name = name, seal = seal")
    assert Principal.objects.get(pk=ana.pk).is_sealed


def test_a_migration_waits_briefly_for_a_table_and_the_command_tries_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with connection.schema_editor(), connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("1s",)
    attempts = []

    def held_at_first(*_: object, **__: object) -> None:
        attempts.append(1)
        if len(attempts) < 3:
            raise OperationalError from psycopg.errors.LockNotAvailable()

    monkeypatch.setattr(migrate_command.migrate.Command, "handle", held_at_first)
    monkeypatch.setattr(migrate_command, "PAUSE", 0)
    assert migrate().count("trying again") == 2
    monkeypatch.setattr(migrate_command, "ATTEMPTS", 2)
    attempts.clear()
    with pytest.raises(CommandError, match="let it end"):
        migrate()


def test_a_migration_that_was_stopped_goes_on_where_it_was() -> None:
    """Rows that were sealed are not sealed again, and columns that were added are not added again."""
    migration = import_module("accounts.migrations.0016_seals_of_names").Migration("x", "accounts")
    ana = people.ensure("user", "ana")
    state = MigrationLoader(connection).project_state(("accounts", "0015_directory"))
    with connection.schema_editor(atomic=False) as editor:
        migration.apply(state, editor)
    assert Principal.objects.get(pk=ana.pk).is_sealed

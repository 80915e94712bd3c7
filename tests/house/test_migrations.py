"""What a migration may do to tables that others use meanwhile, as docs/development/releasing.md says it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.postgres.operations import (
    AddConstraintNotValid,
    AddIndexConcurrently,
    RemoveIndexConcurrently,
)
from django.db import connection, migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

from accounts.migrations._beside_older import AddFieldOnce, NotByOlder

OURS = ("accounts", "catalog", "policies")
EXCEPTIONS = {
    ("accounts", "0017_token_addresses", "Add field successor to token indexes it"): "a site has few tokens",
    (
        "accounts",
        "0021_disabled_by_directory",
        "writes rows while it holds the tables that it alters",
    ): "it writes only entries of people who left the directory",
}
"""What is let pass, and why."""
DANGEROUS = {
    r"CREATE\s+(UNIQUE\s+)?INDEX\s+(?!CONCURRENTLY)": "makes an index without CONCURRENTLY",
    r"ADD\s+CONSTRAINT(?!.*NOT\s+VALID)": "adds a constraint without NOT VALID",
    r"SET\s+NOT\s+NULL": "looks through a table for nulls",
    r"\bTYPE\b": "changes the type of a column",
    r"\b(VACUUM\s+FULL|CLUSTER|LOCK\s+TABLE|TRUNCATE)\b": "locks a table",
    r"\b(UPDATE|DELETE\s+FROM)\s+\w+\s+(SET|WHERE)": "writes all rows in one statement",
    r"DROP\s+(TABLE|COLUMN)|RENAME": "takes from old processes what they use",
}
ADDS = (migrations.AddField, migrations.AlterField)
DDL = (*ADDS, migrations.RemoveField, migrations.AddIndex, migrations.AddConstraint)


def troubles(migration: migrations.Migration, state: ProjectState) -> Iterator[str]:
    """What would hold others up, or break a process of the version before; `state` becomes that after it."""
    made: set[str] = set()
    for operation in migration.operations:
        before = state.clone()
        operation.state_forwards(migration.app_label, state)
        if isinstance(operation, migrations.CreateModel):
            made.add(operation.name_lower)
        elif str(getattr(operation, "model_name", "")).lower() not in made:
            yield from _of(operation, migration, before, state)
    writes = any(isinstance(operation, migrations.RunPython) for operation in migration.operations)
    if migration.atomic and writes and any(isinstance(operation, DDL) for operation in migration.operations):
        yield "writes rows while it holds the tables that it alters"


def _of(operation: Operation, migration: Any, before: ProjectState, after: ProjectState) -> Iterator[str]:
    words = operation.describe()
    if isinstance(operation, NotByOlder):
        return
    if isinstance(operation, ADDS):
        yield from (f"{words} {what}" for what in _of_field(operation, migration, before, after))
    elif isinstance(operation, migrations.RunSQL):
        for pattern, what in DANGEROUS.items():
            if re.search(pattern, str(operation.sql), re.I | re.S):
                yield what
    elif isinstance(operation, migrations.AddIndex) and not isinstance(operation, AddIndexConcurrently):
        yield f"{words}: makes an index without CONCURRENTLY"
    elif isinstance(operation, migrations.AddConstraint) and not isinstance(operation, AddConstraintNotValid):
        yield f"{words}: adds a constraint without NOT VALID"
    elif isinstance(operation, REMOVES) and not isinstance(operation, RemoveIndexConcurrently):
        yield f"{words}: takes from old processes what they use"


REMOVES = (
    *(migrations.RemoveField, migrations.DeleteModel, migrations.RenameField, migrations.RenameModel),
    *(migrations.AlterModelTable, migrations.RemoveIndex, migrations.AlterUniqueTogether),
)


def _of_field(operation: Any, migration: Any, before: ProjectState, after: ProjectState) -> Iterator[str]:
    def field(state: ProjectState) -> Any:
        return state.models[migration.app_label, operation.model_name_lower].fields[operation.name]

    new = field(after)
    if isinstance(operation, migrations.AddField):
        if not new.null and not new.has_db_default():
            yield "has no db_default, without which old processes cannot insert"
        if new.unique or new.db_index:
            yield "indexes it"
        if not migration.atomic and not isinstance(operation, AddFieldOnce):
            yield "cannot go on where it was stopped"
        return
    old = field(before)
    if _column(old) != _column(new):
        yield "changes the type of a column"
    if old.null and not new.null:
        yield "looks through a table for nulls"
    if (new.unique, new.db_index) != (old.unique, old.db_index):
        yield "indexes it"


def _column(field: Any) -> str:
    return "a key" if field.is_relation else str(field.db_type(connection))


def test_no_migration_holds_others_up_or_breaks_the_version_before() -> None:
    loader, state, offences = MigrationLoader(None), ProjectState(), set()
    for app, name in loader.graph._generate_plan(loader.graph.leaf_nodes(), at_end=True):
        migration = loader.graph.nodes[app, name]
        if app in OURS and not migration.replaces:  # a released site has those
            offences |= {(app, name, what) for what in troubles(migration, state)}
        else:
            migration.mutate_state(state, preserve=False)
    assert offences == set(EXCEPTIONS)


TEXT = models.CharField(max_length=8)
CASES: dict[str, tuple[list[Operation], str]] = {
    "a column that old processes leave out": (
        [migrations.AddField("item", "more", models.CharField(max_length=8, default=""))],
        "has no db_default",
    ),
    "a column with an index": (
        [migrations.AddField("item", "more", models.CharField(max_length=8, null=True, db_index=True))],
        "indexes it",
    ),
    "another type": ([migrations.AlterField("item", "name", models.TextField())], "changes the type"),
    "no nulls any more": (
        [migrations.AlterField("item", "maybe", models.CharField(max_length=8))],
        "looks through a table for nulls",
    ),
    "an index that holds writers up": (
        [migrations.AddIndex("item", models.Index(fields=["name"], name="by_name"))],
        "without CONCURRENTLY",
    ),
    "a constraint that looks at all rows": (
        [migrations.AddConstraint("item", models.UniqueConstraint(fields=["name"], name="one_name"))],
        "without NOT VALID",
    ),
    "a column that old processes read": ([migrations.RemoveField("item", "name")], "old processes"),
    "a table that old processes read": ([migrations.DeleteModel("Item")], "old processes"),
    "another name": ([migrations.RenameField("item", "name", "called")], "old processes"),
    "rows written while the table is held": (
        [
            migrations.AddField("item", "more", models.CharField(max_length=8, null=True)),
            migrations.RunPython(migrations.RunPython.noop),
        ],
        "while it holds the tables",
    ),
    "an index in SQL": ([migrations.RunSQL("create index by_name on item (name)")], "without CONCURRENTLY"),
    "a constraint in SQL": (
        [migrations.RunSQL("ALTER TABLE item ADD CONSTRAINT c CHECK (name <> '')")],
        "without NOT VALID",
    ),
    "all rows at once": ([migrations.RunSQL("UPDATE item SET name = ''")], "all rows in one statement"),
}


@pytest.mark.parametrize(("operations", "what"), CASES.values(), ids=CASES)
def test_what_holds_others_up_is_found(operations: list[Operation], what: str) -> None:
    state = ProjectState()
    item = migrations.CreateModel("Item", [("id", models.BigAutoField(primary_key=True)), ("name", TEXT),
        ("maybe", models.CharField(max_length=8, null=True))])  # fmt: skip
    item.state_forwards("shop", state)
    migration = migrations.Migration("0002", "shop")
    migration.operations = operations
    assert what in " ".join(troubles(migration, state))


def test_what_is_safe_is_let_pass() -> None:
    state = ProjectState()
    made = migrations.CreateModel("Item", [("id", models.BigAutoField(primary_key=True)), ("name", TEXT)])
    made.state_forwards("shop", state)
    migration = migrations.Migration("0002", "shop")
    migration.atomic = False
    migration.operations = [
        AddFieldOnce("item", "more", models.CharField(max_length=8, db_default="", default="")),
        migrations.AlterField("item", "name", models.CharField(max_length=8, choices=[("a", "b")])),
        AddIndexConcurrently("item", models.Index(fields=["name"], name="by_name")),
        migrations.RunPython(migrations.RunPython.noop),
    ]
    assert list(troubles(migration, state)) == []

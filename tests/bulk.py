"""Facts for tests that need very many, or some that no service makes: sealed, and past the door."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.db import connection

from accounts.models import Principal
from accounts.record import Fact
from accounts.seals import seal_fact
from policies.record.pending import _numbers_for

AT_ONCE = 4000


def put(rows: Sequence[Fact], opened: int) -> None:
    """Write facts of one model as the writer would, but for the change that says so."""
    if not rows:
        return
    for row, number in zip(rows, _numbers_for(rows), strict=True):
        row.pk, row.opened = number, opened
        seal_fact(row)
    with past_the_door([type(rows[0])]):
        type(rows[0]).objects.bulk_create(rows, batch_size=AT_ONCE)


def run(statements: Sequence[str]) -> None:
    """Run statements that insert facts, and seal what they inserted: for more than a program can make."""
    models = [model for model in apps.get_models() if issubclass(model, Fact)]
    with past_the_door(models):
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
        for model in models:
            seal(model)
        seal(Principal)


def seal(model: type[Fact] | type[Principal]) -> None:
    """Seal what was inserted without one."""
    while rows := list[Any](model._default_manager.filter(seal=None).order_by("pk")[:AT_ONCE]):
        for row in rows:
            if isinstance(row, Principal):
                row.seal = row.seal_as_it_is()
            else:
                seal_fact(row)
        with connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE {model._meta.db_table} t SET seal = n.seal"
                " FROM unnest(%s::bigint[], %s::bytea[]) n(id, seal) WHERE t.id = n.id",
                [[row.pk for row in rows], [row.seal for row in rows]],
            )


@contextmanager
def past_the_door(models: Sequence[type[Fact]]) -> Iterator[None]:
    """Insert facts that the database would refuse, of which no change says that it made them."""
    tables = [model._meta.db_table for model in models]
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for table in tables:
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
    yield
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for table in tables:
            cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")

"""Take what somebody else gave in PostgreSQL, when an owner has ordered it: in the giver's own name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql

from lakewarden.backends.base import Right, Step
from lakewarden.backends.errors import Misconfigured, Rejected
from policies.sync.backends.postgresql import catalog
from policies.sync.backends.postgresql.client import Session, Transaction
from policies.sync.backends.postgresql.rights import KEYWORD, revocations


def take_foreign(session: Session, step: Step) -> None:
    """Revoke exactly the rights that `grantor` gave `person`.  What was granted on from them is never cut."""
    session.write(lambda tx: _take(tx, step))


def _take(tx: Transaction, step: Step) -> None:
    if any("\0" in part for right in step.rights for part in (*right.path, step.person, step.grantor)):
        raise Rejected("a name holds a NUL")
    if not tx.rows(catalog.MARK, (step.person,)):
        return  # the holder is gone, and their rights with them
    for right in step.rights:
        if right.kind == "role":
            _leave(tx, right, step)
        else:
            name = sql.Identifier(*(right.path or (tx.rows(catalog.SERVER)[0].name,)))
            columns = _on_columns(tx, right, step)
            with _as_grantor(tx, step.grantor):
                for statement in revocations(
                    [right.right], KEYWORD[right.kind], name, sql.Identifier(step.person)
                ):
                    tx.run(statement)
                for column in columns:
                    # what is taken on a table is taken on its columns too, where it was given by itself
                    tx.run(_given_on(column, right, name, step))


def _on_columns(tx: Transaction, right: Right, step: Step) -> list[Any]:
    if len(right.path) != 2 or "(" in right.right:
        return []
    word = right.right.partition(" ")[0]
    schema, table = right.path
    values = {"schema": schema, "table": table, "word": word, "holder": step.person, "grantor": step.grantor}
    return tx.rows(catalog.GIVEN_ON_COLUMNS, values)


def _given_on(column: Any, right: Right, name: sql.Identifier, step: Step) -> sql.Composed:
    option = sql.SQL(" WITH GRANT OPTION" if column.grantable else "")
    word, holder = sql.SQL(right.right.partition(" ")[0]), sql.Identifier(step.person)
    return sql.SQL("GRANT {} ({}) ON {} TO {}{}").format(
        word, sql.Identifier(column.name), name, holder, option
    )


def _leave(tx: Transaction, right: Right, step: Step) -> None:
    """End a membership; until 15 there is one for each pair, whoever gave it."""
    statement = sql.SQL("REVOKE {} FROM {}").format(sql.Identifier(*right.path), sql.Identifier(step.person))
    if tx.version < 16:
        tx.run(statement)
        return
    with _as_grantor(tx, step.grantor):
        tx.run(statement + sql.SQL(" GRANTED BY {}").format(sql.Identifier(step.grantor)))


@contextmanager
def _as_grantor(tx: Transaction, grantor: str) -> Iterator[None]:
    if not tx.rows(catalog.MARK, (grantor,)):
        raise Rejected(f"{grantor}, who gave it, is no role there any more")
    try:
        with tx.acting_as(grantor):
            yield
    except psycopg.errors.InsufficientPrivilege as error:
        words = error.diag.message_primary or str(error)
        raise Misconfigured(f"{words} (acting as {grantor}, who gave it)") from error

"""Give and take rights in PostgreSQL: short transactions under our lock, as the owner of each object."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from psycopg import sql

from lakewarden.backends.base import ObjectKind, Step
from lakewarden.backends.errors import BackendError, Gone, Misconfigured, Rejected, worst
from policies.sync.backends.postgresql import catalog
from policies.sync.backends.postgresql.client import Session, Transaction
from policies.sync.backends.postgresql.roles import our_role
from policies.sync.backends.postgresql.state import KINDS

# two locks at most for each (a table and its sequence): far below what a server of default size has room for
_OBJECTS_A_TRANSACTION = 500
KEYWORD = {
    "catalog": sql.SQL("DATABASE"),
    "schema": sql.SQL("SCHEMA"),
    "table": sql.SQL("TABLE"),
    "view": sql.SQL("TABLE"),
    "sequence": sql.SQL("SEQUENCE"),
}
_WORD = re.compile(r"(?P<right>[A-Z]+)(?:\((?P<column>.+)\))?(?P<option> WITH GRANT OPTION)?", re.DOTALL)


@dataclass(frozen=True)
class _Target:
    """An object with the rights to give or take on it; `sequences` are those its columns draw from."""

    kind: ObjectKind
    name: sql.Identifier
    owner: str
    words: tuple[str, ...]
    sequences: tuple[sql.Identifier, ...] = ()


def change_rights(session: Session, step: Step, also: Sequence[str] = ()) -> None:
    """Give or take the rights of a step, as many as can be; raises the worst of what went wrong.

    `also`: further roles to which the same is given by the same statements.
    """
    targets, errors = session.read(lambda tx: _located(tx, session, step))
    for chunk in _chunks(targets):
        errors.extend(_change(session, step, chunk, also))
    if errors:
        raise worst(errors)


def _change(
    session: Session, step: Step, chunk: Sequence[_Target], also: Sequence[str]
) -> list[BackendError]:
    """Change one owner's objects in one transaction, or in halves when one of them spoils it."""
    try:
        session.write(lambda tx: _in_one(tx, session, step, chunk, also))
    except Misconfigured as error:
        return [Misconfigured(f"{error} (acting as {chunk[0].owner}, who owns it)")]
    except BackendError as error:
        if len(chunk) == 1 or not session.connected:
            return [error]
        half = len(chunk) // 2
        return _change(session, step, chunk[:half], also) + _change(session, step, chunk[half:], also)
    return []


def _in_one(
    tx: Transaction, session: Session, step: Step, chunk: Sequence[_Target], also: Sequence[str]
) -> None:
    named = (our_role(tx, session.identity, key, must=step.kind == "give") for key in (step.role, *also))
    roles = [sql.Identifier(name) for name in named if name is not None]
    if not roles:
        return
    with tx.acting_as(chunk[0].owner):
        for statement in _statements(step, chunk, sql.SQL(", ").join(roles)):
            tx.run(statement)


def _located(tx: Transaction, session: Session, step: Step) -> tuple[list[_Target], list[BackendError]]:
    """Where the step's objects are now; what is gone is an error for giving and done for taking."""
    our_role(tx, session.identity, step.role, must=step.kind == "give")
    wanted: dict[tuple[ObjectKind, tuple[str, ...]], list[str]] = defaultdict(list)
    for right in step.rights:
        wanted[right.kind, right.path].append(right.right)
    unsafe = [path for _, path in wanted if any("\0" in part for part in path)]
    if unsafe:
        raise Rejected("a name holds a NUL")
    owners = _owners(tx, wanted)
    sequences: dict[tuple[str, ...], list[sql.Identifier]] = defaultdict(list)
    for row in tx.rows(catalog.OWNED_SEQUENCES, _relations(wanted)):
        sequences[row.table_schema, row.table_name].append(sql.Identifier(row.schema, row.name))
    targets, errors = [], list[BackendError]()
    for (kind, path), words in sorted(wanted.items()):
        if (kind, path) not in owners:
            errors.append(Gone(f"{kind} {'.'.join(path)} does not exist"))
            continue
        name = sql.Identifier(*(path or (str(tx.rows(catalog.SERVER)[0].name),)))
        drawn = sequences[path] if kind == "table" and "INSERT" in words else ()
        targets.append(_Target(kind, name, owners[kind, path], tuple(sorted(words)), tuple(drawn)))
    return targets, errors if step.kind == "give" else []


def _owners(
    tx: Transaction, wanted: Iterable[tuple[ObjectKind, tuple[str, ...]]]
) -> dict[tuple[ObjectKind, tuple[str, ...]], str]:
    owners: dict[tuple[ObjectKind, tuple[str, ...]], str] = {}
    schemas = [path[0] for kind, path in wanted if kind == "schema" and len(path) == 1]
    for row in tx.rows(catalog.LOCATED, {**_relations(wanted), "schemas": schemas}):
        if row.place == "database":
            owners["catalog", ()] = row.owner
        elif row.place == "schema":
            owners["schema", (row.schema,)] = row.owner
        elif row.place in KINDS:
            owners[KINDS[row.place], (row.schema, row.name)] = row.owner
    return owners


def _relations(wanted: Iterable[tuple[ObjectKind, tuple[str, ...]]]) -> dict[str, list[str]]:
    paths = sorted(
        {path for kind, path in wanted if kind in ("table", "view", "sequence") and len(path) == 2}
    )
    return {"parents": [path[0] for path in paths], "names": [path[1] for path in paths]}


def _chunks(targets: Iterable[_Target]) -> Iterator[list[_Target]]:
    by_owner: dict[str, list[_Target]] = defaultdict(list)
    for target in targets:
        by_owner[target.owner].append(target)
    for _, theirs in sorted(by_owner.items()):
        for start in range(0, len(theirs), _OBJECTS_A_TRANSACTION):
            yield theirs[start : start + _OBJECTS_A_TRANSACTION]


def _statements(step: Step, chunk: Sequence[_Target], role: sql.Composable) -> Iterator[sql.Composed]:
    """As few statements as there are different sets of rights among the objects."""
    alike: dict[tuple[str, tuple[str, ...]], list[sql.Identifier]] = defaultdict(list)
    for target in chunk:
        alike["table" if target.kind == "view" else target.kind, target.words].append(target.name)
        if target.sequences:
            alike["sequence", ("USAGE",)].extend(target.sequences)
    compose = _grant if step.kind == "give" else revocations
    for (kind, words), names in alike.items():
        yield from compose(words, KEYWORD[kind], sql.SQL(", ").join(names), role)


def _grant(
    words: Iterable[str], keyword: sql.SQL, names: sql.Composed, role: sql.Composable
) -> Iterator[sql.Composed]:
    listed = sql.SQL(", ").join(_privilege(word)[0] for word in words)
    yield sql.SQL("GRANT {} ON {} {} TO {}").format(listed, keyword, names, role)


def revocations(
    words: Iterable[str], keyword: sql.SQL, names: sql.Composable, role: sql.Composable
) -> Iterator[sql.Composed]:
    """The statements that take rights back from a role; the option to grant on is taken by its own."""
    parsed = [_privilege(word) for word in words]
    for clause, option in ((sql.SQL(""), False), (sql.SQL("GRANT OPTION FOR "), True)):
        listed = [privilege for privilege, with_option in parsed if with_option is option]
        if listed:
            yield sql.SQL("REVOKE {}{} ON {} {} FROM {}").format(
                clause, sql.SQL(", ").join(listed), keyword, names, role
            )


def _privilege(word: str) -> tuple[sql.Composable, bool]:
    """A right as SQL has it, and whether it is about the option to grant it on.  Raises Rejected."""
    match = _WORD.fullmatch(word)
    if match is None:
        raise Rejected(f"{word} is no right of PostgreSQL")
    # only capital letters can be in there, so it is a keyword or a syntax error
    privilege: sql.Composable = sql.SQL(match["right"])
    if match["column"] is not None:
        privilege = sql.SQL("{} ({})").format(privilege, sql.Identifier(match["column"]))
    return privilege, match["option"] is not None

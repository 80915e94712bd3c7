"""Make, fill with people and drop our roles in PostgreSQL; a role without our mark is left alone."""

from __future__ import annotations

from collections.abc import Iterable

from psycopg import sql

from lakewarden.backends.base import Step
from lakewarden.backends.errors import Gone, Misconfigured, Rejected, Transient
from policies.sync.backends.postgresql import catalog
from policies.sync.backends.postgresql.client import Session, Transaction
from policies.sync.backends.postgresql.names import Identity

_BOOTSTRAP = 10


def our_role(tx: Transaction, identity: Identity, key: str, *, must: bool) -> str | None:
    """The name of the role for a key, None when there is none.  Raises Gone if it must be there, Rejected."""
    name = identity.role_name(key)
    rows = tx.rows(catalog.MARK, (name,))
    if not rows and must:
        raise Gone(f"role {name} does not exist")
    if rows and identity.key_of(name, rows[0].comment) != key:
        raise Rejected(f"role {name} exists and does not carry our mark")
    return name if rows else None


def make_role(session: Session, step: Step) -> None:
    """A role that nobody can sign in as, with our mark."""
    session.write(lambda tx: _make(tx, session.identity, step))


def switch(session: Session, step: Step) -> None:
    """Move a person from role to role at once.  Raises Transient if they are not where the plan saw them."""
    session.write(lambda tx: _switch(tx, session.identity, step))


def drop_role(session: Session, step: Step) -> None:
    """Drop an empty role that owns nothing."""
    session.write(lambda tx: _drop(tx, session.identity, step.role))


def _make(tx: Transaction, identity: Identity, step: Step) -> None:
    if our_role(tx, identity, step.role, must=False) is None:
        role = sql.Identifier(identity.role_name(step.role))
        tx.run(sql.SQL("CREATE ROLE {} NOLOGIN").format(role))
        mark = sql.Literal(identity.comment(step.role, step.label))
        tx.run(sql.SQL("COMMENT ON ROLE {} IS {}").format(role, mark))


def _switch(tx: Transaction, identity: Identity, step: Step) -> None:
    if "\0" in step.person or not tx.rows(catalog.MARK, (step.person,)):
        raise Gone(f"role {step.person} does not exist")
    before = _current(tx, identity, step.person)
    if not before <= {*step.joins, *step.leaves, *step.keeps}:
        raise Transient(f"the memberships of {step.person} changed since they were read")
    person = sql.Identifier(step.person)
    if step.joins:
        options = sql.SQL(" WITH INHERIT TRUE, SET FALSE, ADMIN FALSE" if tx.version >= 16 else "")
        again = sorted(before & set(step.joins))
        if again and tx.version < 16:
            # there a grant without the option leaves it to its holder
            tx.run(sql.SQL("REVOKE ADMIN OPTION FOR {} FROM {}").format(_listed(tx, identity, again), person))
        tx.run(sql.SQL("GRANT {} TO {}{}").format(_listed(tx, identity, step.joins), person, options))
    leaves = sorted(before & set(step.leaves))
    if leaves:
        tx.run(sql.SQL("REVOKE {} FROM {}").format(_listed(tx, identity, leaves), person))
    if _current(tx, identity, step.person) != (before | set(step.joins)) - set(step.leaves):
        raise Misconfigured(f"the server did not change the memberships of {step.person} as told")


def _listed(tx: Transaction, identity: Identity, keys: Iterable[str]) -> sql.Composed:
    names = (our_role(tx, identity, key, must=True) for key in keys)
    return sql.SQL(", ").join(sql.Identifier(name) for name in names if name is not None)


def _current(tx: Transaction, identity: Identity, person: str) -> set[str]:
    """The keys of our roles the person is a member of by our own grant."""
    server = tx.rows(catalog.SERVER)[0]
    mine = _BOOTSTRAP if server.superuser else server.me
    rows = tx.rows(catalog.memberships_of(tx.version), {"person": person, "grantor": mine})
    keys = (identity.key_of(row.name, row.comment) for row in rows)
    return {key for key in keys if key is not None}


def _drop(tx: Transaction, identity: Identity, key: str) -> None:
    name = our_role(tx, identity, key, must=False)
    if name is None:
        return
    oid = tx.rows(catalog.MARK, (name,))[0].oid
    server = tx.rows(catalog.SERVER)[0]
    if any(row.sets or row.inherits for row in tx.rows(catalog.members_of(tx.version), (oid, server.me))):
        raise Transient(f"role {name} still has members")
    dependencies = tx.rows(catalog.DEPENDENCIES, (oid,))
    for row in dependencies:
        if row.kind == "o":
            raise Rejected(f"role {name} owns objects: give them to somebody else first")
        if not row.here:
            raise Rejected(f"role {name} holds rights in database {row.database}")
    if dependencies:
        # take what is left, on functions or types perhaps; what others granted stays and keeps the role
        role = sql.Identifier(name)
        if not tx.rows(catalog.SERVER)[0].superuser:
            # only who has the role's rights may, and the membership goes with the role
            options = sql.SQL(" WITH INHERIT TRUE, SET FALSE" if tx.version >= 16 else "")
            tx.run(sql.SQL("GRANT {} TO CURRENT_USER{}").format(role, options))
        try:
            tx.run(sql.SQL("DROP OWNED BY {} RESTRICT").format(role))
        except Misconfigured as error:
            raise Rejected(f"rights are left that others gave: {error}") from error
    tx.run(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))

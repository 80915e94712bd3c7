"""Change rights and memberships in MariaDB: one statement at a time, each done again without harm.

Everybody with roles of ours has one own role, their default, and that one holds them all.  A server lets a
session have one role at a time, and a role that is taken from a role acts on the next statement of every
session, one that is taken from an account only on the next sign-in.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable

from lakewarden.backends.base import Right, Step
from lakewarden.backends.errors import BackendError, Gone, Misconfigured, Rejected, Transient, worst
from policies.sync.backends.mariadb.client import Account, Session
from policies.sync.backends.mariadb.dialect import quoted
from policies.sync.backends.mariadb.names import PERSON
from policies.sync.backends.mariadb.stored_rights import listed

_RIGHT = re.compile(r"(?P<word>[A-Z_ ]+?)(?:\((?P<column>.+)\))?(?: ON (?P<pattern>.+)\.\*)?", re.DOTALL)
_COLUMNS = """
    SELECT Column_name AS col, Column_priv AS rights FROM mysql.columns_priv
     WHERE User = %(user)s AND Host IN (%(host)s, IF(%(host)s = '', '%%', %(host)s))
       AND Db = %(db)s AND Table_name = %(tab)s
"""
_DATABASE = "SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = %s"


def make_role(session: Session, step: Step) -> None:
    """A role that nobody can sign in as, with a name that says it is ours."""
    with session.alone():
        _make(session, session.identity.role_name(step.role), step.role)


def _make(session: Session, name: str, key: str) -> None:
    """Where roles are accounts, one of ours that somebody can sign in as goes first.  Raises Rejected."""
    hosts = session.rows(session.dialect.hosts, (name,)) if session.dialect.many_roles else []
    if any(row["host"] == "%" for row in hosts):
        if session.identity.key_of(name) is None and session.identity.person_of(name) is None:
            raise Rejected(f"there is an account {name} that is not ours")
        session.run(f"DROP USER {quoted(name)}")
        session.end_sessions((name, "%"))  # they would keep what the account had
    session.run(session.dialect.make(name, key))


def change_rights(session: Session, step: Step) -> None:
    """Give or take the rights of a step, as many as can be; raises the worst of what went wrong."""
    with session.alone():
        role, errors = session.identity.role_name(step.role), list[BackendError]()
        if not session.rows(session.dialect.roles, (role,)):
            if step.kind == "give":
                raise Gone(f"role {role} does not exist")
            return
        for statement in _statements(session, step, quoted(role)):
            try:
                if isinstance(statement, BackendError):
                    raise statement
                session.run(statement, missing_is_done=step.kind == "take")
            except (Gone, Misconfigured, Rejected) as error:
                # what is gone is taken
                if step.kind == "give" or not isinstance(error, Gone):
                    errors.append(error)
        if errors:
            raise worst(errors)


def _statements(session: Session, step: Step, role: str) -> Iterable[str | BackendError]:
    by_object: dict[tuple[str, tuple[str, ...]], list[Right]] = defaultdict(list)
    for right in step.rights:
        by_object[right.kind, right.path].append(right)
    for (kind, path), rights in sorted(by_object.items()):
        if step.kind == "give" and kind == "schema" and not session.rows(_DATABASE, path):
            # the server would grant on a database that is not there, and it would wait for one of that name
            yield Gone(f"schema {path[0]} does not exist")
        elif step.kind == "give":
            words = ", ".join(_word(right)[0] for right in rights)
            yield f"GRANT {words} ON {_target(session, rights[0])} TO {role}"
        else:
            # one by one: a right that is gone must not keep the others
            yield from (_revocation(session, right, role) for right in rights)


def _revocation(session: Session, right: Right, role: str) -> str | BackendError:
    try:
        return f"REVOKE {_word(right)[0]} ON {_target(session, right)} FROM {role}"
    except Rejected as error:
        return error


def _word(right: Right) -> tuple[str, str | None]:
    """A right as SQL has it, and the pattern of databases it is on.  Raises Rejected."""
    match = _RIGHT.fullmatch(right.right)
    if match is None:
        raise Rejected(f"{right.right} is no right of MariaDB")
    column = f" ({quoted(match['column'])})" if match["column"] else ""
    return match["word"] + column, match["pattern"]


def _target(session: Session, right: Right) -> str:
    pattern = _word(right)[1]
    if pattern is not None:
        return f"{quoted(pattern)}.*"
    if right.kind == "catalog":
        return "*.*"
    if right.kind == "schema":
        return f"{session.database(right.path[0])}.*"
    return f"{quoted(right.path[0])}.{quoted(right.path[1])}"


# people


def switch(session: Session, step: Step) -> None:
    """Move a person from role to role.  Raises Transient if they are not where the plan saw them."""
    with session.alone():
        accounts = _accounts(session, step.person)
        before = _current(session, step.person, accounts)
        if not before <= {*step.joins, *step.leaves, *step.keeps}:
            raise Transient(f"the memberships of {step.person} changed since they were read")
        own = session.identity.person_role(step.person)
        if step.joins:
            _join(session, step, own, accounts)
        directly = set()
        for key in (*step.leaves, *step.joins):
            name = session.identity.role_name(key)
            if key in step.leaves and session.rows(session.dialect.roles, (own,)):
                session.run(f"REVOKE {quoted(name)} FROM {quoted(own)}", missing_is_done=True)
            for account in accounts:
                if name in {row["role"] for row in session.rows(session.dialect.inside, account)}:
                    session.run(
                        f"REVOKE {quoted(name)} FROM {session.account(account)}", missing_is_done=True
                    )
                    directly.add(account)
        _let_go(session, own, accounts)
        for account in sorted(directly):
            session.end_sessions(account)


def _accounts(session: Session, person: str) -> dict[Account, list[str]]:
    """The person's accounts, and the roles that each has by default.  Raises Gone."""
    rows = session.rows(session.dialect.hosts, (person,))
    if not rows:
        raise Gone(f"{person} does not exist")
    return {
        (person, row["host"]): [name for name in json.loads(row["chosen"] or "[]") if name] for row in rows
    }


def _current(session: Session, person: str, accounts: Iterable[Account]) -> set[str]:
    own = session.identity.person_role(person)
    names = {row["role"] for row in session.rows(session.dialect.inside, (own, ""))}
    for account in accounts:
        names |= {row["role"] for row in session.rows(session.dialect.inside, account)}
    keys = (session.identity.key_of(name) for name in names)
    return {key for key in keys if key is not None}


def _join(session: Session, step: Step, own: str, accounts: dict[Account, list[str]]) -> None:
    """First what their own role holds, then that it is theirs, so that they never sign in to nothing."""
    ours = session.identity
    defaults = {name for chosen in accounts.values() for name in chosen if name != own}
    others = sorted(name for name in defaults if ours.key_of(name) is None)
    if others and not session.dialect.many_roles:
        raise Rejected(
            f"{step.person} has role {others[0]} by default, which others gave; a session has one role only"
        )
    names = [session.identity.role_name(key) for key in step.joins]
    for name in names:
        if not session.rows(session.dialect.roles, (name,)):
            raise Gone(f"role {name} does not exist")
    _make(session, own, f"{PERSON}{step.person}")
    for name in names:
        session.run(f"GRANT {quoted(name)} TO {quoted(own)}")
    for account, chosen in accounts.items():
        session.run(f"GRANT {quoted(own)} TO {session.account(account)}")
        if own not in chosen:
            kept = others if session.dialect.many_roles else []
            session.run(session.dialect.default(session.account(account), [own, *kept]))


def _let_go(session: Session, own: str, accounts: dict[Account, list[str]]) -> None:
    """Without roles they have no own role either; its name must not stay as a default of nothing."""
    if not session.rows(session.dialect.roles, (own,)) or session.rows(session.dialect.inside, (own, "")):
        return
    person = next(iter(accounts))[0]
    for account, chosen in _accounts(session, person).items():
        if own in chosen:
            left = [name for name in chosen if name != own]
            session.run(session.dialect.default(session.account(account), left))
        session.run(f"REVOKE {quoted(own)} FROM {session.account(account)}", missing_is_done=True)
    if not [row for row in session.rows(session.dialect.holders, (own,)) if row["user"] != session.user]:
        session.run(f"DROP ROLE IF EXISTS {quoted(own)}")


def drop_role(session: Session, step: Step) -> None:
    """Drop an empty role; what it was given beside goes with it."""
    with session.alone():
        name = session.identity.role_name(step.role)
        rows = session.rows(session.dialect.holders, (name,))
        held = [row["user"] for row in rows if row["user"] != session.user]
        if held:
            raise Transient(f"role {name} still has members")
        session.run(f"DROP ROLE IF EXISTS {quoted(name)}")


def take_foreign(session: Session, step: Step) -> None:
    """Revoke exactly the rights that somebody was given by others.  Raises Rejected where more would go."""
    with session.alone():
        holder = _holder(session, step.person)
        if holder is None:
            return
        named = session.account(holder) if holder[1] else quoted(holder[0])
        for right in step.rights:
            if right.kind == "role":
                role = session.dialect.named(right.path[0])
                session.run(f"REVOKE {role} FROM {named}", missing_is_done=True)
            else:
                _spare_columns(session, holder, right)
                statement = f"REVOKE {_word(right)[0]} ON {_target(session, right)} FROM {named}"
                session.run(statement, missing_is_done=True)


def _spare_columns(session: Session, holder: Account, right: Right) -> None:
    """A right that is taken on a table is taken on its columns too, where it was given by itself."""
    if len(right.path) != 2 or _word(right)[0] != right.right or "(" in right.right:
        return
    place = {"user": holder[0], "host": holder[1], "db": right.path[0], "tab": right.path[1]}
    rows = session.rows(_COLUMNS, place)
    columns = sorted(row["col"] for row in rows if right.right in {*listed(row["rights"])})
    if columns:
        raise Rejected(
            f"{right.right} on {'.'.join(right.path)} cannot be taken without that on {', '.join(columns)}, "
            "which was given by itself: take that first"
        )


def _holder(session: Session, label: str) -> Account | None:
    """The account that a label means, or the role, without a host; None when it is gone.  Raises Rejected."""
    if session.rows(session.dialect.roles, (label,)):
        return label, ""
    hosts = session.rows(session.dialect.hosts, (label,))
    accounts = [(label, str(row["host"])) for row in hosts if len(hosts) == 1]
    user, at, host = label.rpartition("@")
    if at and host in {row["host"] for row in session.rows(session.dialect.hosts, (user,))}:
        accounts.append((user, host))
    if len(accounts) > 1:
        raise Rejected(f"{label} may be {' or '.join(map(session.account, accounts))}: take it there")
    return accounts[0] if accounts else None

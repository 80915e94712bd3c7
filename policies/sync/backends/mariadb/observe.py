"""Observe a MariaDB server: what exists, which rights are ours, which are foreign, who needs none.

The tables of `mysql` are read, not SHOW GRANTS: that prints password hashes and knows one account at a time.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from lakewarden.backends.base import (
    Bypass,
    Column,
    Foreign,
    FoundObject,
    ObjectKind,
    Observation,
    Right,
)
from policies.sync.backends.mariadb.client import Account, Session
from policies.sync.backends.mariadb.names import Identity
from policies.sync.backends.mariadb.stored_rights import database_of, everywhere, listed, switched_on
from policies.sync.backends.shared import powers

SYSTEM = ("mysql", "information_schema", "performance_schema", "sys")
_DATABASES = "SELECT * FROM mysql.db"
_TABLES = """
    SELECT Host AS host, Db AS db, User AS user, Table_name AS name, Table_priv AS rights
      FROM mysql.tables_priv
"""
_COLUMNS_GIVEN = """
    SELECT Host AS host, Db AS db, User AS user, Table_name AS name, Column_name AS col, Column_priv AS rights
      FROM mysql.columns_priv
"""
_SCHEMATA = """
    SELECT SCHEMA_NAME AS name FROM information_schema.SCHEMATA
     WHERE SCHEMA_NAME NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')
"""
_EXISTING = """
    SELECT TABLE_SCHEMA AS db, TABLE_NAME AS name, TABLE_TYPE AS form, TABLE_COMMENT AS comment,
           CREATE_TIME AS made
      FROM information_schema.TABLES
     WHERE TABLE_TYPE <> 'SEQUENCE'
       AND TABLE_SCHEMA NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')
"""
_COLUMNS = """
    SELECT TABLE_SCHEMA AS db, TABLE_NAME AS tab, COLUMN_NAME AS name, COLUMN_TYPE AS type,
           IS_NULLABLE AS nullable, COLUMN_COMMENT AS comment
      FROM information_schema.COLUMNS
     WHERE TABLE_SCHEMA NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')
     ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION
"""
_GLOBAL = """
    SELECT GRANTEE AS grantee, PRIVILEGE_TYPE AS word
      FROM information_schema.USER_PRIVILEGES WHERE PRIVILEGE_TYPE <> 'USAGE' ORDER BY 1, 2
"""
_ROUTINES = """
    SELECT ROUTINE_SCHEMA AS db, ROUTINE_NAME AS name, ROUTINE_TYPE AS form, DEFINER AS definer
      FROM information_schema.ROUTINES
     WHERE SECURITY_TYPE = 'DEFINER'
       AND ROUTINE_SCHEMA NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')
"""
_ROUTINES_GIVEN = """
    SELECT Host AS host, Db AS db, User AS user, Routine_name AS name, Routine_type AS form,
           Proc_priv AS rights
      FROM mysql.procs_priv
"""
_PROXIES = "SELECT User AS user, Proxied_user AS other FROM mysql.proxies_priv"
_NAMED = re.compile(r"`((?:[^`]|``)*)`|'([^']*)'|([^\s,@`']+)")
NOBODY = {"mariadb.sys", "mysql.sys", "mysql.session", "mysql.infoschema"}
PUBLIC = "PUBLIC"
ANONYMOUS = ""
"""Whoever has no account signs in as it, and what it has on a database every account has there."""


class Reader:
    """The rows of one look; the server keeps no snapshot over its own tables, our lock keeps us out."""

    def __init__(self, session: Session) -> None:
        self.identity: Identity = session.identity
        self.me, self.many_roles = session.user, session.dialect.many_roles
        self.by_letter = session.by_letter
        self.accounts = session.rows(session.dialect.accounts)
        self.mapped = session.rows(session.dialect.mapped)
        self.databases = session.rows(_DATABASES)
        self.tables = session.rows(_TABLES)
        self.column_rights = session.rows(_COLUMNS_GIVEN)
        self.schemata = [row["name"] for row in session.rows(_SCHEMATA)]
        self.existing = session.rows(_EXISTING)
        self.columns = session.rows(_COLUMNS)
        self.routines = session.rows(_ROUTINES)
        self.routine_rights = session.rows(_ROUTINES_GIVEN)
        numbers = session.rows(session.dialect.numbers)
        self.numbers = {(row["db"], row["name"]): row["id"] for row in numbers}
        self.proxies = session.rows(_PROXIES)
        everybodys = session.rows(session.dialect.everybodys) if session.dialect.everybodys else []
        self.named_for_everybody = "".join(str(row["roles"] or "") for row in everybodys)
        self.globals = [
            (row["grantee"].rsplit("@", 1)[0][1:-1], row["word"]) for row in session.rows(_GLOBAL)
        ]

    @cached_property
    def about(self) -> dict[Account, dict[str, Any]]:
        """What the server keeps of each account and role."""
        return {(row["user"], row["host"]): json.loads(row["priv"] or "{}") for row in self.accounts}

    @cached_property
    def roles(self) -> set[str]:
        return {user for (user, _), about in self.about.items() if about.get("is_role")}

    @cached_property
    def people(self) -> dict[str, list[str]]:
        """Who can sign in: the hosts of each name."""
        people: dict[str, list[str]] = defaultdict(list)
        for (user, host), about in sorted(self.about.items()):
            if not about.get("is_role") and user not in {*NOBODY, ANONYMOUS, self.me}:
                people[user].append(host)
        return dict(people)

    @cached_property
    def managed(self) -> dict[str, str]:
        """Our roles: the key of each by its name."""
        keys = {name: self.identity.key_of(name) for name in self.roles}
        return {name: key for name, key in keys.items() if key is not None}

    @cached_property
    def wrappers(self) -> dict[str, str]:
        """The roles of persons: whose each is, by its name."""
        owners = {name: self.identity.person_of(name) for name in self.roles}
        return {name: owner for name, owner in owners.items() if owner is not None}

    @cached_property
    def everybodys(self) -> set[str]:
        """The roles that everybody has, and those that these hold."""
        words = (
            quoted.replace("``", "`") or text or plain
            for quoted, text, plain in _NAMED.findall(self.named_for_everybody)
        )
        roles, more = set[str](), {*words} & self.roles
        while more - roles:
            roles |= more
            more = {row["role"] for row in self.mapped if row["user"] in roles and not row["host"]}
        return roles

    def spared(self, user: str) -> set[str]:
        """The databases on which what each account of this name has on everything was revoked in part."""
        per_host = [
            {part["Database"] for part in self.about[user, host].get("restrictions") or ()}
            for host in self.people.get(user, ())
        ]
        return set.intersection(*per_host) if per_host else set()

    @cached_property
    def kinds(self) -> dict[tuple[str, str], ObjectKind]:
        return {
            (row["db"], row["name"]): "view" if row["form"] == "VIEW" else "table" for row in self.existing
        }

    def ours(self, user: str, host: str) -> bool:
        return self.of_role(user, host) and user in self.managed

    def of_role(self, user: str, host: str) -> bool:
        """Whether a row is about a role: it has no host, or that of everywhere where roles are accounts."""
        return not host or (self.many_roles and host == "%" and user in self.roles)

    def label(self, user: str, host: str) -> str:
        """How a holder is called: by name alone where that says which account is meant."""
        alone = self.of_role(user, host) or (self.people.get(user) == [host] and user not in self.roles)
        return user if alone else f"{user}@{host}"

    def is_everybody(self, user: str, host: str) -> bool:
        return user == ANONYMOUS or (user == PUBLIC and not host)

    def given(self) -> Iterator[tuple[str, str, Right]]:
        """Every right that any account or role was given: to whom, from which host, which.

        What an account has on everything is no right of its own but a bypass; a role passes it on.  Who gave
        it is not told: the server keeps only who changed anything on the same table last.
        """
        for (user, host), about in self.about.items():
            for word in everywhere(about.get("access") or 0) if about.get("is_role") else ():
                yield user, host, Right("catalog", (), word)
        for user, word in self.globals:
            if user in self.roles:  # where roles are accounts
                yield user, "", Right("catalog", (), word)
        for row in self.databases:
            kind, path, suffix = database_of(row["Db"], by_letter=self.by_letter)
            for word in switched_on(row):
                yield row["User"], row["Host"], Right(kind, path, word + suffix)
        for row in (*self.tables, *self.column_rights):
            path = (row["db"], row["name"])
            column = f"({row['col']})" if "col" in row else ""
            for word in listed(row["rights"]):
                yield row["user"], row["host"], Right(self.kinds.get(path, "table"), path, word + column)


def observe(session: Session) -> Observation:
    """Everything of one server that matters."""
    reader = Reader(session)
    roles, foreign, by_rights = _rights(reader)
    members, amiss = _members(reader)
    hidden = _hidden(reader, roles)
    return Observation(
        complete=not hidden,
        position="",
        objects=tuple(_objects(reader)),
        people=frozenset(reader.people),
        roles=roles,
        members=members,
        foreign=tuple(sorted({*foreign, *_foreign_members(reader)}, key=_order)),
        bypasses=(*by_rights, *_definers(reader), *_bypasses(reader)),
        unknown=tuple(hidden),
        amiss_members=amiss,
        groups=_groups(reader),
    )


def _hidden(reader: Reader, roles: Mapping[str, Iterable[Right]]) -> list[str]:
    """What our roles have rights on and the account does not see, though it is there.

    A server does not show an account what it has no right on, and that must not pass for dropped.
    """
    existing_databases = {database for database, _ in reader.numbers} - {*reader.schemata}
    unseen: frozenset[tuple[str, ...]] = frozenset(reader.numbers.keys() - reader.kinds.keys())
    named = {right.path for rights in roles.values() for right in rights if right.path}
    hidden = (named & unseen) | {path[:1] for path in named if path[0] in existing_databases}
    text = "is there, and the account cannot see it: give it its rights there again"
    return [f"{'.'.join(path)} {text}" for path in sorted(hidden)]


def _order(foreign: Foreign) -> tuple[Right, str, str]:
    return foreign.right, foreign.holder, foreign.grantor


def _objects(reader: Reader) -> Iterator[FoundObject]:
    yield FoundObject("catalog", (), "server")
    for name in sorted(reader.schemata):
        yield FoundObject("schema", (name,), f"database/{name}")
    columns: dict[tuple[str, str], list[Column]] = defaultdict(list)
    for row in reader.columns:
        columns[row["db"], row["tab"]].append(
            Column(row["name"], row["type"], nullable=row["nullable"] == "YES", comment=row["comment"] or "")
        )
    for row in sorted(reader.existing, key=lambda row: (row["db"], row["name"])):
        path = (row["db"], row["name"])
        number = reader.numbers.get(path)
        id_ = f"table/{number}" if number is not None else f"{row['db']}/{row['name']}@{row['made'] or ''}"
        comment = "" if row["form"] == "VIEW" else row["comment"] or ""
        yield FoundObject(
            reader.kinds[path],
            path,
            id_,
            comment=comment,
            columns=tuple(columns[path]),
            detail={"form": row["form"].lower()},
        )


def _rights(reader: Reader) -> tuple[dict[str, frozenset[Right]], list[Foreign], list[Bypass]]:
    held: dict[str, set[Right]] = {key: set() for key in reader.managed.values()}
    foreign, bypasses = [], []
    for user, host, right in reader.given():
        if reader.of_role(user, host) and user in reader.everybodys:
            bypasses.append(Bypass(PUBLIC, right.right, right.path))
        if reader.ours(user, host):
            held[reader.managed[user]].add(right)
        elif user in NOBODY or (user == reader.me and right.path[:1] == ("mysql",)):
            continue
        elif right.path[:1] == ("mysql",):
            holder = PUBLIC if reader.is_everybody(user, host) else reader.label(user, host)
            bypasses.append(Bypass(holder, powers.ON_OWN_TABLES.english(rights=right.right)))
        elif reader.is_everybody(user, host):
            bypasses.append(Bypass(PUBLIC, right.right, right.path))
        elif right.path[:1] not in {(name,) for name in SYSTEM}:
            foreign.append(Foreign(right, reader.label(user, host)))
    return {key: frozenset(rights) for key, rights in held.items()}, foreign, bypasses


def _members(reader: Reader) -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    """Who is in each of our roles through their own role; amiss where that is not wholly their default."""
    members: dict[str, set[str]] = {key: set() for key in reader.managed.values()}
    amiss: dict[str, set[str]] = {key: set() for key in reader.managed.values()}
    attached = _attached(reader)
    for row in reader.mapped:
        key = reader.managed.get(row["role"])
        if key is None:
            continue
        person = reader.wrappers.get(row["user"]) if not row["host"] else None
        if person is not None:
            members[key].add(person)
            if person not in attached:
                amiss[key].add(person)
        elif row["host"] and row["user"] in reader.people:
            # not by us, or left by a switch that died: the person may take it up, so it counts
            members[key].add(row["user"])
            amiss[key].add(row["user"])
    names = set(reader.people)
    return (
        {key: frozenset(people & names) for key, people in members.items()},
        {key: frozenset(people & names) for key, people in amiss.items()},
    )


def _attached(reader: Reader) -> set[str]:
    """Those whose every account has the person's own role, and has it by default."""
    has = {(row["user"], row["host"], row["role"]) for row in reader.mapped}
    attached = set()
    for wrapper, person in reader.wrappers.items():
        hosts = reader.people.get(person, [])
        defaults = [reader.about[person, host].get("default_roles") or () for host in hosts]
        chosen = all(wrapper in roles for roles in defaults)
        if hosts and chosen and all((person, host, wrapper) in has for host in hosts):
            attached.add(person)
    return attached


def _foreign_members(reader: Reader) -> Iterator[Foreign]:
    """Roles of ours in somebody else's hands, and roles of others in ours: in another role, or a person's own
    with another person."""
    for row in reader.mapped:
        role, holder = row["role"], row["user"]
        inside = not row["host"] and holder in reader.wrappers
        if holder == reader.me or (inside and role in reader.managed):
            continue
        strange = role in reader.managed and not row["host"]
        strange |= role in reader.wrappers and reader.wrappers[role] != holder
        # what somebody gave one of ours all its people have
        strange |= inside or (not row["host"] and holder in reader.managed)
        if strange:
            yield Foreign(Right("role", (role,), "MEMBER"), reader.label(holder, row["host"]))


def _bypasses(reader: Reader) -> Iterator[Bypass]:
    held: dict[str, set[str]] = defaultdict(set)
    for user, word in reader.globals:
        if user in reader.people or user == ANONYMOUS:
            held[user or PUBLIC].add(word)
    for user, words in sorted(held.items()):
        few = len(words) <= 4
        rights = ", ".join(sorted(words))
        held_there = (
            powers.ON_EVERY_DATABASE.english(rights=rights)
            if few
            else powers.MANY_ON_EVERY_DATABASE.english(many=len(words))
        )
        if spared := reader.spared(user):
            held_there = powers.BUT_A_PART.english(what=held_there, databases=", ".join(sorted(spared)))
        yield Bypass(user, held_there)
    for user, other in sorted({(row["user"], row["other"]) for row in reader.proxies}):
        if user in reader.people or user == ANONYMOUS:
            who = powers.ACTS_AS.english(name=other) if other else powers.ACTS_AS_ANYONE.english()
            yield Bypass(user or PUBLIC, who)


def _definers(reader: Reader) -> Iterator[Bypass]:
    """Who runs routines that do what their definer may, whatever they read."""
    definers = {(row["db"], row["name"], row["form"]): row["definer"] for row in reader.routines}
    run: dict[tuple[str, str, str, str], set[tuple[str, str]]] = defaultdict(set)
    for row in reader.routine_rights:
        routine = (row["db"], row["name"], row["form"])
        if routine in definers and "EXECUTE" in listed(row["rights"]):
            run[row["user"], row["host"], row["db"], definers[routine]].add(routine[1:])
    for row in reader.databases:
        kind, path, _ = database_of(row["Db"], by_letter=reader.by_letter)
        for routine, definer in definers.items() if row["Execute_priv"] == "Y" else ():
            if kind == "catalog" or routine[0] == path[0]:
                run[row["User"], row["Host"], routine[0], definer].add(routine[1:])
    for (user, host, database, definer), routines in sorted(run.items()):
        if user in NOBODY or user in (reader.me, definer.rsplit("@", 1)[0]):
            continue
        holder = PUBLIC if reader.is_everybody(user, host) else reader.label(user, host)
        what = powers.RUNS_AS.english(many=len(routines), owner=definer)
        yield Bypass(holder, what, (database,))


def _groups(reader: Reader) -> dict[str, frozenset[str]]:
    groups: dict[str, set[str]] = defaultdict(set)
    for row in reader.mapped:
        if row["role"] not in {*reader.managed, *reader.wrappers} and row["user"] != reader.me:
            groups[row["role"]].add(row["user"])
    return {name: frozenset(members) for name, members in groups.items()}

"""The outside as the contract suite sees it: a server that people change by hand, in memory or real."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import psycopg
import pytest
from psycopg import sql

from lakewarden.backends.base import Backend, Foreign, Right
from lakewarden.backends.testing import memory
from lakewarden.backends.testing.kit import Crash
from lakewarden.backends.testing.memory import Memory
from lakewarden.backends.testing.suite import Suite, on
from policies.sync.backends.postgresql import kind as postgresql
from policies.sync.backends.postgresql.client import Transaction
from policies.sync.backends.postgresql.names import Identity
from policies.sync.connections.destinations import network

_numbers = count(1)
_emptied: dict[str, list[str]] = {}


def rounds(fast: int) -> list[Any]:
    """Two hundred workers that die at random: a few always, all of them where there is time."""
    return [*range(fast), *(pytest.param(number, marks=pytest.mark.slow) for number in range(fast, 200))]


ROUNDS = rounds(8)
READ, WRITE, COSTS = Suite.READ, Suite.WRITE, Suite.COSTS


class MemorySite:
    def __init__(self) -> None:
        self.world = memory.World()

    def backend(self) -> Backend:
        return Memory(self.world)

    def schema(self, name: str) -> None:
        self.world.create("schema", (name,))

    def table(self, schema: str, name: str, *, serial: bool = False) -> None:
        self.world.create("table", (schema, name))

    def drop(self, schema: str, name: str) -> None:
        self.world.drop((schema, name))

    def rename(self, schema: str, name: str, new: str) -> None:
        self.world.rename((schema, name), new)

    def person(self, name: str) -> str:
        self.world.people.add(name)
        return name

    def give_by_hand(self, right: Right, holder: str) -> None:
        self.world.give_foreign(right, holder, "owner")

    def foreign(self) -> set[Foreign]:
        return set(self.backend().observe().foreign)

    def spoil(self, key: str, *, taken: Right | None = None, given: Right | None = None) -> None:
        if taken:
            self.world.roles[key].discard((self.world.find(taken).id, taken.right))
        if given:
            self.world.roles[key].add((self.world.find(given).id, given.right))

    @contextmanager
    def blinded(self) -> Iterator[None]:
        self.world.readable = False
        yield
        self.world.readable = True

    def spoil_member(self, key: str, person: str, *, joins: bool) -> None:
        (set.add if joins else set.discard)(self.world.members[key], person)

    def may(self, person: str, word: str, schema: str, table: str) -> bool:
        seen = self.backend().observe()
        mine = {
            right for key, people in seen.members.items() if person in people for right in seen.roles[key]
        }
        mine |= {item.right for item in seen.foreign if item.holder == person}
        return on(schema, table, word) - {Right("catalog", (), "CONNECT")} <= mine


class PostgresSite:
    """A database of its own with two owners, on a server that tests share; people's names are made unique."""

    def __init__(self, url: str, *, pusher_is_superuser: bool = False, realm: str | None = None) -> None:
        self._number = next(_numbers)
        self._server = url
        # making a database is slow, and hundreds of them are slow to delete
        left = _emptied.setdefault(url, [])
        self.database = left.pop() if left else f"shop_{self._number}"
        self._new = self.database == f"shop_{self._number}"
        self.realm = realm or f"realm {self._number}"
        self.pusher, self.owner, self.other = (f"{who}_{self._number}" for who in ("pusher", "own", "other"))
        with psycopg.connect(url, autocommit=True) as server:
            self._make(server, superuser=pusher_is_superuser)
        self.admin = psycopg.connect(self.url(), autocommit=True)
        self.do("REVOKE ALL ON DATABASE {} FROM PUBLIC", self.database)

    def _make(self, server: psycopg.Connection, *, superuser: bool) -> None:
        rank = "SUPERUSER" if superuser else "CREATEROLE"
        inherit = " WITH INHERIT FALSE, SET TRUE" if server.info.server_version >= 160000 else ""
        for statement in (
            f"CREATE ROLE {self.pusher} LOGIN {rank}",
            f"CREATE ROLE {self.owner} NOLOGIN",
            f"CREATE ROLE {self.other} NOLOGIN",
            f"CREATE DATABASE {self.database}" if self._new else "SELECT",
            f"ALTER DATABASE {self.database} OWNER TO {self.owner}",
            f"GRANT {self.owner} TO {self.pusher}{inherit}",
            f"GRANT {self.other} TO {self.pusher}{inherit}",
            f"GRANT CONNECT ON DATABASE {self.database} TO {self.pusher}",
        ):
            server.execute(statement)

    def url(self, user: str = "postgres") -> str:
        return psycopg.conninfo.make_conninfo(self._server, user=user, dbname=self.database)

    def backend(self) -> Backend:
        return postgresql.open(self.url(self.pusher), realm=self.realm, mark="shop", network=network())

    def role(self, key: str) -> str:
        return Identity(self.realm, "shop").role_name(key)

    def do(self, statement: str, *names: str | tuple[str, ...]) -> None:
        """Run a statement as a superuser; each `{}` is a name."""
        quoted = (sql.Identifier(*([name] if isinstance(name, str) else name)) for name in names)
        self.admin.execute(sql.SQL(statement).format(*quoted))

    @contextmanager
    def acting_as(self, role: str):
        self.do("SET ROLE {}", role)
        try:
            yield
        finally:
            self.admin.execute("RESET ROLE")

    def schema(self, name: str) -> None:
        self.do("CREATE SCHEMA {} AUTHORIZATION {}", name, self.owner)

    def table(self, schema: str, name: str, *, serial: bool = False, owner: str = "") -> None:
        column = "serial" if serial else "int"
        self.do(f"CREATE TABLE {{}} (id {column}, x int)", (schema, name))
        self.do("ALTER TABLE {} OWNER TO {}", (schema, name), owner or self.owner)

    def drop(self, schema: str, name: str) -> None:
        self.do("DROP TABLE {}", (schema, name))

    def rename(self, schema: str, name: str, new: str) -> None:
        self.do("ALTER TABLE {} RENAME TO {}", (schema, name), new)

    def person(self, name: str) -> str:
        unique = f"{name} {self._number}"
        self.do("CREATE ROLE {} LOGIN", unique)
        return unique

    def give_by_hand(self, right: Right, holder: str) -> None:
        with self.acting_as(self.owner):
            self._grant(right, holder)

    def foreign(self) -> set[Foreign]:
        """What people hold by themselves, read past the backend; ours are the roles that carry a comment."""
        rows = self.admin.execute("""
            SELECT n.nspname, c.relname, a.privilege_type, r.rolname, g.rolname
              FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, aclexplode(c.relacl) a
              JOIN pg_roles r ON r.oid = a.grantee JOIN pg_roles g ON g.oid = a.grantor
             WHERE c.relkind = 'r' AND a.grantee <> c.relowner AND n.nspname !~ '^pg_'
               AND shobj_description(r.oid, 'pg_authid') IS NULL AND n.nspname <> 'information_schema'
        """).fetchall()
        return {Foreign(Right("table", (row[0], row[1]), row[2]), row[3], row[4]) for row in rows}

    def spoil(self, key: str, *, taken: Right | None = None, given: Right | None = None) -> None:
        with self.acting_as(self.owner):
            if taken:
                self.do(
                    f"REVOKE {taken.right} ON {taken.kind.upper()} {{}} FROM {{}}", taken.path, self.role(key)
                )
            if given:
                self._grant(given, self.role(key))

    def spoil_member(self, key: str, person: str, *, joins: bool) -> None:
        """Done with the account's own hand, as somebody who has its password would."""
        with psycopg.connect(self.url(self.pusher), autocommit=True) as connection:
            verb, to = ("GRANT", "TO") if joins else ("REVOKE", "FROM")
            names = sql.Identifier(self.role(key)), sql.Identifier(person)
            connection.execute(sql.SQL(f"{verb} {{}} {to} {{}}").format(*names))

    def may(self, person: str, word: str, schema: str, table: str) -> bool:
        """Sign in as the person and try."""
        tries = {
            "SELECT": "SELECT 1 FROM {} LIMIT 0",
            "INSERT": "INSERT INTO {} (x) VALUES (1)",
            "DELETE": "DELETE FROM {} WHERE x = 0",
        }
        try:
            with psycopg.connect(self.url(person)) as connection:
                connection.execute(sql.SQL(tries[word]).format(sql.Identifier(schema, table)))
                connection.rollback()
        except (psycopg.errors.InsufficientPrivilege, psycopg.OperationalError) as error:
            assert "permission denied" in str(error)
            return False
        return True

    @contextmanager
    def dying(self, change: int) -> Iterator[None]:
        """The worker's connection ends before its n-th statement; every second time the worker with it."""

        def dies() -> None:
            self.kill_workers()
            if change % 2:
                raise Crash

        with before_statement(change, dies):
            yield

    def kill_workers(self) -> None:
        """End the connections of the account; they notice at their next statement."""
        self.admin.execute(
            "SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity WHERE usename = %s", (self.pusher,)
        )

    def close(self) -> None:
        """Leave the database empty for the next test; roles stay, they are nobody's any more."""
        self.admin.execute("RESET ROLE")
        self.admin.execute(
            "SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        self.do("ALTER DATABASE {} RESET ALL", self.database)
        self.do("ALTER DATABASE {} OWNER TO postgres", self.database)
        for (name,) in self.admin.execute("""
            SELECT DISTINCT a.grantee::regrole::text FROM pg_database, aclexplode(datacl) a
             WHERE datname = current_database() AND a.grantee NOT IN (0, datdba)
        """).fetchall():
            self.admin.execute(f"REVOKE ALL ON DATABASE {self.database} FROM {name}")
        for (name,) in self.admin.execute("""
            SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
        """).fetchall():
            self.do("DROP SCHEMA {} CASCADE", name)
        self.do("CREATE SCHEMA public AUTHORIZATION pg_database_owner")
        self.admin.close()
        _emptied[self._server].append(self.database)

    def _grant(self, right: Right, holder: str) -> None:
        self.do(f"GRANT {right.right} ON {right.kind.upper()} {{}} TO {{}}", right.path, holder)


@contextmanager
def before_statement(number: int, happens: Callable[[], object]) -> Iterator[None]:
    """Let something happen once, just before the n-th statement that changes something."""
    run, left = Transaction.run, [number]

    def counted(transaction: Transaction, statement: object) -> None:
        left[0] -= 1
        if left[0] == 0:
            happens()
        run(transaction, statement)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Transaction, "run", counted)
        yield

"""A private MariaDB server for the tests, and what people do in it by hand, past the backend."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

import pymysql
import pytest

from lakewarden.backends.base import Backend, Foreign, Right
from lakewarden.backends.testing.kit import Crash
from policies.sync.backends.mariadb import kind as mariadb
from policies.sync.backends.mariadb.client import Session, escaped
from policies.sync.backends.mariadb.dialect import quoted
from policies.sync.backends.mariadb.names import PERSON, Identity
from policies.sync.connections.destinations import network
from tests.ports import free_port
from tests.waiting import PATIENCE

_numbers = count(1)
NEEDED = ("mariadbd", "mariadb-install-db")
RIGHTS = "SELECT, INSERT, UPDATE, DELETE, CREATE, CREATE VIEW"


class Server:
    """One server on its own data folder and socket; by network this machine alone reaches it."""

    def __init__(self) -> None:
        # a socket's path must be short, so it does not live below the tests' own folder
        self.home = Path(tempfile.mkdtemp(prefix="lw-mariadb-"))
        self.socket = self.home / "s"
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Raises RuntimeError with the place of the log."""
        user = ["--user=mysql"] if os.geteuid() == 0 else []
        data = self.home / "data"
        if user:
            shutil.chown(self.home, "mysql")
        subprocess.run(
            [
                *("mariadb-install-db", "--no-defaults", *user, f"--datadir={data}", "--skip-test-db"),
                "--auth-root-authentication-method=normal",
            ],
            check=True,
            capture_output=True,
        )
        with (self.home / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    *("mariadbd", "--no-defaults", *user, f"--datadir={data}", f"--socket={self.socket}"),
                    *(
                        f"--pid-file={self.home}/pid",
                        f"--port={self.port}",
                        "--bind-address=127.0.0.1",
                        "--innodb-flush-log-at-trx-commit=0",
                    ),
                ],
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + PATIENCE
        while not answers(self):
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise RuntimeError(f"MariaDB does not start; its log is {self.home}/log")
            time.sleep(0.1)

    def connect(self, user: str = "root", password: str = "") -> pymysql.Connection[Any]:
        # over a socket nobody listens in, and the machine's authorities take long to read
        return pymysql.connect(
            user=user,
            password=password,
            unix_socket=str(self.socket),
            charset="utf8mb4",
            autocommit=True,
            ssl_disabled=True,
        )

    def url(self, user: str, password: str) -> str:
        who = f"{quote(user, safe='')}:{quote(password, safe='')}"
        return f"mariadb://{who}@localhost/?unix_socket={quote(str(self.socket), safe='')}"

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(PATIENCE)
        shutil.rmtree(self.home, ignore_errors=True)


class OnSocket(Protocol):
    """A server that is reached by a socket once it is there."""

    socket: Path

    def connect(self) -> pymysql.Connection[Any]: ...


def answers(server: OnSocket) -> bool:
    if not server.socket.exists():
        return False
    try:
        server.connect().close()
    except pymysql.Error:
        return False
    return True


class MariaSite:
    """Databases and accounts of one test; schemas bear the names that the test gives, so they go with it."""

    HOST = "localhost"

    def __init__(self, server: Server) -> None:
        self.server, self._number = server, next(_numbers)
        self.identity = Identity(f"realm {self._number}", "shop")
        self.pusher = f"pusher_{self._number}"
        self.signs_in_as = f"{self.pusher}@{self.HOST}"
        self._schemas: list[str] = []
        self._people: list[str] = []
        self.admin = server.connect()
        self.pushes()

    def pushes(self) -> None:
        """Make the account that the backend signs in with."""
        self.do(f"CREATE USER {self.signs_in_as} IDENTIFIED BY 'secret'")
        self.do(f"GRANT CREATE USER, PROCESS, CONNECTION ADMIN ON *.* TO {self.signs_in_as}")
        self.do(f"GRANT {RIGHTS} ON *.* TO {self.signs_in_as} WITH GRANT OPTION")
        self.do(f"GRANT SELECT, UPDATE ON mysql.* TO {self.signs_in_as}")

    def do(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement as root."""
        with self.admin.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def backend(self) -> Backend:
        url = self.server.url(self.pusher, "secret")
        return mariadb.open(url, realm=self.identity.realm, mark=self.identity.mark, network=network())

    def schema(self, name: str) -> None:
        self.do(f"CREATE DATABASE {quoted(name)}")
        self._schemas.append(name)

    def table(self, schema: str, name: str, *, serial: bool = False) -> None:
        self.do(f"CREATE TABLE {quoted(schema)}.{quoted(name)} (id int, x int)")

    def drop(self, schema: str, name: str) -> None:
        self.do(f"DROP TABLE {quoted(schema)}.{quoted(name)}")

    def rename(self, schema: str, name: str, new: str) -> None:
        self.do(f"RENAME TABLE {quoted(schema)}.{quoted(name)} TO {quoted(schema)}.{quoted(new)}")

    def person(self, name: str) -> str:
        unique = f"{name} {self._number}"
        self.do(f"CREATE USER {self.account(unique)}")
        self._people.append(unique)
        return unique

    def account(self, person: str, host: str = "%") -> str:
        return f"{self.admin.escape(person)}@{self.admin.escape(host)}"

    @contextmanager
    def blinded(self) -> Iterator[None]:
        """The account loses its own rights, and with them its sight of what there is."""
        self.do(f"REVOKE {RIGHTS}, GRANT OPTION ON *.* FROM {self.signs_in_as}")
        yield
        self.do(f"GRANT {RIGHTS} ON *.* TO {self.signs_in_as} WITH GRANT OPTION")

    def give_by_hand(self, right: Right, holder: str) -> None:
        self.do(f"GRANT {right.right} ON {self._target(right)} TO {self.account(holder)}")

    def foreign(self) -> set[Foreign]:
        """What people hold by themselves on tables, read past the backend."""
        rows = self.do("SELECT Db, Table_name, User, Table_priv FROM mysql.tables_priv WHERE Host = '%'")
        return {
            Foreign(Right("table", (db, table), word.upper()), user)
            for db, table, user, words in rows
            for word in words.split(",")
            if user in self._people
        }

    def role(self, key: str) -> str:
        return quoted(self.identity.role_name(key))

    def gives_role(self, role: str, person: str) -> list[str]:
        return [
            f"GRANT {role} TO {self.account(person)}",
            f"SET DEFAULT ROLE {role} FOR {self.account(person)}",
        ]

    def spoil(self, key: str, *, taken: Right | None = None, given: Right | None = None) -> None:
        role = self.role(key)
        if taken:
            self.do(f"REVOKE {taken.right} ON {self._target(taken)} FROM {role}")
        if given:
            self.do(f"GRANT {given.right} ON {self._target(given)} TO {role}")

    def spoil_member(self, key: str, person: str, *, joins: bool) -> None:
        """Done with the account's own hand, as somebody who has its password would."""
        role, own = self.role(key), self.role(f"{PERSON}{person}")
        given = self.gives_role(role, person)
        connection = self.server.connect(self.pusher, "secret")
        with connection.cursor() as cursor:
            for statement in given if joins else [f"REVOKE {role} FROM {own}"]:
                cursor.execute(statement)
        connection.close()

    def may(self, person: str, word: str, schema: str, table: str) -> bool:
        """Sign in as the person and try."""
        place = f"{quoted(schema)}.{quoted(table)}"
        tries = {
            "SELECT": f"SELECT 1 FROM {place} LIMIT 0",
            "INSERT": f"INSERT INTO {place} (x) VALUES (1)",
            "DELETE": f"DELETE FROM {place} WHERE x = 0",
        }
        connection = self.server.connect(person)
        try:
            with connection.cursor() as cursor:
                cursor.execute(tries[word])
        except pymysql.err.OperationalError as error:
            assert error.args[0] == 1142, error
            return False
        finally:
            connection.close()
        return True

    @contextmanager
    def dying(self, change: int) -> Iterator[None]:
        """The worker's connection ends before its n-th statement; every second time the worker with it."""
        run, left = Session.run, [change]

        def counted(session: Session, statement: str, **more: bool) -> None:
            left[0] -= 1
            if left[0] == 0:
                self.kill_workers()
                if change % 2:
                    raise Crash
            run(session, statement, **more)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Session, "run", counted)
            yield

    def kill_workers(self) -> None:
        """End the connections of the account; they notice at their next statement."""
        self.do(f"KILL CONNECTION USER {self.signs_in_as}")

    def close(self) -> None:
        for name in self._schemas:
            self.do(f"DROP DATABASE {quoted(name)}")
        self.clear_accounts()
        self.admin.close()

    def clear_accounts(self) -> None:
        roles = self.do("SELECT User FROM mysql.global_priv WHERE JSON_VALUE(Priv, '$.is_role')")
        for (role,) in roles:
            self.do(f"DROP ROLE {quoted(role)}")
        for person in self._people:
            named = self.admin.escape(person)
            hosts = self.do(f"SELECT Host FROM mysql.global_priv WHERE User = {named}")
            for (host,) in hosts:
                self.do(f"DROP USER {self.account(person, host)}")
        self.do(f"DROP USER {self.signs_in_as}")

    def _target(self, right: Right) -> str:
        if right.kind == "schema":
            return f"{escaped(right.path[0])}.*"
        return f"{quoted(right.path[0])}.{quoted(right.path[1])}"


Site = TypeVar("Site", bound=MariaSite)


def with_crm(site: Site) -> Site:
    """The same with database crm, tables contacts and calls, and logins for Ana and for an old program."""
    site.schema("crm")
    site.table("crm", "contacts")
    site.table("crm", "calls")
    for name in ("ana", "legacy"):
        site.do(f"CREATE USER {name}")
        site._people.append(name)
    site.do("GRANT SELECT ON crm.contacts TO legacy")
    return site

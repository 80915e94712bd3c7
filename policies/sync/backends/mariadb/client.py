"""One connection to a MariaDB server: single statements, our lock, and its errors in our words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pymysql
from pymysql.cursors import DictCursor

from lakewarden.backends.deadline import LONGEST, answered_within
from lakewarden.backends.errors import BackendError, Gone, Misconfigured, Rejected, Transient
from lakewarden.backends.network import Network
from policies.sync.backends.mariadb.dialect import MARIADB, Dialect, quoted
from policies.sync.backends.mariadb.names import Identity

_CONNECT_SECONDS, _LOCK_SECONDS = 5, 15
_TRANSIENT = {1205, 1213, 1969, 1040, 1053, 2002, 2003, 2006, 2013, 2055, 1927}
_GONE = {1141, 1146, 1147, 1962, 1396, 1133, 1959, 1976, 3523, 3530}
_MISCONFIGURED = {1044, 1045, 1049, 1142, 1227, 1290, 1698, 1130, 1251, 1410}
NOT_THERE = {1141, 1147, 1962, 1396, 1959, 1133, 1094, 3523, 3530}
"""What a REVOKE or DROP answers when there is nothing to take."""

Account = tuple[str, str]
"""A user's name and the host it comes from, as the server keeps them apart."""


@dataclass(frozen=True)
class Address:
    """Where a server is, read from `mariadb://user:password@host:port/?unix_socket=…` or `mysql://`."""

    user: str
    password: str
    host: str
    port: int
    socket: str

    @property
    def place(self) -> str:
        """Where this leads, for people."""
        return self.socket or f"{self.host}:{self.port}"

    @classmethod
    def read(cls, url: str) -> Address:
        """Raises Misconfigured, without the URL in its words: the password stands in it."""
        try:
            parts = urlsplit(url)
            options = parse_qs(parts.query, strict_parsing=bool(parts.query))
            port = parts.port or 3306
        except ValueError:
            raise _no_url() from None
        sockets = options.pop("unix_socket", [""])
        if parts.scheme not in ("mariadb", "mysql") or options or not (parts.hostname or sockets[0]):
            raise _no_url()
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        return cls(user, password, parts.hostname or "localhost", port, sockets[0])


def _no_url() -> Misconfigured:
    return Misconfigured("the URL must look like mariadb://user:password@host:port/")


class Session:
    """A connection that opens itself when needed and again after it was lost."""

    def __init__(self, url: str, identity: Identity, network: Network, dialect: Dialect = MARIADB) -> None:
        self.identity, self.dialect, self._network = identity, dialect, network
        self.by_letter = False
        self._address = Address.read(url)
        self._connection: pymysql.Connection[Any] | None = None

    @property
    def user(self) -> str:
        return self._address.user

    def connect(self) -> None:
        """Make sure there is a connection.  Raises Transient or Misconfigured."""
        self._opened()

    def rows(self, query: str, values: Sequence[object] | Mapping[str, object] = ()) -> list[dict[str, Any]]:
        """The rows of a query."""
        with _in_our_words(), self._opened().cursor(DictCursor) as cursor, self._within():
            cursor.execute(query, values or None)
            return list(cursor.fetchall())

    def run(self, statement: str, *, missing_is_done: bool = False) -> None:
        """Carry out one statement; it commits itself.  `missing_is_done`: nothing to take is no error."""
        try:
            with self._opened().cursor() as cursor, self._within():
                cursor.execute(statement)
        except pymysql.Error as error:
            if not (missing_is_done and _number(error) in NOT_THERE):
                raise _translated(error) from error

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold our lock: grants commit one by one, so nothing else keeps two workers apart."""
        name = self.literal(self.identity.lock)
        if self.rows(f"SELECT GET_LOCK({name}, {_LOCK_SECONDS}) AS got")[0]["got"] != 1:
            raise Transient("another worker is at it")
        try:
            self._read_first()
            yield
        finally:
            if self._connection is not None and self._connection.open:
                self.rows(f"SELECT RELEASE_LOCK({name}) AS done")

    def _read_first(self) -> None:
        """What everything else depends on, and what may change from one time to the next."""
        if self.dialect.keys:
            marks = {row["name"]: row["mark"] for row in self.rows(self.dialect.keys)}
            self.identity = self.dialect.identity(self.identity.realm, self.identity.mark, marks)  # type: ignore[call-arg]
        if self.dialect.by_letter:
            self.by_letter = bool(self.rows(self.dialect.by_letter)[0]["holds"])

    def database(self, name: str) -> str:
        """A database in a grant on all of it."""
        return quoted(name) if self.by_letter else escaped(name)

    def end_sessions(self, account: Account) -> None:
        """End the sessions of an account: an open one keeps a role that was taken from it until it ends."""
        if not self.dialect.sessions:
            self.run(f"KILL CONNECTION USER {self.account(account)}")
            return
        for row in self.rows(self.dialect.sessions, (account[0],)):
            self.run(f"KILL CONNECTION {row['id']}", missing_is_done=True)

    def literal(self, text: str) -> str:
        """A text as a statement has it."""
        if "\0" in text:
            raise Rejected("a name holds a NUL")
        return str(self._opened().escape(text))

    def account(self, account: Account) -> str:
        return f"{self.literal(account[0])}@{self.literal(account[1])}"

    def close(self) -> None:
        if self._connection is not None and self._connection.open:
            self._connection.close()
        self._connection = None

    def _within(self) -> AbstractContextManager[None]:
        return answered_within(LONGEST, lambda: _socket(self._connection), self._address.place)

    def _opened(self) -> pymysql.Connection[Any]:
        if self._connection is None or not self._connection.open:
            with _in_our_words():
                self._connection = _connect(self._address, self.dialect.settings, self._network)
        return self._connection


def _connect(at: Address, settings: Sequence[str], network: Network) -> pymysql.Connection[Any]:
    if at.socket:
        return _connected(at, settings, unix_socket=network.socket_file(at.socket))
    return network.connected(
        at.host,
        lambda address: _connected(at, settings, host=address, port=at.port),
        pymysql.OperationalError,
    )


def _connected(at: Address, settings: Sequence[str], **where: Any) -> pymysql.Connection[Any]:
    connection = pymysql.connect(
        user=at.user,
        password=at.password,
        charset="utf8mb4",
        autocommit=True,
        connect_timeout=_CONNECT_SECONDS,
        program_name="lakewarden",
        defer_connect=True,
        **where,
    )
    with answered_within(2 * _CONNECT_SECONDS, lambda: _socket(connection), at.place):
        connection.connect()
        with connection.cursor() as cursor:
            for setting in settings:
                cursor.execute(setting)
    return connection


def _socket(connection: pymysql.Connection[Any] | None) -> Any:
    return getattr(connection, "_sock", None)


def escaped(database: str) -> str:
    """A database's name where `_` and `%` stand for anything unless escaped."""
    return quoted(database.replace("\\", "\\\\").replace("_", "\\_").replace("%", "\\%"))


@contextmanager
def _in_our_words() -> Iterator[None]:
    try:
        yield
    except pymysql.Error as error:
        raise _translated(error) from error
    except UnicodeError as error:
        raise Rejected("a name in there is no valid text") from error


def _number(error: pymysql.Error) -> int:
    return error.args[0] if error.args and isinstance(error.args[0], int) else 0


def _translated(error: pymysql.Error) -> BackendError:
    number = _number(error)
    text = f"{error.args[1]} ({number})" if len(error.args) > 1 else str(error)
    lost = isinstance(error, pymysql.InterfaceError | pymysql.OperationalError)
    if number in _TRANSIENT or (number == 0 and lost):
        return Transient(text)
    if number in _GONE:
        return Gone(text)
    return Misconfigured(text) if number in _MISCONFIGURED else Rejected(text)

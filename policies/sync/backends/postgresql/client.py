"""One connection to a PostgreSQL database: short transactions, our lock, and its errors in our words."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import namedtuple_row

from lakewarden import request_ids
from lakewarden.backends.base import Source
from lakewarden.backends.deadline import LONGEST, before_call
from lakewarden.backends.errors import (
    BackendError,
    Gone,
    Misconfigured,
    NotAnswering,
    Rejected,
    Transient,
)
from lakewarden.backends.network import Network
from policies.sync.backends.postgresql.names import Identity
from policies.sync.backends.shared.bounded_connection import BoundedConnection, TookTooLong

T = TypeVar("T")

_CONNECT_SECONDS = 5
_ATTEMPTS = 3
_SETTINGS = {
    # ours are system catalogs only; a function or operator somebody put into `public` must never run for us
    "search_path": "pg_catalog",
    # the owner of the database may have silenced the warnings by which a grant says that it did nothing
    "client_min_messages": "warning",
    # shorter than we wait here, so that what is only slow is ended by the server, in words
    "statement_timeout": "35s",
    "idle_in_transaction_session_timeout": "60s",
}
_NOTHING_OF_OURS = {
    # what a URL leaves out the driver would take from the account that the console runs as, for whoever asks
    "password": "",
    "passfile": f"{os.devnull}/none",
    "sslcertmode": "disable",
    "gssencmode": "disable",
    "require_auth": "!gss,!sspi",
}
_TRANSIENT = {"40001", "40P01", "42710", "55006", "55P03", "57014", "57P01", "57P02", "57P03", "25P03"}
_GONE = {"42704", "42P01", "3F000", "42883", "42703"}
_MISCONFIGURED = {"42501", "0A000", "0P000", "25006", "3D000", "28P01", "28000"}
_NOTHING_DONE = {"01006", "01007"}
_AGAIN = {"XX000", "40001", "40P01"}


class Connection(BoundedConnection):
    """A connection that waits for no answer longer than what hangs may take."""

    limit = LONGEST


class Transaction:
    """A transaction in progress; every statement that only warns that it did nothing is an error."""

    def __init__(self, connection: psycopg.Connection[Any], notices: list[tuple[str, str]]) -> None:
        self._connection = connection
        self._notices = notices

    @property
    def version(self) -> int:
        """The server's major version."""
        return self._connection.info.server_version // 10000

    def rows(
        self, query: sql.SQL | sql.Composed, params: Mapping[str, object] | Sequence[object] = ()
    ) -> list[Any]:
        """The rows of a query, as named tuples."""
        before_call()
        return self._connection.cursor(row_factory=namedtuple_row).execute(query, params).fetchall()

    def run(self, statement: sql.Composed | sql.SQL) -> None:
        """Carry out a statement.  Raises Misconfigured when the server only warned and did nothing."""
        before_call()
        self._notices.clear()
        self._connection.execute(statement)
        for state, text in self._notices:
            if state in _NOTHING_DONE:
                raise Misconfigured(text)

    @contextmanager
    def acting_as(self, owner: str) -> Iterator[None]:
        """Be the owner of the objects, so that grants carry the owner's name and can be revoked by it."""
        self.run(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(owner)))
        yield
        self.run(sql.SQL("SET LOCAL ROLE NONE"))


class Session:
    """A connection that opens itself when needed and again after it was lost."""

    def __init__(self, url: str, identity: Identity, network: Network) -> None:
        self.identity = identity
        self._url, self._network = url, network
        self._connection: psycopg.Connection[Any] | None = None
        self._notices: list[tuple[str, str]] = []
        self._ask: Callable[[Transaction], Source] | None = None
        self._expected: Source | None = None

    @property
    def connected(self) -> bool:
        return self._connection is not None and not self._connection.closed

    def connect(self) -> None:
        """Make sure there is a connection.  Raises Transient or Misconfigured."""
        self._opened()

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Look at one consistent state of the database."""
        with _in_our_words():
            connection = self._opened()
            with connection.transaction():
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                return work(Transaction(connection, self._notices))

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Do something under our lock, wholly or not at all; what collided with others is tried again."""
        for attempt in range(1, _ATTEMPTS):
            try:
                return self._write(work)
            except Transient as error:
                if getattr(error.__cause__, "sqlstate", None) not in _AGAIN:
                    raise
                time.sleep(attempt * random.uniform(0.02, 0.08))  # noqa: S311 -- spreads retries, guards nothing
        return self._write(work)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _write(self, work: Callable[[Transaction], T]) -> T:
        with _in_our_words():
            connection = self._opened()
            with connection.transaction():
                connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE")
                # another worker's transaction may take a while; a locked table must not hold up the others
                connection.execute("SET LOCAL lock_timeout = '15s'")
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (self.identity.lock,))
                connection.execute("SET LOCAL lock_timeout = '1s'")
                return work(Transaction(connection, self._notices))

    def expects(self, ask: Callable[[Transaction], Source], expected: Source) -> None:
        """Ask each further connection where it leads: of several hosts the next may be another system."""
        self._ask, self._expected = ask, expected

    def _opened(self) -> psycopg.Connection[Any]:
        if self._connection is None or self._connection.closed:
            connection = _connect(self._url, self._network)
            try:
                self._check(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
            self._connection.add_notice_handler(self._noticed)
        return self._connection

    def _check(self, connection: psycopg.Connection[Any]) -> None:
        with _in_our_words():
            if self._ask is not None and self._ask(Transaction(connection, self._notices)) != self._expected:
                raise Misconfigured("the connection leads to another system than it did a moment ago")

    def _noticed(self, notice: psycopg.errors.Diagnostic) -> None:
        # read now: a notice is empty once its result is gone
        self._notices.append((notice.sqlstate or "", notice.message_primary or ""))


def _connect(url: str, network: Network) -> psycopg.Connection[Any]:
    if "\0" in url:
        raise Misconfigured("the connection URL holds a NUL")
    try:
        named = {name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None}
        own = {name: value for name, value in _NOTHING_OF_OURS.items() if name not in named}
        judged: dict[str, Any] = {**own, **network.libpq(named)}
        connection = Connection.connect(
            url,
            **judged,
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=_CONNECT_SECONDS,
            tcp_user_timeout=30_000,
            keepalives_idle=10,
            keepalives_interval=5,
            client_encoding="UTF8",
            # the log over there names the request that this is done for
            application_name=f"lakewarden {request_ids.current()}".strip()[:63],
        )
        settings = dict(_SETTINGS)
        if connection.info.server_version >= 160000:
            settings["createrole_self_grant"] = ""
        for name, value in settings.items():
            connection.execute("SELECT pg_catalog.set_config(%s, %s, false)", (name, value))
    except psycopg.ProgrammingError:
        # the reason quotes parts of the URL, and the password is one of them
        raise Misconfigured("the connection URL cannot be read") from None
    except psycopg.Error as error:
        raise _translated(error) from error
    return connection


@contextmanager
def _in_our_words() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise _translated(error) from error
    except UnicodeError as error:
        raise Rejected("a name in there is no valid text") from error


def _translated(error: psycopg.Error) -> BackendError:
    parts = [error.diag.message_primary, error.diag.message_detail]
    words = "; ".join(part for part in parts if part) or str(error).strip()
    return _kind_of(error)(words)


def _kind_of(error: psycopg.Error) -> type[BackendError]:
    state = error.sqlstate
    if isinstance(error, TookTooLong | psycopg.errors.ConnectionTimeout):
        return NotAnswering
    if state is None:
        return (
            Transient if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)) else Rejected
        )
    if state in _TRANSIENT or state[:2] in ("08", "53") or _collided(error):
        return Transient
    if state in _GONE:
        return Gone
    return Misconfigured if state in _MISCONFIGURED else Rejected


def _collided(error: psycopg.Error) -> bool:
    """Two sessions changed one row of the system catalogs; the server calls that an internal error."""
    if error.sqlstate == "23505":
        return error.diag.schema_name == "pg_catalog"
    return error.sqlstate == "XX000" and "concurrently" in str(error)

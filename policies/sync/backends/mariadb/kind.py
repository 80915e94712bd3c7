"""MariaDB 10.11 and newer as a backend: a role for each role of ours, and a role for each person.

A database is a schema here; using a catalog or a schema needs no right.  Rights on columns and routines are
left alone, and so is what stands in a database's name as a pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from lakewarden.backends.base import Backend, Finding, ObjectKind, Observation, Outcome, Plan, Source, Step
from lakewarden.backends.errors import BackendError
from lakewarden.backends.kinds import Kind
from lakewarden.backends.network import Network
from lakewarden.backends.steps import attempted
from policies.sync.backends.mariadb.apply import change_rights, drop_role, make_role, switch, take_foreign
from policies.sync.backends.mariadb.client import Address, Session
from policies.sync.backends.mariadb.names import Identity
from policies.sync.backends.mariadb.observe import observe

_RIGHTS: dict[tuple[str, ObjectKind], tuple[str, ...]] = {
    ("CREATE_TABLE", "schema"): ("CREATE",),
    ("CREATE_VIEW", "schema"): ("CREATE VIEW",),
    ("SELECT_TABLE", "table"): ("SELECT",),
    ("MODIFY_TABLE", "table"): ("SELECT", "INSERT", "UPDATE", "DELETE"),
    ("SELECT_VIEW", "view"): ("SELECT",),
}
_OPERATIONS: dict[str, Callable[[Session, Step], None]] = {
    "make_role": make_role,
    "give": change_rights,
    "take": change_rights,
    "switch": switch,
    "drop_role": drop_role,
    "take_foreign": take_foreign,
}


def open(url: str, *, realm: str, mark: str, network: Network) -> Backend:
    """The backend behind a `mariadb://` URL, connected when first used.  Raises Misconfigured."""
    return MariaDB(Session(url, Identity(realm, mark), network))


def parts(url: str) -> dict[str, str]:
    """What the driver reads in a URL.  Raises Misconfigured."""
    at = Address.read(url)
    values = {"port": str(at.port), "dbname": "", "user": at.user, "password": at.password}
    return {**values, "host": "/", "socket": at.socket} if at.socket else {**values, "host": at.host}


KIND = Kind(
    code="mariadb",
    label="MariaDB",
    open=open,
    schemes=("mariadb://",),
    example="mariadb://user:password@host:port/",
    provider="jdbc-mysql",
    parts=parts,
    needs=("network",),
)


class MariaDB:
    """One MariaDB server, over one connection; not to be shared by threads."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def rights_for(self, privilege: str, kind: ObjectKind) -> tuple[str, ...]:
        """The rights on an object of `kind` that carry a console privilege; () when none is needed."""
        return _RIGHTS.get((privilege, kind), ())

    def source(self) -> Source:
        """The server: MySQL numbers itself; MariaDB is the one of this machine, port and data folder."""
        row = self._session.rows(self._session.dialect.source)[0]
        return Source(f"{self._session.dialect.scheme} {' '.join(str(row[name]) for name in sorted(row))}")

    def observe(self) -> Observation:
        """One look, while no worker of ours is at it.  Raises errors of `lakewarden.backends.errors`."""
        with self._session.alone():
            return observe(self._session)

    def apply(self, plan: Plan) -> Iterator[Outcome]:
        """Do each step and say what became of it; raises only when no connection can be made."""
        failed: list[Step] = []
        for step in plan.steps:
            self._session.connect()
            yield attempted(step, failed, self._do)

    def check(self) -> Iterable[Finding]:
        """What works and what has to be mended, in words."""
        try:
            return list(self._findings())
        except BackendError as error:
            return [Finding.unreachable(error)]

    def close(self) -> None:
        """Let go of the connection; the next call makes a new one."""
        self._session.close()

    def _do(self, step: Step) -> None:
        _OPERATIONS[step.kind](self._session, step)

    def _findings(self) -> Iterator[Finding]:
        server = self._session.rows("SELECT VERSION() AS version, @@global.read_only AS shut")[0]
        text = str(server["version"])
        number = tuple(int(part) for part in text.split("-")[0].split(".")[:2])
        dialect = self._session.dialect
        is_known = dialect.known(text, number)
        yield Finding(
            ok=is_known, text=f"the server is {text}; {dialect.oldest} or newer is known", blocks=not is_known
        )
        if server["shut"]:
            yield Finding(ok=False, text="the server is read only", blocks=True)
        observe(self._session)
        yield Finding(ok=True, text="everything that matters can be read")
        held = {row["word"] for row in self._session.rows(_MINE)}
        for word in dialect.needed:
            if word not in held:
                yield Finding(ok=False, text=f"the account lacks {word} on *.*", blocks=word == "CREATE USER")


_MINE = """
    SELECT PRIVILEGE_TYPE AS word FROM information_schema.USER_PRIVILEGES
     WHERE GRANTEE = CONCAT("'", REPLACE(CURRENT_USER(), '@', "'@'"), "'")
"""

"""PostgreSQL 14 and newer as a backend: one role of the cluster for each role of ours, people as its members.

Every grant is made in the name of the object's owner, so it can be told from what others gave and be taken
back.  Functions and default privileges are left alone; rights on columns only taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from lakewarden.backends.base import Backend, Finding, ObjectKind, Observation, Outcome, Plan, Source, Step
from lakewarden.backends.errors import BackendError, Misconfigured
from lakewarden.backends.kinds import Field, Kind, plain_url
from lakewarden.backends.network import Network
from lakewarden.backends.planning.ordering import waits_for
from lakewarden.backends.steps import attempted
from policies.sync.backends.postgresql.check import check
from policies.sync.backends.postgresql.client import Session
from policies.sync.backends.postgresql.foreign import take_foreign
from policies.sync.backends.postgresql.names import Identity
from policies.sync.backends.postgresql.observe import observe
from policies.sync.backends.postgresql.rights import change_rights
from policies.sync.backends.postgresql.roles import drop_role, make_role, switch
from policies.sync.backends.postgresql.source import source

_RIGHTS: dict[tuple[str, ObjectKind], tuple[str, ...]] = {
    ("USE_CATALOG", "catalog"): ("CONNECT",),
    ("CREATE_SCHEMA", "catalog"): ("CREATE",),
    ("USE_SCHEMA", "schema"): ("USAGE",),
    ("CREATE_TABLE", "schema"): ("CREATE",),
    ("CREATE_VIEW", "schema"): ("CREATE",),
    ("REGISTER_FUNCTION", "schema"): ("CREATE",),
    ("SELECT_TABLE", "table"): ("SELECT",),
    # without SELECT no UPDATE or DELETE can say which rows it means
    ("MODIFY_TABLE", "table"): ("SELECT", "INSERT", "UPDATE", "DELETE"),
    ("SELECT_VIEW", "view"): ("SELECT",),
}
_ROLES_A_STATEMENT = 10
_OPERATIONS: dict[str, Callable[[Session, Step], None]] = {
    "make_role": make_role,
    "give": change_rights,
    "switch": switch,
    "take": change_rights,
    "drop_role": drop_role,
    "take_foreign": take_foreign,
}


def open(url: str, *, realm: str, mark: str, network: Network) -> Backend:
    """The backend behind a `postgresql://` URL, connected when first used.

    `mark` is the connected catalog's own lasting name within the realm; two that shared one would take each
    other's roles for their own.
    """
    return PostgreSQL(Session(url, Identity(realm, mark), network))


def parts(url: str) -> dict[str, str]:
    """What the driver reads in a URL, as no other parser splits it in the same way.  Raises Misconfigured."""
    # the driver's own words may hold the password, so they are not passed on
    if not url.startswith(_SCHEMES):
        raise _no_url()
    try:
        values = {name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None}
    except (ProgrammingError, UnicodeError):
        raise _no_url() from None
    if not all(map(_is_port, filter(None, values.get("port", "").split(",")))):
        raise _no_url()
    return values


def _is_port(text: str) -> bool:
    return text.isdecimal() and len(text) <= 5 and 0 < int(text) < 65536


def _no_url() -> Misconfigured:
    return Misconfigured(f"the URL must look like {_EXAMPLE}")


def _url(values: Mapping[str, str]) -> str:
    return f"{plain_url('postgresql://', values)}?sslmode={values.get('tls') or 'prefer'}"


_SCHEMES = ("postgresql://", "postgres://")
_EXAMPLE = "postgresql://user:password@host:port/database"
_TLS = (
    ("prefer", "If supported"),
    ("require", "Required"),
    ("verify-full", "Required, with a checked certificate"),
)
KIND = Kind(
    code="postgresql",
    label="PostgreSQL",
    open=open,
    schemes=_SCHEMES,
    example=_EXAMPLE,
    provider="jdbc-postgresql",
    fields=(
        Field("database", "Database"),
        Field("tls", "Encryption in transit", required=False, choices=_TLS),
    ),
    url=_url,
    parts=parts,
    needs=("network",),
)


def _alike(steps: Iterable[Step]) -> Iterator[list[Step]]:
    """Neighbours that give exactly the same, some at a time; every other step alone."""
    together: list[Step] = []
    for step in steps:
        same = together and step.kind == "give" and step.rights == together[0].rights
        if together and not (same and together[0].kind == "give" and len(together) < _ROLES_A_STATEMENT):
            yield together
            together = []
        together.append(step)
    if together:
        yield together


class PostgreSQL:
    """One database of a PostgreSQL server, over one connection; not to be shared by threads."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def rights_for(self, privilege: str, kind: ObjectKind) -> tuple[str, ...]:
        """The rights on an object of `kind` that carry a console privilege; () when there are none."""
        return _RIGHTS.get((privilege, kind), ())

    def source(self) -> Source:
        """The numbers of the cluster and of the database in it; from now on each connection leads there."""
        row = self._session.read(source)
        self._session.expects(source, row)
        return row

    def observe(self) -> Observation:
        """One consistent reader.  Raises errors of `lakewarden.backends.errors`."""
        return self._session.read(lambda tx: observe(tx, self._session.identity))

    def apply(self, plan: Plan) -> Iterator[Outcome]:
        """Do each step and say what became of it; raises only when no connection can be made."""
        failed: list[Step] = []
        for steps in _alike(plan.steps):
            self._session.connect()
            if len(steps) > 1 and self._done_together(steps, failed):
                yield from map(Outcome, steps)
                continue
            for step in steps:
                self._session.connect()
                yield attempted(step, failed, self._do)

    def check(self) -> Iterable[Finding]:
        """What works and what has to be mended, in words."""
        return check(self._session)

    def close(self) -> None:
        """Let go of the connection; the next call makes a new one."""
        self._session.close()

    def _done_together(self, steps: Sequence[Step], failed: list[Step]) -> bool:
        """Give the same to several roles by the same statements; when anything fails, each goes alone."""
        if any(waits_for(step, failed) for step in steps):
            return False
        try:
            change_rights(self._session, steps[0], [step.role for step in steps[1:]])
        except BackendError:
            return False
        return True

    def _do(self, step: Step) -> None:
        _OPERATIONS[step.kind](self._session, step)

"""Noticing that the console's own database came back from a copy, so that nothing revoked comes back with it.

A restored copy has another identity than the database it was made of: another number in its server,
another server, or another timeline.  Until somebody has looked at the plan the backends only report.  A part
that the server refuses to tell is unknown and compared with nothing; a question that got no answer is no
answer, and its error rises.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import ProgrammingError, connection, transaction
from django.utils import timezone
from psycopg.errors import InsufficientPrivilege

from catalog.nodes import last
from policies.authority import SYSTEM, of_system
from policies.events import BACKEND_POLICY
from policies.models import Backend, DatabaseIdentity
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.services import realm_of
from policies.sync.safeguards import alerts

REASON = "The console's database was restored from a backup."
UNKNOWN = "?"
PARTS = (
    "SELECT system_identifier FROM pg_control_system()",
    # as the log is written now: what the last checkpoint says stays that of the old primary for minutes after
    # a standby was promoted
    "SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int",
    "SELECT oid FROM pg_database WHERE datname = current_database()",
)
"""The server, its timeline, and the database in it."""
FIRST_OID = 16384
"""Smaller numbers are the server's own; a timeline is small, the number of a server very large."""
_LOCK = 0x7075_7462


def check() -> bool:
    """Whether the database was restored since the last look; then every backend only reports from now on.

    Raises what Django raises when the database does not answer: that says nothing about where it came from.
    """
    now = identity()
    if _knows(now):
        return False
    with _alone():
        if _knows(now):
            return False
        # the identity is kept last: stopping before it has all of this done once more, and never not at all
        only_report()
        DatabaseIdentity.objects.update(identity=now, since=timezone.now())
    return True


def only_report() -> int:
    """Have every backend report and tell so; operators say it for copies whose identity is the same."""
    rows = list(Backend.objects.filter(policy=Backend.Policy.REPAIR).order_by("pk"))
    for row in rows:
        _set_to_report(row)
    for row in Backend.objects.filter(restored=True):
        alerts.look(row)
    return len(rows)


def identity() -> str:
    """What tells this database from a copy of it, as far as the server tells its own numbers."""
    return ":".join(map(_asked, PARTS))


def _asked(query: str) -> str:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(query)
            return str(cursor.fetchone()[0])
    except ProgrammingError as error:
        if isinstance(error.__cause__, InsufficientPrivilege):
            return UNKNOWN
        raise


def _knows(now: str) -> bool:
    """Whether this is the database that is known, or the first; what was unknown of it is learned."""
    first = {"identity": now, "since": timezone.now()}
    row, _ = DatabaseIdentity.objects.get_or_create(pk=DatabaseIdentity.ONLY, defaults=first)
    known, seen = _parts(row.identity), now.split(":")
    both = [(old, new) for old, new in zip(known, seen, strict=True) if UNKNOWN not in (old, new)]
    if any(old != new for old, new in both):
        return False
    merged = ":".join(new if old == UNKNOWN else old for old, new in zip(known, seen, strict=True))
    if merged != row.identity:
        DatabaseIdentity.objects.filter(identity=row.identity).update(identity=merged)
    return True


def _parts(identity: str) -> list[str]:
    """The three parts of what was kept; rows from before had nothing in place of what was unknown."""
    parts = identity.split(":")
    if len(parts) == len(PARTS):
        return parts
    oid = parts[0] if len(parts) == 1 and parts[0].isdecimal() else ""
    return [UNKNOWN, UNKNOWN, oid if oid and FIRST_OID <= int(oid) < 2**32 else UNKNOWN]


@contextmanager
def _alone() -> Iterator[None]:
    # a session lock: each record below is a transaction of its own
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
    try:
        yield
    finally:
        if connection.is_usable():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])


def _set_to_report(row: Backend) -> None:
    mine = Backend.objects.filter(pk=row.pk)
    catalog = last(row.catalog_id)
    if catalog is None:
        mine.update(policy=Backend.Policy.REPORT, restored=True)
        return
    with change(BACKEND_POLICY, realm=realm_of(catalog), by=SYSTEM, reason=REASON) as current:
        mine.update(policy=Backend.Policy.REPORT, restored=True)
        event = make_event(BACKEND_POLICY, catalog, backend=str(row), policy=Backend.Policy.REPORT.label)
        current.say(event, by=of_system("restored"))

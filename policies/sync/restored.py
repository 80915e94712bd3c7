"""Noticing that the console's own database came back from a copy, so that nothing revoked comes back with it.

A copy that was put back has another identity than the database it was made of: another number in its server,
another server, or another timeline.  Until somebody has looked at the plan the backends only report.
"""

from __future__ import annotations

from django.db import Error, connection, transaction
from django.utils import timezone

from catalog.nodes import last
from policies.authority import SYSTEM, of_system
from policies.changes import change
from policies.events import BACKEND_POLICY
from policies.models import Backend, DatabaseIdentity
from policies.saying import said
from policies.services import realm_of

REASON = "The console's database came back from a copy."
_OWN = "SELECT oid FROM pg_database WHERE datname = current_database()"
_SERVER = "SELECT system_identifier FROM pg_control_system()"
_TIMELINE = "SELECT timeline_id FROM pg_control_checkpoint()"


def check() -> bool:
    """Whether the database was put back since the last look; then every backend only reports from now on."""
    now = identity()
    with transaction.atomic():
        known = DatabaseIdentity.objects.select_for_update().first()
        if known is None:
            DatabaseIdentity.objects.create(identity=now, since=timezone.now())
        if known is None or known.identity == now:
            return False
        known.identity, known.since = now, timezone.now()
        # report first: stopping here must not leave a database that is known again and backends that repair
        Backend.objects.filter(policy=Backend.Policy.REPAIR).update(restored=True)
        Backend.objects.update(policy=Backend.Policy.REPORT)
        known.save()
    _say()
    return True


def only_report() -> int:
    """The same, told by an operator: for copies that bear the identity of what they were made of."""
    many = Backend.objects.filter(policy=Backend.Policy.REPAIR).update(
        policy=Backend.Policy.REPORT, restored=True
    )
    _say()
    return many


def identity() -> str:
    """What tells this database from a copy of it, as far as the server tells its own numbers."""
    return ":".join(filter(None, (_asked(query) for query in (_SERVER, _TIMELINE, _OWN))))


def _asked(query: str) -> str:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(query)
            return str(cursor.fetchone()[0])
    except Error:
        return ""


def _say() -> None:
    for row in Backend.objects.filter(restored=True):
        catalog = last(row.catalog_id)
        if catalog is not None:
            with change(BACKEND_POLICY, realm=realm_of(catalog), by=SYSTEM, reason=REASON) as current:
                told = said(BACKEND_POLICY, catalog, backend=str(row), policy=Backend.Policy.REPORT.label)
                current.say(told, by=of_system("restored"))

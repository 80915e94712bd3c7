"""Uses of objects, told by jobs once a run: kept so that an owner sees which access is needed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from accounts.models import Principal
from catalog.nodes import Node
from policies.models import Use

KEPT = timedelta(days=400)
LONGEST_RUN = 200
LONGEST_ACTION = 64


@dataclass(frozen=True)
class ReportedUse:
    """Somebody did something to an object, or, where not `executed`, only prepared to."""

    principal: Principal
    node: Node
    action: str
    executed: bool
    at: datetime


_TAKE = """
INSERT INTO policies_use (realm_id, reporter_id, run, principal_id, securable_id, action, executed, at)
SELECT %s, %s, %s, u.* FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::bool[], %s::timestamptz[]) u
ON CONFLICT (reporter_id, realm_id, run, principal_id, securable_id, action) DO UPDATE
   SET executed = policies_use.executed OR excluded.executed, at = greatest(policies_use.at, excluded.at)
 WHERE (policies_use.executed, policies_use.at)
       IS DISTINCT FROM (policies_use.executed OR excluded.executed, greatest(policies_use.at, excluded.at))
"""


def take(realm_id: int, reporter: Principal, run: str, uses: Iterable[ReportedUse]) -> None:
    """Keep the uses of one run; what was told before is not kept twice.  One query."""
    once: dict[tuple[int, int, str], ReportedUse] = {}
    for use in uses:
        key = (use.principal.pk, use.node.id, use.action)
        before = once.get(key)
        once[key] = use if before is None else _joined(before, use)
    if not once:
        return
    rows = [once[key] for key in sorted(once)]
    columns: list[list[Any]] = [
        [use.principal.pk for use in rows],
        [use.node.id for use in rows],
        [use.action for use in rows],
        [use.executed for use in rows],
        [use.at for use in rows],
    ]
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, [realm_id, reporter.pk, run, *columns])


def _joined(reported_use: ReportedUse, other: ReportedUse) -> ReportedUse:
    executed, at = reported_use.executed or other.executed, max(reported_use.at, other.at)
    return ReportedUse(reported_use.principal, reported_use.node, reported_use.action, executed, at)


_FORGET = """
DELETE FROM policies_use old WHERE old.at < %s AND EXISTS (
    SELECT FROM policies_use new
     WHERE new.principal_id = old.principal_id AND new.securable_id = old.securable_id
       AND new.action = old.action AND new.executed >= old.executed
       AND (new.executed, new.at, new.id) > (old.executed, old.at, old.id))
"""


def forget_old(now: datetime) -> int:
    """Delete uses that are long past, but for the last one of each kind; answers how many.  One query."""
    with connection.cursor() as cursor:
        cursor.execute(_FORGET, [now - KEPT])
        deleted: int = cursor.rowcount
    return deleted


def last_use(node: Node) -> Use | None:
    """When the object was last really used, by whom, in which run.  One query."""
    rows = Use.objects.filter(securable=node.id, executed=True).select_related("principal")
    return rows.order_by("-at").first()


def last_uses(principal: Principal, realms: Collection[int], *, limit: int = 20) -> list[Use]:
    """What somebody last really used in some realms, newest first.  One query."""
    rows = Use.objects.filter(principal=principal, realm__in=realms, executed=True)
    return list(rows.order_by("-at")[:limit])

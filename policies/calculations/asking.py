"""Asking for an effect to be worked out, and reading how far that is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import Principal
from catalog.models import Realm
from catalog.nodes import Node
from catalog.queries import root as root_of
from policies.data_views.visibility import governed
from policies.errors import Gone, Invalid, NotFound
from policies.models import Calculation, Heartbeat
from policies.record import wakeups
from policies.requests.plan_approvals import last_change_of_access
from policies.simulation.changes import Change
from policies.simulation.stored_changes import to_json
from policies.sync.runs import heartbeat

KEPT = timedelta(days=1)
"""So long a result is kept, where the realm stays as it is."""
MOST_WAITING = 3
"""So many somebody may have waiting; each may take a worker's time for long."""
QUEUE = "looks"


@dataclass(frozen=True)
class LargeEffect:
    """The changes whose effect is asked for; without `days` nothing is replayed."""

    root: Node
    changes: Sequence[Change]
    at: datetime
    days: int | None = None
    plan: str = ""
    """The digest of the plan of a policy file that they are of; other changes are for who asks alone."""
    revision: int | None = None
    """The last change of access when the changes were worked out; now, unless it is said."""


def ask(effect: LargeEffect, *, by: Principal, limit: int = MOST_WAITING) -> Calculation:
    """What works it out, or did; a worker is told.  Raises Invalid when too many wait for them."""
    now = last_change_of_access(effect.root.realm_id)
    revision = now if effect.revision is None else effect.revision
    stored, sight = to_json(effect.changes), sight_of(by, effect.root)
    about = [effect.root.realm_id, revision, stored, effect.days, sight]
    body = json.dumps([*about, effect.plan or by.pk], separators=(",", ":"))
    key = hashlib.sha256(body.encode()).hexdigest()
    calculation = Calculation.objects.filter(key=key).first()
    if calculation is not None:
        return calculation
    waiting = Calculation.objects.filter(by=by, finished__isnull=True, revision=revision)
    if waiting.count() >= limit:
        raise Invalid(
            gettext("%(many)s large effects are being calculated for you. Wait until one of them is done.")
            % {"many": limit}
        )
    made, _is_new = Calculation.objects.get_or_create(
        key=key,
        defaults={
            "realm": Realm.objects.get(pk=effect.root.realm_id),
            "revision": revision,
            "by": by,
            "sight": sight,
            "plan": effect.plan,
            "changes": stored,
            "at": effect.at,
            "days": effect.days,
        },
    )
    wakeups.send("policies.tasks.calculate", queue=QUEUE)
    return made


def get(number: int, viewer: Principal) -> Calculation:
    """One that the viewer may read.  Raises NotFound, Gone when the realm or their sight of it moved."""
    row = Calculation.objects.select_related("realm", "by").filter(pk=number).first()
    root = root_of(row.realm) if row is not None else None
    mine = row is not None and root is not None and (row.by == viewer or (row.plan and not row.sight))
    if row is None or root is None or not mine or (row.by != viewer and sight_of(viewer, root)):
        raise NotFound(gettext("There is no such calculation, or it is not yours."))
    if not is_current(row, root, viewer):
        raise Gone(gettext("The realm has changed since, so this result no longer applies. Ask again."))
    return row


def is_current(row: Calculation, root: Node, viewer: Principal) -> bool:
    """Whether the realm, and what the viewer may see of it, is still as it was asked for."""
    return row.revision == last_change_of_access(root.realm_id) and row.sight == sight_of(viewer, root)


def sight_of(viewer: Principal, root: Node) -> str:
    """What somebody may see of others' access in a realm: empty for all of it, else a digest."""
    places = governed(viewer, root) or frozenset()
    if root.id in places:
        return ""
    return hashlib.sha256(json.dumps([viewer.pk, sorted(places)]).encode()).hexdigest()


def is_somebody_there() -> bool:
    """Whether a worker was heard of lately that would work it out."""
    late = timezone.now() - timedelta(seconds=heartbeat.LATE)
    return Heartbeat.objects.filter(name=QUEUE, at__gte=late).exists()


def waits_behind(row: Calculation) -> int:
    """How many are worked out before it."""
    if row.started is not None or row.finished is not None:
        return 0
    return Calculation.objects.filter(finished__isnull=True, pk__lt=row.pk).count()

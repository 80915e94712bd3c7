"""Where a worker must look after a change: written with the change, so nothing committed is ever lost."""

from __future__ import annotations

from datetime import datetime

from django.contrib.postgres.aggregates import BoolOr
from django.db import transaction
from django.db.models import Min
from django.utils import timezone

from accounts.record import Fact
from catalog.models import Placement
from policies.decisions.cache_versions import touched_by
from policies.models import Backend, Grant, OutboxEntry, Ownership, SeparationException, SeparationRule
from policies.record import wakeups
from policies.record.pending import ChangeInProgress

CHANGED = "changed"


def enqueue(current: ChangeInProgress) -> None:
    """One entry for each backend in reach and holder touched, and one more for each boundary of a window."""
    backends = [backend for backend in _backends(current) if _reaches(backend, current)]
    entries = [
        OutboxEntry(backend=backend, key=key, revision=current.revision, due=due, revokes=revokes)
        for backend in backends
        for key, due, revokes in sorted(_looks(current))
    ]
    OutboxEntry.objects.bulk_create(entries, batch_size=1000)
    urgent = {entry.backend_id for entry in entries if entry.revokes and entry.due <= current.at}
    for backend in backends:
        _nudge_after_commit(backend.pk, urgent=backend.pk in urgent)


def ask(backend: Backend, revision: int, *, key: str = "look", revokes: bool = True) -> None:
    """Have a backend looked at though no fact changed: somebody decided something about the sync itself."""
    OutboxEntry.objects.create(
        backend=backend, key=key, revision=revision, due=timezone.now(), revokes=revokes
    )
    _nudge_after_commit(backend.pk, urgent=revokes)


def look(backend: Backend) -> None:
    """Have a backend looked at because somebody says that it changed; nothing was decided here."""
    now = timezone.now()
    # one that still waits will see this change too
    if not OutboxEntry.objects.filter(backend=backend, key=CHANGED, due__lte=now, lease="").exists():
        OutboxEntry.objects.create(backend=backend, key=CHANGED, revision=0, due=now)
    _nudge_after_commit(backend.pk, urgent=False)


def due_backends(now: datetime) -> dict[int, bool]:
    """The backends for which something is due, those first from which something is to be taken away."""
    rows = OutboxEntry.objects.filter(parked=False, due__lte=now).order_by().values("backend")
    rows_ = rows.annotate(revokes=BoolOr("revokes"), since=Min("due")).order_by("-revokes", "since")
    return dict(rows_.values_list("backend", "revokes"))


def _backends(current: ChangeInProgress) -> list[Backend]:
    rows = Backend.objects.select_related("catalog")
    return list(rows.filter(realm=current.realm) if current.realm else rows)


def _reaches(backend: Backend, current: ChangeInProgress) -> bool:
    """A change reaches a backend from above, from inside, or when it concerns people rather than objects."""
    return any(
        len(place) <= 1 or backend.catalog_id in place for place in current.places
    ) or _concerns_people(current)


def _concerns_people(current: ChangeInProgress) -> bool:
    apart = (Grant, Placement, Ownership, SeparationRule, SeparationException)
    return any(not isinstance(fact, apart) for fact in (*current.begun, *current.ended))


def _looks(current: ChangeInProgress) -> set[tuple[str, datetime, bool]]:
    looks = set()
    for facts, ends in ((current.begun, False), (current.ended, True)):
        for fact in facts:
            for key in touched_by(fact) or ("objects",):
                looks.add((key, current.at, ends or getattr(fact, "effect", "") == "deny"))
                looks.update((key, edge, revokes) for edge, revokes in _edges(fact) if edge > current.at)
    return looks


def _edges(fact: Fact) -> list[tuple[datetime, bool]]:
    if fact.closed is not None:
        return []
    edges = ((fact.valid_from, False), (fact.valid_until, True))
    return [(edge, revokes) for edge, revokes in edges if edge is not None]


def _nudge_after_commit(backend: int, *, urgent: bool) -> None:
    transaction.on_commit(lambda: _nudge(backend, queue_of(revokes=urgent)), robust=True)


def queue_of(*, revokes: bool) -> str:
    """The queue that workers take a delivery from: revocations have a separate queue."""
    return "urgent" if revokes else "work"


def _nudge(backend: int, queue: str) -> None:
    wakeups.send("policies.tasks.deliver", backend, queue=queue)

"""Making a backend equal to what was decided: look, compare, apply, look again to prove it.

Level-triggered: an entry in the outbox says only where to look.  It is deleted after a reconciliation that
began after it was written has proved the backend equal, but for items that are stuck and stand as rows of
their own; a crash at any line leaves it to be picked up again.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from lakewarden.backends.errors import BackendError, NotAnswering, kind_of
from policies.models import Backend, OutboxEntry, SyncItem, SyncRun
from policies.models.sync import LASTING, STUCK_AFTER
from policies.sync import change_detection
from policies.sync.differences import items
from policies.sync.reconcile import Picks, Report, reconcile
from policies.sync.runs.lease import only_worker
from policies.sync.safeguards import alerts
from policies.sync.safeguards.report_only import only_reports

LONGEST_WAIT = timedelta(hours=1)
HELD_WAIT = timedelta(minutes=1)
ITEM = "item:"


@dataclass(frozen=True)
class Claim:
    """Entries of one backend that a worker has taken; `lease` is its mark until another takes them."""

    lease: str
    ids: tuple[int, ...]
    keys: tuple[str, ...] = ()

    def only(self) -> Picks | None:
        """The steps that are asked for when nothing but single items is to be tried again; None is all."""
        if not all(key.startswith(ITEM) for key in self.keys):
            return None
        rows = SyncItem.objects.filter(pk__in=[int(key.removeprefix(ITEM)) for key in self.keys])
        wanted = set(rows.values_list("step", "role", "person"))
        return lambda step: (step.kind, step.role, step.person) in wanted


def claim(backend: Backend, *, now: datetime) -> Claim | None:
    """Take the due entries of a backend; None when there are none.

    The holder of the backend's lock is its only worker, so a mark of another was left by one that died.
    """
    lease = secrets.token_hex(16)
    with transaction.atomic():
        due = OutboxEntry.objects.select_for_update().filter(backend=backend, parked=False, due__lte=now)
        ids = tuple(due.values_list("pk", flat=True))
        OutboxEntry.objects.filter(pk__in=ids).update(lease=lease)
        keys = tuple(due.values_list("key", flat=True))
    return Claim(lease, ids, keys) if ids else None


def deliver(backend: Backend) -> Report | None:
    """Work off what is due for a backend; the last report, None when there was nothing to do.

    One worker at a time: another that comes meanwhile leaves, and what it came for is taken up by the first.
    """
    report = None
    with only_worker(backend) as alone:
        while alone and (taken := claim(backend, now=timezone.now())):
            report = _deliver_once(backend, taken)
            if report is None or not report.settled:
                break
    return report


def look(backend: Backend, *, whole: bool = False) -> Report | None:
    """Compare a backend though nothing is due, to see what others changed.

    None while it is worked on, and when neither side has changed since the last comparison; `whole` works
    everything out anew even then.
    """
    with only_worker(backend) as alone:
        if not alone:
            return None
        backend.refresh_from_db()
        _bury(backend)
        if not whole and change_detection.unchanged(backend):
            return None
        report = _compare(backend, patient=not whole)
        _unpark(backend, report)
        return report


def now(backend: Backend, *, dry_run: bool = False) -> Report:
    """Compare and repair here and now, after the worker at it.  Raises BackendError.

    A paused backend is only looked at: that it is paused was somebody's decision.
    """
    started = timezone.now()
    with only_worker(backend, wait=True):
        backend.refresh_from_db()
        look_only = dry_run or backend.state == Backend.State.PAUSED
        if not look_only:
            items.try_again(backend)
        report = reconcile(backend, dry_run=True) if look_only else _compare(backend)
    if not look_only:
        settle(backend, report, started)
    return report


def _compare(backend: Backend, only: Picks | None = None, *, patient: bool = False) -> Report:
    _bury(backend)
    return reconcile(backend, only=only, patient=patient)


def _bury(backend: Backend) -> None:
    # the holder of the lock is the only worker, so a run that still goes on was left by one that died
    left = SyncRun.objects.filter(backend=backend, state=SyncRun.State.RUNNING)
    left.update(state=SyncRun.State.FAILED, ended=timezone.now(), errors=["The worker stopped halfway."])


def settle(backend: Backend, report: Report, started: datetime) -> None:
    """What was due before a reconciliation began that proved the backend equal is done."""
    if report.accounted:
        done = OutboxEntry.objects.filter(backend=backend, revision__lte=report.revision, due__lte=started)
        done.delete()


def _deliver_once(backend: Backend, taken: Claim) -> Report | None:
    try:
        report = _compare(backend, taken.only())
    except BackendError as error:
        failed(backend, error)
        held = OutboxEntry.objects.filter(pk__in=taken.ids, lease=taken.lease)
        _wait(held, str(error), kind_of(error))
        alerts.look(backend)
        return None
    _settle(backend, taken, report)
    _unpark(backend, report)
    return report


def _unpark(backend: Backend, report: Report) -> None:
    """What was parked is done when all was read back after all; who was told of it is told no more."""
    if report.accounted:
        OutboxEntry.objects.filter(backend=backend, parked=True, revision__lte=report.revision).delete()
    alerts.look(backend)


def _settle(backend: Backend, taken: Claim, report: Report) -> None:
    held = OutboxEntry.objects.filter(pk__in=taken.ids, lease=taken.lease)
    if held.count() < len(taken.ids):
        # another worker took over while we were cut off: what we did last may be old, so look once more
        OutboxEntry.objects.create(backend=backend, key="again", revision=0, due=timezone.now(), revokes=True)
    elif not report.settled and _only_reports_for_now(backend):
        keep(held)
    elif report.accounted or only_reports(backend) or taken.only() is not None:
        # what the retry of one item leaves undone is told by its run; the entries of the rest still wait
        held.filter(revision__lte=report.revision).delete()
    elif report.held:
        _later(held, "held: the plan takes too much")
    else:
        # what fails for good is stuck by itself; only what could not be compared at all is parked
        _wait(held, report.error or "not yet equal when read again", report.error_kind, park=False)


def _only_reports_for_now(backend: Backend) -> bool:
    """Whether nothing is changed there, unchosen: since a restore, or until somebody agrees."""
    return Backend.objects.filter(~Q(awaits="") | Q(restored=True), pk=backend.pk).exists()


def keep(held: QuerySet[OutboxEntry]) -> None:
    """Leave due what is decided and not applied, because nobody chose that; one entry for each thing touched.

    A change more of the same person or role tells nothing new: all of it is compared when it repairs again.
    """
    rows = held.order_by("key", "revokes", "pk")
    first = rows.distinct("key", "revokes").values_list("pk", flat=True)
    held.exclude(pk__in=list(first)).delete()
    _later(held, "nothing is changed there until somebody has seen the plan")


def _later(held: QuerySet[OutboxEntry], error: str) -> None:
    due = timezone.now() + HELD_WAIT
    held.update(since=Coalesce("since", "due"), due=due, error=error, lease="")


def failed(backend: Backend, error: BackendError) -> None:
    """Say on the backend that it could not be worked on, and why."""
    if isinstance(error, NotAnswering):
        state = Backend.State.SILENT
    else:
        state = Backend.State.FAILED if kind_of(error) in LASTING else Backend.State.BEHIND
    rows = Backend.objects.filter(pk=backend.pk).exclude(state=Backend.State.PAUSED)
    rows.update(state=state, error=str(error), error_kind=kind_of(error))


def end_pauses(now: datetime) -> None:
    """Take up again what was paused until now."""
    Backend.objects.filter(state=Backend.State.PAUSED, paused_until__lte=now).update(**RESUMED)


RESUMED: dict[str, Any] = {
    "state": Backend.State.BEHIND,
    "paused_by": None,
    "paused_at": None,
    "paused_until": None,
}
"""The fields of a backend that is taken up again."""


def _wait(held: QuerySet[OutboxEntry], error: str, kind: str, *, park: bool = True) -> None:
    """Try again later, each time later; after a few failures that will last, wait for somebody instead."""
    now = timezone.now()
    rows = list(held)
    for entry in rows:
        entry.attempts += 1
        entry.since = entry.since or entry.due
        entry.due = now + min(LONGEST_WAIT, timedelta(seconds=2 ** min(entry.attempts, 12)))
        entry.error, entry.error_kind, entry.lease = error[:2000], kind, ""
        if park and kind in LASTING and entry.attempts >= STUCK_AFTER:
            entry.parked, entry.parked_at = True, now
    fields = ["attempts", "due", "since", "error", "error_kind", "lease", "parked", "parked_at"]
    OutboxEntry.objects.bulk_update(rows, fields, batch_size=1000)

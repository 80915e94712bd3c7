"""A worker's part: one effect after another, its progress kept, taken up again when a worker was killed."""

from __future__ import annotations

import logging
import time
from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext_noop

from catalog.queries import root as root_of
from policies.calculations import asking
from policies.calculations.results import stored
from policies.data_views.visibility import governed
from policies.errors import Gone, PolicyError
from policies.models import Calculation
from policies.record import session_locks
from policies.requests.plan_approvals import last_change_of_access
from policies.simulation.difference import Difference
from policies.simulation.replay import Replay
from policies.simulation.simulation import Simulation
from policies.simulation.stored_changes import from_json

LOCKS, ONE_AT_A_TIME = 0x6566_6663, 0
EVERY = 1.0
"""Seconds between two notes of how far it is."""
LONGEST = timedelta(minutes=30)
MOST_ATTEMPTS = 3
TRIED_AGAIN = timedelta(minutes=10)
"""So long what came to nothing is told; then it can be asked for anew."""
TOO_LONG = gettext_noop("It took longer than half an hour. Ask about fewer changes at once.")
KILLED = gettext_noop("The worker ended before the result, several times. Ask about fewer changes at once.")
FAILED = gettext_noop("Something went wrong. Nothing was calculated.")

logger = logging.getLogger(__name__)


class TookTooLong(PolicyError):
    """It is given up, as others wait."""


def run_waiting() -> None:
    """Work out what waits, and what a worker that is gone left, oldest first, by one worker of the site.

    The lock goes with the process that holds it, so what was begun and has no end was left.
    """
    with session_locks.held(LOCKS, ONE_AT_A_TIME) as mine:
        if not mine:
            return
        forget()
        while row := Calculation.objects.filter(finished__isnull=True).order_by("pk").first():
            _run(row)


def forget() -> None:
    """Drop what counts no more: the realm moved since, or it was kept long enough."""
    now = timezone.now()
    Calculation.objects.filter(asked__lt=now - asking.KEPT).delete()
    Calculation.objects.filter(finished__lt=now - TRIED_AGAIN).exclude(trouble="").delete()
    for realm, revision in Calculation.objects.values_list("realm", "revision").distinct():
        if revision != last_change_of_access(realm):
            Calculation.objects.filter(realm=realm, revision=revision).delete()


def _run(row: Calculation) -> None:
    rows = Calculation.objects.filter(pk=row.pk)
    rows.update(started=timezone.now(), attempts=row.attempts + 1, done=0, total=0, progress_at=None)
    if row.attempts >= MOST_ATTEMPTS:
        _give_up(row, KILLED)
        return
    try:
        _work_out(row)
    except Gone:
        rows.delete()
    except TookTooLong:
        _give_up(row, TOO_LONG)
    except PolicyError as problem:
        _give_up(row, str(problem))
    except Exception:
        # a mistake of ours is raised on, but nothing may stay as if it were still at work
        _give_up(row, FAILED)
        raise


def _give_up(row: Calculation, trouble: str) -> None:
    Calculation.objects.filter(pk=row.pk).update(finished=timezone.now(), trouble=trouble)


def _work_out(row: Calculation) -> None:
    root = root_of(row.realm)
    if root is None:
        raise Gone("the realm is gone")
    progress = _Progress(row)
    simulation = Simulation(root, from_json(root, row.changes), at=row.at)
    whole = not row.sight
    places = None if whole else governed(row.by, root) or frozenset()
    viewer = None if whole else row.by
    difference = Difference(simulation, viewer=viewer, governed=places, progress=progress)
    replay = Replay(difference, days=row.days) if row.days is not None else None
    result = stored(difference, replay)
    # what was read meanwhile may be of two revisions
    if not asking.is_current(row, root, row.by):
        raise Gone("the realm changed")
    Calculation.objects.filter(pk=row.pk).update(
        finished=timezone.now(), result=result, done=progress.total, total=progress.total
    )
    logger.info("effect %s: %s decisions", row.pk, progress.total)


class _Progress:
    """Keeps how far it is, and ends what nobody waits for any more.  Raises Gone, TookTooLong."""

    def __init__(self, row: Calculation) -> None:
        self.row, self.total = row, 0
        self.begun, self.next = time.monotonic(), 0.0

    def __call__(self, done: int, total: int) -> None:
        self.total, now = total, time.monotonic()
        if now < self.next:
            return
        self.next = now + EVERY
        if now - self.begun > LONGEST.total_seconds():
            raise TookTooLong
        rows = Calculation.objects.filter(pk=self.row.pk)
        kept = rows.update(done=done, total=total, progress_at=timezone.now())
        if not kept or self.row.revision != last_change_of_access(self.row.realm_id):
            raise Gone("the realm changed")

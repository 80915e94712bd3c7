"""Readings of the whole record that somebody asked for, run by a worker; progress and outcome are kept."""

from __future__ import annotations

import logging
from datetime import timedelta

from celery import current_app
from django.db.models import Q
from django.utils import timezone
from kombu.exceptions import OperationalError

from accounts.models import Principal
from policies.models import Counter, Verification
from policies.verify import verify

GIVEN_UP = timedelta(hours=1)
"""After that a reading that has not ended is taken for one whose worker was killed."""

logger = logging.getLogger(__name__)


def ask(by: Principal) -> Verification:
    """A new reading, or the one that waits or is under way; a worker is told."""
    unfinished = latest()
    if unfinished is not None and unfinished.finished is None:
        return unfinished
    made = Verification.objects.create(by=by.pseudonym, total=Counter.objects.get().revision)
    try:
        current_app.send_task("policies.tasks.verify")
    except OperationalError:
        logger.info("the broker is away; the beat will have the record read")
    return made


def run_waiting() -> None:
    """Read the record for whoever waits for it; each reading is run by one worker."""
    stale = Q(started__lt=timezone.now() - GIVEN_UP)
    for row in Verification.objects.filter(Q(started__isnull=True) | stale, finished__isnull=True):
        mine = Verification.objects.filter(pk=row.pk, started=row.started)
        if mine.update(started=timezone.now()):
            _run(row.pk)


def latest() -> Verification | None:
    return Verification.objects.order_by("-pk").first()


def _run(number: int) -> None:
    rows = Verification.objects.filter(pk=number)
    verdict = verify(tell=lambda changes: rows.update(changes=changes))
    rows.update(
        finished=timezone.now(),
        changes=verdict.changes,
        looks=verdict.looks,
        signed=verdict.signed,
        broken=verdict.broken or "",
    )

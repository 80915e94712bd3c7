"""Celery's way in: what nudges ask for, and the beat that makes up for those that were lost."""

from __future__ import annotations

import logging
import time

from celery import shared_task
from django.db.models import F
from django.utils import timezone

from lakewarden.backends.errors import BackendError
from policies.analytics import uses
from policies.analytics.pipelines import control, running
from policies.calculations import working as calculations
from policies.decisions.seals import opened_again, unsealed
from policies.emergency import access as emergency_access
from policies.lifecycle import expirations
from policies.models import Backend, Review
from policies.notices import delivery
from policies.record import (
    checkpoints,
    found_facts,
    realms_put_back,
    rows_put_back,
    sealings,
    touches_put_back,
    verifications,
)
from policies.record.deleted_facts import deleted_facts
from policies.record.exports import feeds
from policies.record.outbox import due_backends, queue_of
from policies.requests import escalation, provisioning
from policies.reviews import completion, population, schedule
from policies.services import cdap_bootstrap, scheduled_grants, tokens
from policies.sync import worker
from policies.sync.discovery import discoveries
from policies.sync.runs import heartbeat, lease, nightly, pruning, worker_limit
from policies.sync.safeguards import alerts, restored

log = logging.getLogger(__name__)


@shared_task(name="policies.tasks.deliver")
def deliver(backend: int) -> None:
    restored.check()
    worker.end_pauses(timezone.now())
    row = Backend.objects.filter(pk=backend).exclude(state=Backend.State.PAUSED).first()
    if row is None:
        return
    until, done = time.monotonic() + AT_ONE_SERVER, {row.pk}
    with worker_limit.at_server(
        row, urgent=str((deliver.request.delivery_info or {}).get("routing_key", "")) == "urgent"
    ) as free:
        while free and row is not None:
            worker.deliver(row)
            provisioning.look(row.pk)
            row.refresh_from_db()
            goes_on = time.monotonic() < until and row.state != Backend.State.SILENT
            # who was sent to this server meanwhile left, as there were enough
            row = next(worker_limit.also_due(row, done), None) if goes_on else None
            done.update([row.pk] if row else [])


AT_ONE_SERVER = 20.0
"""Seconds after which a worker that found more to do at a server leaves it to others."""


@shared_task(name="policies.tasks.alive")
def alive(queue: str) -> None:
    """Somebody works off this queue, and the beat asked for it just now."""
    heartbeat.heard(queue, heartbeat.BEAT)


@shared_task(name="policies.tasks.deliver_due")
def deliver_due() -> None:
    lease.take_from_the_silent()
    alerts.look_at_overdue(timezone.now())
    for backend, revokes in due_backends(timezone.now()).items():
        # each by itself: one that fails must not keep the others waiting
        deliver.apply_async((backend,), queue=queue_of(revokes=revokes))


@shared_task(name="policies.tasks.begin")
def begin() -> None:
    """End what is about to begin and may not, well before it does."""
    if ended := scheduled_grants.look(timezone.now()):
        log.warning("%s rights that had been given ahead of time do not begin", ended)


@shared_task(name="policies.tasks.remind")
def remind() -> None:
    """Tell people of what ends soon."""
    expirations.remind(timezone.now())
    tokens.remind(timezone.now())


@shared_task(name="policies.tasks.requests")
def look_after_requests() -> None:
    """What time brings about in requests, and how far what they gave has come."""
    escalation.tick(timezone.now())


@shared_task(name="policies.tasks.look_again")
def look_again() -> None:
    """Have every backend looked at in turn, so that a change by others is seen within a minute."""
    discover.apply_async(expires=60)
    worker.end_pauses(timezone.now())
    rows = Backend.objects.exclude(state=Backend.State.PAUSED).order_by(F("looked_at").asc(nulls_first=True))
    for backend in rows.values_list("pk", flat=True):
        look.apply_async((backend,), expires=60)  # the next turn comes anyway


@shared_task(name="policies.tasks.look")
def look(backend: int) -> None:
    """Look at a backend, and compare all of it where something has changed."""
    _looked(backend)


@shared_task(name="policies.tasks.compare")
def compare(backend: int) -> None:
    """Work out and compare all of a backend, whether anything seems to have changed or not."""
    _looked(backend, whole=True)


@shared_task(name="policies.tasks.compare_nightly")
def compare_nightly() -> None:
    """Have the backends read again and compared whose turn of this night has come."""
    now = timezone.now()
    if discoveries.ask_nightly(now):
        discover.apply_async(expires=300)
    for backend in nightly.due(now):
        compare.apply_async((backend,), expires=300)


def _looked(backend: int, *, whole: bool = False) -> None:
    restored.check()
    worker.end_pauses(timezone.now())
    row = Backend.objects.filter(pk=backend).exclude(state=Backend.State.PAUSED).first()
    if row is None:
        return
    with worker_limit.at_server(row, urgent=False) as free:
        try:
            if free:
                worker.look(row, whole=whole)
        except BackendError as error:
            worker.failed(row, error)
            alerts.look(row)


@shared_task(name="policies.tasks.forget_runs")
def forget_runs() -> None:
    """Delete runs of the sync that serve nobody any more."""
    pruning.forget_old(timezone.now())


@shared_task(name="policies.tasks.discover")
def discover() -> None:
    """Read the sources that somebody wants read."""
    discoveries.run_waiting()


@shared_task(name="policies.tasks.sign")
def sign() -> None:
    """Sign the record when it is time, and bring what was signed to every place that lacks it."""
    if checkpoints.due():
        sealings.put_on_record()
        checkpoints.make()
    for trouble in checkpoints.send():
        log.warning("a checkpoint was not sent to %s", trouble)
    verifications.run_waiting()


@shared_task(name="policies.tasks.hold_facts")
def hold_facts() -> None:
    """Hold every fact against its seal, and tell who runs the site of those that have no good one."""
    unsealed.sweep()
    rows_put_back.take_seals()
    realms_put_back.mend()
    touches_put_back.mend()
    found_facts.put_on_record()


@shared_task(name="policies.tasks.hold_ended_facts")
def hold_ended_facts() -> None:
    """Find what was written past the console since this process last looked, and what ended and was put back:
    facts, duties, what the directory said, and what makes kept answers stale."""
    global _looked_at
    until = opened_again.first_running()
    # numbers that went back are those of another server: what was looked at was another database
    known = _looked_at is not None and _looked_at <= until
    since = _looked_at if known else None
    unsealed.take_seals_of_ended(since=since)
    unsealed.hold_late(since)
    deleted_facts.keep()
    rows_put_back.take_seals(since=since)
    realms_put_back.mend(since=since)
    touches_put_back.mend(since=since)  # by the realms of objects
    found_facts.put_on_record()
    _looked_at = until


_looked_at: int | None = None
"""Up to which transaction; the first look of a process is at every fact."""


@shared_task(name="policies.tasks.feed")
def feed() -> None:
    """Bring those who follow the record up to now."""
    for trouble in feeds.deliver():
        log.warning("the record was not taken by %s", trouble)


@shared_task(name="policies.tasks.end_emergencies")
def end_emergencies() -> None:
    """Have the review wait of every emergency whose time is over, also of one closed past the console."""
    emergency_access.finish_all(timezone.now())
    emergency_access.reopen_reviews()


@shared_task(name="policies.tasks.post")
def post() -> None:
    """Send the mail and the calls that are due."""
    for trouble in delivery.post():
        log.warning("a notice was not taken by %s", trouble)


@shared_task(name="policies.tasks.forget_notices")
def forget_notices() -> None:
    """Delete notices that were read or settled long ago, and letters that went."""
    delivery.forget_old(timezone.now())


@shared_task(name="policies.tasks.bootstrap")
def bootstrap_namespaces() -> None:
    """Make the default namespaces of CDAP realms whose master user may."""
    cdap_bootstrap.look_everywhere()


@shared_task(name="policies.tasks.verify")
def verify_record() -> None:
    """Read the whole record for the requester, and keep what was found."""
    verifications.run_waiting()


@shared_task(name="policies.tasks.verify_hourly")
def verify_hourly() -> None:
    """Read what is new of the record, and hold it against the tables."""
    if verifications.ask_hourly() is not None:
        verifications.run_waiting()


@shared_task(name="policies.tasks.pipelines")
def run_pipelines() -> None:
    """Run the pipelines that somebody asked for."""
    running.run_waiting()


@shared_task(name="policies.tasks.pipelines_nightly")
def ask_for_pipelines() -> None:
    """Ask for every pipeline that is to run each night."""
    control.ask_nightly()


@shared_task(name="policies.tasks.calculate")
def calculate() -> None:
    """Work out what changes would do that somebody asked about."""
    calculations.run_waiting()


@shared_task(name="policies.tasks.build_review")
def build_review(review: int) -> None:
    population.build(Review.objects.get(pk=review))


@shared_task(name="policies.tasks.carry_review")
def carry_review(review: int) -> None:
    completion.work(Review.objects.get(pk=review))


@shared_task(name="policies.tasks.build_reviews")
def build_reviews() -> None:
    """Write down the populations that wait to be, or that a killed worker left."""
    for review in population.waiting():
        build_review.delay(review.pk)  # each by itself: one that fails must not keep the others waiting


@shared_task(name="policies.tasks.carry_reviews")
def carry_reviews() -> None:
    """Carry out, prove and close the reviews in which deciding is over."""
    for review in completion.waiting():
        carry_review.delay(review.pk)


@shared_task(name="policies.tasks.reviews")
def look_after_reviews() -> None:
    """What time brings about in reviews, and what nudges that were lost would have."""
    schedule.tick()
    build_reviews.delay()
    carry_reviews.delay()


@shared_task(name="policies.tasks.forget_uses")
def forget_uses() -> None:
    """Delete what jobs told of long ago, but for the last use of each kind."""
    uses.forget_old(timezone.now())

"""Celery's way in: nudges that may be lost, and the beat that makes up for them."""

from __future__ import annotations

import logging

from celery import shared_task
from django.utils import timezone

from policies.models import Backend
from policies.sync import worker
from policies.sync.errors import BackendError

logger = logging.getLogger(__name__)


def nudge(backend: int) -> None:
    """Ask for a delivery now.  A broker that is away costs a few seconds, until the beat looks."""
    try:
        deliver.delay(backend)
    except deliver.OperationalError:
        logger.info("the broker is away; the beat will deliver to backend %s", backend)


@shared_task(name="policies.tasks.deliver")
def deliver(backend: int) -> None:
    row = Backend.objects.filter(pk=backend).exclude(state=Backend.State.PAUSED).first()
    if row is not None:
        worker.deliver(row)


@shared_task(name="policies.tasks.deliver_due")
def deliver_due() -> None:
    for backend in worker.due_backends(timezone.now()):
        deliver(backend)


@shared_task(name="policies.tasks.look_again")
def look_again() -> None:
    """Compare every backend, so that what others change out there is seen within a minute or two."""
    for row in Backend.objects.exclude(state=Backend.State.PAUSED).order_by("proved_at"):
        try:
            worker.look(row)
        except BackendError as error:
            Backend.objects.filter(pk=row.pk).update(state=Backend.State.FAILED, error=str(error))

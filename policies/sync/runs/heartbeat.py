"""That workers take what each queue holds, and that the beat goes on: kept in the database, seconds apart.

The beat asks each queue for a sign of life, and the worker that takes it writes down when it was asked.
"""

from __future__ import annotations

from django.utils import timezone

from policies.models import Heartbeat

QUEUES = ("urgent", "work", "looks")
BEAT = "beat"
EVERY = 15.0
"""Seconds between two signs."""
LATE = 60.0
"""Seconds after which nobody is thought to be there."""


def heard(*names: str) -> None:
    """Keep that these were heard of just now."""
    now = timezone.now()
    Heartbeat.objects.bulk_create(
        [Heartbeat(name=name, at=now) for name in sorted(names)],
        update_conflicts=True,
        unique_fields=["name"],
        update_fields=["at"],
    )

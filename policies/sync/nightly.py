"""Once a night everything is worked out and compared anew, one backend after the other through the night."""

from __future__ import annotations

from datetime import datetime, time, timedelta

from django.db.models import Q

from policies.models import Backend

BEGIN, LASTS = time(1, 0), timedelta(hours=4)
"""The night, in UTC; a backend whose turn was missed is compared whenever there is somebody to do it."""


def due(now: datetime) -> list[int]:
    """The backends whose turn of this night has come and that were not compared since."""
    running = Backend.objects.exclude(state=Backend.State.PAUSED).order_by("pk")
    numbers = list(running.values_list("pk", flat=True))
    turns = {pk: turn(at, len(numbers), now) for at, pk in enumerate(numbers)}
    older = Q(compared_at__isnull=True) | Q(compared_at__lt=now)
    rows = running.filter(older).order_by("compared_at", "pk").values_list("pk", "compared_at")
    return [pk for pk, compared in rows if compared is None or compared < turns[pk]]


def turn(at: int, many: int, now: datetime) -> datetime:
    """The last moment, not after now, at which the turn of the `at`-th of so many came."""
    moment = now.replace(hour=BEGIN.hour, minute=BEGIN.minute, second=0, microsecond=0) + LASTS * at / many
    return moment if moment <= now else moment - timedelta(days=1)

"""Once a night everything is read, worked out and compared anew, one backend after the other."""

from __future__ import annotations

from datetime import datetime, time, timedelta

from django.db.models import Exists, OuterRef, Q

from policies.models import Backend, Discovery

BEGIN, LASTS = time(1, 0), timedelta(hours=4)
"""The night, in UTC; a backend whose turn was missed is compared whenever there is somebody to do it."""


def due(now: datetime) -> list[int]:
    """The backends whose turn of this night has come and that were not compared since."""
    turns = _turns(now)
    older = Q(compared_at__isnull=True) | Q(compared_at__lt=now)
    rows = Backend.objects.filter(older, pk__in=turns).order_by("compared_at", "pk")
    rows_ = rows.values_list("pk", "compared_at")
    return [pk for pk, compared in rows_ if compared is None or compared < turns[pk]]


def unread(now: datetime) -> list[int]:
    """The backends whose objects are to be read again by now: each is worth one try a night."""
    turns = _turns(now)
    waits = Discovery.objects.filter(backend=OuterRef("pk"), finished__isnull=True)
    rows = Backend.objects.filter(~Exists(waits), pk__in=turns, read_at__isnull=False, read_nightly=True)
    asked = Discovery.objects.filter(backend__in=turns, asked__gte=now - timedelta(days=1))
    tried = {(backend, at >= turns[backend]) for backend, at in asked.values_list("backend", "asked")}
    read = rows.order_by("pk").values_list("pk", "read_at")
    return [pk for pk, at in read if at is not None and at < turns[pk] and (pk, True) not in tried]


def _turns(now: datetime) -> dict[int, datetime]:
    """When the turn of each backend that runs last came."""
    running = Backend.objects.exclude(state=Backend.State.PAUSED).order_by("pk")
    numbers = list(running.values_list("pk", flat=True))
    return {pk: turn(at, len(numbers), now) for at, pk in enumerate(numbers)}


def turn(at: int, many: int, now: datetime) -> datetime:
    """The last moment, not after now, at which the turn of the `at`-th of so many came."""
    moment = now.replace(hour=BEGIN.hour, minute=BEGIN.minute, second=0, microsecond=0) + LASTS * at / many
    return moment if moment <= now else moment - timedelta(days=1)

"""Whether this process lives, and whether it can answer: one line for each thing it depends on.

Only what a decision needs makes the site unready.  Without Redis or workers it still decides, and says that
backends will be late.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from typing import NamedTuple

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Min
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from policies import verifications
from policies.models import Backend, OutboxEntry

LATE = timedelta(minutes=2)


class Finding(NamedTuple):
    """`good` is None for what is late or away without keeping decisions from being made."""

    name: str
    good: bool | None
    text: str
    bad: str = "late"

    def __str__(self) -> str:
        word = {True: "ok", False: "FAILED", None: self.bad}[self.good]
        return f"{self.name}: {word} - {self.text}"


@require_safe
def live(request: HttpRequest) -> HttpResponse:
    """`GET /health/live`: the process answers; nothing else is asked."""
    return HttpResponse("alive\n", content_type="text/plain; charset=utf-8")


@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """`GET /health/ready`: 503 when no decision could be made."""
    findings = list(_findings())
    status = 503 if any(finding.good is False for finding in findings) else 200
    lines = "".join(f"{finding}\n" for finding in findings)
    return HttpResponse(lines, status=status, content_type="text/plain; charset=utf-8")


def _findings() -> Iterator[Finding]:
    for name, look in (("database", _database), ("migrations", _migrations), ("outbox", _outbox)):
        try:
            yield Finding(name, *look())
        except DatabaseError as error:
            yield Finding(name, False, type(error).__name__)
    yield _record()
    yield Finding("redis", *_redis())


Seen = tuple[bool | None, str]


def _database() -> Seen:
    started = time.perf_counter()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return True, f"answered in {_milliseconds(started)} ms"


def _migrations() -> Seen:
    missing = _known_migrations() - MigrationRecorder(connection).applied_migrations().keys()
    return not missing, f"{len(missing)} to apply" if missing else "all applied"


@cache
def _known_migrations() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationLoader(None).disk_migrations)


def _outbox() -> Seen:
    now = timezone.now()
    running = Backend.objects.exclude(state=Backend.State.PAUSED)
    due = OutboxEntry.objects.filter(parked=False, due__lte=now, backend__in=running)
    oldest = due.aggregate(oldest=Min("due"))["oldest"]
    if oldest is None:
        return True, "nothing waits"
    late = now - oldest
    text = f"{due.count()} wait, the oldest for {late.total_seconds():.0f} s"
    return (None if late > LATE else True), text


def _record() -> Finding:
    """What the last reading of the record found; it keeps no decision from being made, and must be seen."""
    try:
        last = verifications.last_finished()
    except DatabaseError as error:
        return Finding("record", False, type(error).__name__)
    if last is None:
        return Finding("record", True, "not read yet")
    if not last.is_good:
        return Finding("record", None, verifications.in_words(last.broken, last.differences), "DIFFERS")
    return Finding("record", True, f"fits up to revision {last.upto}")


def _redis() -> Seen:
    started = time.perf_counter()
    try:
        with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1) as client:
            client.ping()
    except (redis.RedisError, OSError) as error:
        return None, f"{type(error).__name__}; changes reach backends a little later"
    return True, f"answered in {_milliseconds(started)} ms"


def _milliseconds(started: float) -> str:
    return f"{(time.perf_counter() - started) * 1000:.1f}"

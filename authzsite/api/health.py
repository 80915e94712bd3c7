"""Whether this process lives, and whether it can answer: one line for each thing it depends on.

Only what a decision needs makes the site unready.  Without Redis or workers it still decides, and says that
backends will be late.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from datetime import timedelta
from functools import cache
from math import ceil
from threading import Thread
from typing import NamedTuple

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Count, Min, Q
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from authzsite.api.monitoring import comes_from_a_monitor, has_a_token
from catalog.models import Placement
from policies.decisions.seals import unsealed
from policies.models import Backend, Heartbeat, OutboxEntry
from policies.record import verifications
from policies.sync.backends.shared.bounded_connection import BoundedConnection, patience
from policies.sync.runs import heartbeat
from policies.sync.safeguards import alerts

LATE = timedelta(minutes=2)
WITHIN = 1.2
"""Seconds for the database, and at the same time for Redis."""
EACH = 0.5
"""Seconds for one question over the line that was kept, once the database is known to answer."""


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
    """`GET /health/ready`: 503 when no decision could be made; within two seconds, whatever hangs.

    Why is for monitors alone.
    """
    reports = list(findings())
    status = 503 if any(finding.good is False for finding in reports) else 200
    lines = "ready\n" if status == 200 else "not ready\n"
    if comes_from_a_monitor(request) or (reports[0].good and _has_a_token(request)):
        lines = "".join(f"{finding}\n" for finding in reports)
    return HttpResponse(lines, status=status, content_type="text/plain; charset=utf-8")


def _has_a_token(request: HttpRequest) -> bool:
    try:
        with patience(EACH):
            return has_a_token(request)
    except DatabaseError:
        return False


Seen = tuple[bool | None, str] | tuple[bool | None, str, str]


def findings() -> Iterator[Finding]:
    """The database is asked over a new line first, as the one that was kept may hang by itself."""
    until = time.monotonic() + WITHIN
    reached, redis_ = _begun(_reach), _begun(_redis)
    yield Finding("database", *(database := _ended(reached, until, False)))
    for name, look in _IN_DATABASE.items():
        if not database[0]:
            yield Finding(name, False if name == "migrations" else None, "not known without the database")
            continue
        try:
            with patience(EACH):
                yield Finding(name, *look())
        except DatabaseError as error:
            database = (False, type(error).__name__)
            yield Finding(name, False, type(error).__name__)
    yield Finding("redis", *_ended(redis_, until, None))


def _begun(look: Callable[[], Seen]) -> Future[Seen]:
    """Look in a thread that may be left behind."""
    future: Future[Seen] = Future()

    def run() -> None:
        try:
            future.set_result(look())
        except Exception as error:  # noqa: BLE001 -- told as what it is
            future.set_result((False, type(error).__name__))

    Thread(target=run, daemon=True).start()
    return future


def _ended(look: Future[Seen], until: float, otherwise: bool | None) -> Seen:
    try:
        return look.result(max(0.0, until - time.monotonic()))
    except TimeoutError:
        return otherwise, f"no answer within {WITHIN:g} s"


def _reach() -> Seen:
    """Sign in and ask for nothing, over a connection of its own."""
    started = time.perf_counter()
    values = connection.get_connection_params()
    chosen = {name: value for name, value in values.items() if name not in _DJANGO}
    chosen["connect_timeout"] = ceil(WITHIN)
    with patience(WITHIN), BoundedConnection.connect(**chosen) as line:
        line.execute("SELECT 1")
    return True, f"answered in {_milliseconds(started)} ms"


_DJANGO = ("cursor_factory", "context", "prepare_threshold", "server_side_binding")


def _migrations() -> Seen:
    """What this code lacks is of a newer version: this process serves on until it is restarted."""
    applied = MigrationRecorder(connection).applied_migrations().keys()
    if missing := _known_migrations() - applied:
        return False, f"{len(missing)} to apply"
    ours = {app for app, _ in _known_migrations()}
    newer = {item for item in applied - _known_migrations() - _replaced_migrations() if item[0] in ours}
    if newer:
        return None, f"a newer version applied {len(newer)}; restart this process with its code", "NEWER"
    return True, "all applied"


def _durability() -> Seen:
    """Whether what is acknowledged outlives a crash: a right that was revoked would be there again."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name FROM pg_settings WHERE name = ANY(%s) AND setting = 'off' ORDER BY name", [_SAFE]
        )
        off = [name for (name,) in cursor.fetchall()]
    if off:
        return None, f"{' and '.join(off)} off: a crash of the server can lose revocations", "AT RISK"
    return True, "what is acknowledged is on disk"


_SAFE = ["fsync", "full_page_writes", "synchronous_commit"]


@cache
def _known_migrations() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationLoader(None).disk_migrations)


@cache
def _replaced_migrations() -> frozenset[tuple[str, str]]:
    """Those of which a squashed one was made."""
    loaded = MigrationLoader(None).disk_migrations.values()
    return frozenset((app, name) for migration in loaded for app, name in migration.replaces)


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


def _facts() -> Seen:
    """Whether all facts are as the console wrote them, as far as anybody has looked."""
    placed = Placement.objects.open()
    if placed.exists() and not placed.filter(seal__isnull=False).exists():
        return False, "none has a seal yet, so all answers are no: `manage.py facts --seal`"
    if count := unsealed.standing().count():
        text = f"{count} were written outside the console and are not used for decisions (`manage.py facts`)"
        return None, text, "FORGED"
    return True, "none was found that was written outside the console"


def _record() -> Seen:
    """What the last reading of the record found; it keeps no decision from being made, and must be seen."""
    last = verifications.last_finished()
    if last is None:
        return True, "not read yet"
    if not last.is_good:
        return None, verifications.in_words(last.broken, last.differences), "DIFFERS"
    return True, f"fits up to revision {last.upto}"


def _sync() -> Seen:
    """Backends that do not answer or change nothing since a restore, and overdue revocations."""
    rows = Backend.objects.aggregate(
        silent=Count("pk", filter=Q(state=Backend.State.SILENT)),
        restored=Count("pk", filter=Q(restored=True)),
    )
    late = alerts.overdue(timezone.now())
    overdue = sum(many for many, _ in late.values())
    problems = [
        f"{rows['silent']} not answering" if rows["silent"] else "",
        f"{rows['restored']} only report since the database was restored" if rows["restored"] else "",
        f"{overdue} revocations overdue in {len(late)}" if overdue else "",
    ]
    troubles = ", ".join(filter(None, problems))
    return (None, f"backends: {troubles}") if troubles else (True, "all backends answer, nothing is overdue")


def _workers() -> Seen:
    """Each queue must have been served lately; what was never served was never asked to be."""
    return _heard_of(dict.fromkeys(heartbeat.QUEUES, "served"), "no worker has ever reported")


def _beat() -> Seen:
    return _heard_of({heartbeat.BEAT: "heard of"}, "was never heard of")


def _heard_of(names: Mapping[str, str], never: str) -> Seen:
    now = timezone.now()
    rows = dict(Heartbeat.objects.filter(name__in=names).values_list("name", "at"))
    if not rows:
        return None, never
    ages = {name: (now - rows[name]).total_seconds() if name in rows else None for name in names}
    text = ", ".join(
        f"{name} {verb} {age:.0f} s ago" if (age := ages[name]) is not None else f"{name} never {verb}"
        for name, verb in names.items()
    )
    good = all(age is not None and age <= heartbeat.LATE for age in ages.values())
    return (True if good else None), text


_IN_DATABASE: dict[str, Callable[[], Seen]] = {
    "migrations": _migrations,
    "durability": _durability,
    "outbox": _outbox,
    "facts": _facts,
    "record": _record,
    "sync": _sync,
    "workers": _workers,
    "beat": _beat,
}


def _redis() -> Seen:
    started = time.perf_counter()
    try:
        limits = {"socket_timeout": WITHIN, "socket_connect_timeout": WITHIN}
        with redis.Redis.from_url(settings.REDIS_URL, **limits) as client:
            client.ping()
    except (redis.RedisError, OSError) as error:
        return None, f"{type(error).__name__}; changes reach backends a little later"
    return True, f"answered in {_milliseconds(started)} ms"


def _milliseconds(started: float) -> str:
    return f"{(time.perf_counter() - started) * 1000:.1f}"

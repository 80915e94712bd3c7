"""The record as it grows, followed by files and webhooks, for a SIEM; nothing is lost, nothing comes twice.

`LAKEWARDEN_AUDIT_FEEDS` names them: `file:/path` or `https://host/path`, each with `?format=json`,
`ocsf-1.8` or `ocsf-1.9`.  A file is written and then noted, so what a crash left after the noted length is
cut and written again, byte for byte.  A batch for a webhook is noted before it is sent and bears its own
number, by which a receiver knows one that it had; it is signed as Standard Webhooks says, with
`LAKEWARDEN_AUDIT_FEED_SECRET`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from django.conf import settings
from django.utils import timezone

from policies import http as policies_http
from policies.http import NotTaken
from policies.models import AccessRecord, Event, Feed
from policies.record import session_locks
from policies.record.exports import ocsf
from policies.record.exports.entries import entry_rows

BATCH = 500
LOCK = 0x6665_6564
FORMS = ("json", *(f"ocsf-{version}" for version in ocsf.VERSIONS))


@dataclass(frozen=True)
class Until:
    """Where a batch ends: the last change and the last access record in it."""

    changes: int
    access: int


@dataclass(frozen=True)
class Follower:
    """A place that follows the record."""

    text: str

    @property
    def name(self) -> str:
        """What it is called in the record; a query may hold a key, so it is left out."""
        return self.text.partition("?")[0]

    @property
    def form(self) -> str:
        return dict(parse_qsl(urlsplit(self.text).query)).get("format", "json")

    @property
    def path(self) -> Path | None:
        return Path(self.name.removeprefix("file:")) if self.text.startswith("file:") else None


def configured() -> list[Follower]:
    return [Follower(text) for text in settings.LAKEWARDEN_AUDIT_FEEDS]


def deliver() -> list[str]:
    """Bring every follower up to now; answers what went wrong, in words."""
    wrong = []
    for follower in configured():
        try:
            with session_locks.held(LOCK, follower.name) as mine:
                while mine and _batch(follower):
                    pass
        except NotTaken as error:
            Feed.objects.filter(name=follower.name).update(trouble=str(error), at=timezone.now())
            wrong.append(f"{follower.name}: {error}")
    return wrong


def _batch(follower: Follower) -> bool:
    """Bring it one batch; False when there is nothing more."""
    feed, _ = Feed.objects.get_or_create(name=follower.name)
    until = Until(**feed.until) if feed.until else _next(feed)
    rows = _rows(feed, until)
    if not rows:
        return False
    Feed.objects.filter(pk=feed.pk).update(until={"changes": until.changes, "access": until.access})
    number = f"{feed.changes}-{until.changes}.{feed.access}-{until.access}"
    length = _send(follower, feed, rows, number)
    Feed.objects.filter(pk=feed.pk).update(
        changes=until.changes, access=until.access, until=None, length=length, trouble="", at=timezone.now()
    )
    return True


def _next(feed: Feed) -> Until:
    """The end of the next batch: whole changes, some hundred entries."""
    events = Event.objects.filter(change__gt=feed.changes).order_by("change", "number")
    last = events.values_list("change", flat=True)[:BATCH]
    records = AccessRecord.objects.filter(pk__gt=feed.access).order_by("pk")
    looked = records.values_list("pk", flat=True)[:BATCH]
    return Until(max([feed.changes, *last]), max([feed.access, *looked]))


def _rows(feed: Feed, until: Until) -> list[Event | AccessRecord]:
    events = Event.objects.filter(change__gt=feed.changes, change__lte=until.changes)
    records = AccessRecord.objects.filter(pk__gt=feed.access, pk__lte=until.access).select_related("repeat")
    return [*events.select_related("change").order_by("change", "number"), *records.order_by("pk")]


def _send(follower: Follower, feed: Feed, rows: Sequence[Event | AccessRecord], number: str) -> int:
    formed = [_form(follower.form, entry) for entry in entry_rows(rows)]
    if follower.path:
        return _append(follower.path, feed.length, "".join(json.dumps(item) + "\n" for item in formed))
    body = json.dumps({"batch": number, "entries": formed})
    headers = policies_http.signed(number, body, settings.LAKEWARDEN_AUDIT_FEED_SECRET, timezone.now())
    policies_http.send(follower.text, body, headers)
    return 0


def _form(name: str, entry: dict[str, Any]) -> dict[str, Any]:
    # how often a refusal was repeated grows after it was sent, and a batch sent again must be the same
    values = {key: value for key, value in entry.items() if key not in ("count", "last")}
    return values if name == "json" else ocsf.event(values, name.removeprefix("ocsf-"))


def _append(path: Path, length: int, text: str) -> int:
    """Write after the first `length` bytes; a shorter file was rotated away and begins anew."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("r+b" if path.exists() else "w+b") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(length if end >= length else end)
            file.truncate()
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
            return file.tell()
    except OSError as error:
        raise NotTaken(error.strerror or "cannot be written") from error

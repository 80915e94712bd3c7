"""Snapshots as they were sent, kept in this process as long as no change was made on the site.

There is no time to live: each use asks the database, in one query, for the number of the last change.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from policies.decisions.snapshots import dated
from policies.models import Counter

KEPT = 64

Key = tuple[object, ...]


@dataclass(frozen=True)
class Sent:
    """A snapshot's bytes and digest, and what they are good for: a revision, a period, until a moment."""

    content: bytes
    digest: str
    revision: int
    period: datetime
    until: float | None


_sent: OrderedDict[Key, Sent] = OrderedDict()
_lock = threading.Lock()


def kept(key: Key, make: Callable[[], Sent], *, now: datetime) -> Sent:
    """What was made for the key when nothing changed since, else what is made now."""
    if transaction.get_connection().in_atomic_block:
        return make()  # what may still roll back must not be remembered
    with _lock:
        sent = _sent.get(key)
    if sent is None or not _lasts(sent, now) or sent.revision != Counter.objects.get().revision:
        sent = make()
    with _lock:
        _sent[key] = sent
        _sent.move_to_end(key)
        while len(_sent) > KEPT:
            _sent.popitem(last=False)
    return sent


def _lasts(sent: Sent, now: datetime) -> bool:
    return sent.period == dated(now) and (sent.until is None or now.timestamp() < sent.until)

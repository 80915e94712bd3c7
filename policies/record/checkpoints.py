"""Checkpoints: at an interval the site signs how far its record goes and sends that out of the database.

A chain of digests shows an edit; who owns the database can cut off its end and set the counter back, or write
the whole anew.  A signed number and root, kept out of the owner's reach, shows that too (docs/adr/0013).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from lakewarden.record import notes
from lakewarden.record.merkle import Frontier
from policies import signing
from policies.http import NotTaken
from policies.models import AccessCounter, AccessRecord, Change, Checkpoint, Counter
from policies.record import checkpoint_places
from policies.record.change import locked

CHANGES, ACCESS = Checkpoint.Log.CHANGES, Checkpoint.Log.ACCESS
LOCK = 0x7369_676E


def due() -> bool:
    """Whether the last checkpoint is older than the interval, or there is none."""
    every = timedelta(seconds=settings.LAKEWARDEN_CHECKPOINT_EVERY)
    return not Checkpoint.objects.filter(at__gt=timezone.now() - every).exists()


def make() -> list[Checkpoint]:
    """Sign both logs as far as they go; a log that has not grown since is left."""
    with transaction.atomic():
        locked(LOCK)  # two beats at once must not sign twice
        made = [_made(log) for log in (CHANGES, ACCESS)]
        return [row for row in made if row is not None]


def send() -> list[str]:
    """Bring every checkpoint to every place outside that lacks it; answers what went wrong, in words."""
    wrong = []
    for place in checkpoint_places.configured():
        for row in Checkpoint.objects.exclude(sent__contains=[place.name]).order_by("pk"):
            try:
                place.put(row.log, row.size, row.note)
            except NotTaken as error:
                Checkpoint.objects.filter(pk=row.pk).update(trouble=f"{place.name}: {error}")
                wrong.append(f"{place.name}: {error}")
                break  # later ones wait, so that a place never has a gap
            Checkpoint.objects.filter(pk=row.pk).update(sent=[*row.sent, place.name], trouble="")
            row.sent = [*row.sent, place.name]
    return wrong


def size_of(log: str) -> int:
    """How many entries a log has."""
    if log == CHANGES:
        return Counter.objects.get().revision
    return AccessCounter.objects.get().size


def origin() -> str:
    """The name of this site's record: it begins as its first change does.  Empty before that."""
    first = Change.objects.filter(revision=1).values_list("digest", flat=True).first()
    return f"lakewarden/{first[:12]}" if first else ""


def name_of(log: str) -> str:
    return origin() if log == CHANGES else f"{origin()}/access"


def leaves(log: str, start: int, stop: int) -> Iterator[bytes]:
    """The digests of entries `start` to `stop`, counted from 0, streaming."""
    for digest in _digests(log, start, stop).iterator(chunk_size=5000):
        yield bytes.fromhex(digest)


def _digests(log: str, start: int, stop: int) -> QuerySet[Any, str]:
    if log == CHANGES:
        changes = Change.objects.filter(revision__gt=start, revision__lte=stop).order_by("revision")
        return changes.values_list("digest", flat=True)
    return AccessRecord.objects.order_by("pk").values_list("digest", flat=True)[start:stop]


def _made(log: str) -> Checkpoint | None:
    last = Checkpoint.objects.filter(log=log).order_by("-size").first()
    tree = Frontier(last.size, [bytes.fromhex(peak) for peak in last.peaks]) if last else Frontier()
    size = size_of(log)
    if size <= tree.size or not origin():
        return None
    for leaf in leaves(log, tree.size, size):
        tree.append(leaf)
    checkpoint = notes.Checkpoint(name_of(log), tree.size, tree.root().hex())
    note = notes.signed(checkpoint, signing.public_key(), signing.sign(checkpoint.body.encode()))
    return Checkpoint.objects.create(
        log=log,
        size=tree.size,
        root=checkpoint.root,
        peaks=[peak.hex() for peak in tree.peaks],
        at=timezone.now(),
        note=note,
    )

"""A cheap look: what is there is read, and worked out anew only where it or what was decided has changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime, timedelta

from django.utils import timezone

from catalog.nodes import last
from lakewarden.backends import base
from lakewarden.backends.base import Observation, Right
from policies.models import Backend, ForeignOrder, OutboxEntry
from policies.services.grants import revision_now
from policies.sync.connections.opening import open_backend
from policies.sync.safeguards.report_only import only_reports

WHOLE_EVERY = timedelta(hours=1)
"""Even a backend that tells its position is read wholly this often."""


def unchanged(row: Backend) -> bool:
    """Whether all is as at the last comparison, which is then as good as made now.  Raises BackendError."""
    now, revision = timezone.now(), revision_now()
    # read before the entries are: whatever is decided later has an entry that is seen
    catalog = last(row.catalog_id)
    if catalog is None or not row.seen or not _at_rest(row) or _waits(row):
        return False
    mine = Backend.objects.filter(pk=row.pk, seen=row.seen, state=row.state)
    out_there = open_backend(row, catalog)
    try:
        if position := _position(row, out_there, now):
            # not all of it was read, so nothing is proved by this
            return position == row.position and bool(mine.update(looked_at=now))
        same = digest(out_there.observe()) == row.seen
    finally:
        out_there.close()
    if same:
        proved = {"proved_at": now, "proved_revision": revision} if row.state == Backend.State.IN_SYNC else {}
        mine.update(looked_at=now, whole_at=now, compared_revision=revision, **proved)
    return same


def _position(row: Backend, out_there: base.Backend, now: datetime) -> str:
    """Where a backend stands that is expensive to read and was read wholly not long ago; "" for any other."""
    tells = getattr(out_there, "position", None)
    lately = row.whole_at is not None and now - row.whole_at < WHOLE_EVERY
    return str(tells()) if tells and row.position and lately else ""


def _at_rest(row: Backend) -> bool:
    """Nothing is left to be made true: it was equal, or only reports what is not."""
    return row.state == Backend.State.IN_SYNC or (row.state == Backend.State.BEHIND and only_reports(row))


def _waits(row: Backend) -> bool:
    entries = OutboxEntry.objects.filter(backend=row, due__lte=timezone.now())
    orders = ForeignOrder.objects.filter(backend=row, done__isnull=True)
    return entries.exists() or orders.exists()


def digest(seen: Observation) -> str:
    """The same for two looks that saw the same, whatever their positions; "" where something was not seen."""
    if not seen.complete:
        return ""
    hasher = hashlib.sha256()
    for line in _lines(seen):
        hasher.update(line.encode(errors="surrogatepass"))
        hasher.update(b"\n")
    return hasher.hexdigest()


def _lines(seen: Observation) -> Iterator[str]:
    yield from sorted(
        repr((source_object.kind, source_object.path, source_object.id, source_object.owner))
        for source_object in seen.objects
    )
    yield repr(sorted(seen.people))
    for roles in (seen.roles, seen.amiss_rights):
        for key, rights in sorted(roles.items()):
            yield repr(key)
            yield from sorted(map(_right_text, rights))
        yield "-"
    for members in (seen.members, seen.amiss_members, seen.groups):
        yield from (repr((key, sorted(people))) for key, people in sorted(members.items()))
        yield "-"
    yield from sorted(repr((_right_text(grant.right), grant.holder, grant.grantor)) for grant in seen.foreign)
    yield from sorted(repr((bypass.holder, bypass.what, bypass.path)) for bypass in seen.bypasses)
    yield repr((sorted(seen.unknown), seen.in_force, sorted(seen.barred)))


def _right_text(right: Right) -> str:
    return f"{right.kind}\t{chr(31).join(right.path)}\t{right.right}"

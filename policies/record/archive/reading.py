"""Events wherever they are: live, or in an archive once they were removed from the live tables."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Collection, Iterator

from django.db.models import QuerySet

from policies.models import Archive, Event
from policies.record.archive import files as archive_files
from policies.record.newest_editions import IN_EVENT

CHUNK = 2000


def archives() -> QuerySet[Archive]:
    """Those that hold what is not live any more."""
    return Archive.objects.filter(removed__gt=0).order_by("first")


def all_events(last: int, first: int = 0) -> Iterator[Event]:
    """Every event after one revision up to another, in order, streaming.  Raises ArchiveBroken."""
    rows = Event.objects.filter(change__gt=first, change__lte=last).order_by("change", "number")
    moved = [_moved(archive, last, first) for archive in archives().filter(removed__gt=first)]
    return heapq.merge(rows.iterator(chunk_size=CHUNK), *moved, key=_place)


def _moved(archive: Archive, last: int, first: int) -> Iterator[Event]:
    if first:
        yield from archive_files.events_within(archive.folder, first + 1, min(archive.removed, last))
        return
    for event in archive_files.events(archive.folder):
        if event.change_id > min(archive.removed, last):
            return
        yield event


def events_of_kinds(kinds: Collection[str], last: int) -> Iterator[Event]:
    """The events of some kinds up to a revision, in order, streaming.  Raises ArchiveBroken."""
    rows = Event.objects.filter(kind__in=kinds, change__lte=last).order_by("change", "number")
    moved = [(event for event in _moved(archive, last, 0) if event.kind in kinds) for archive in archives()]
    return heapq.merge(rows.iterator(chunk_size=CHUNK), *moved, key=_place)


def events_with_editions(last: int) -> Iterator[Event]:
    """The live events up to a revision that tell of editions, in order, streaming."""
    rows = Event.objects.filter(data__has_key=IN_EVENT, change__lte=last).order_by("change", "number")
    return rows.iterator(chunk_size=CHUNK)


def _place(event: Event) -> tuple[int, int]:
    return event.change_id, event.number


def events_within(realm_id: int, first: int, last: int) -> Iterator[Event]:
    """A realm's events of some revisions, in order, that are not live any more.  Raises ArchiveBroken."""
    for archive in archives().filter(realm=realm_id, first__lt=last, removed__gte=first):
        yield from archive_files.events_within(archive.folder, first, min(last, archive.removed))


def events_of(revisions: Collection[int]) -> Iterator[Event]:
    """The events of some changes, in order.  Reads what holds them of the archives.  Raises ArchiveBroken."""
    live = Event.objects.filter(change__in=revisions).order_by("change", "number")
    ordered = sorted(set(revisions))
    moved = [
        archive_files.events_among(archive.folder, inside)
        for archive in archives()
        if (inside := ordered[bisect_right(ordered, archive.first) : bisect_right(ordered, archive.removed)])
    ]
    return heapq.merge(live, *moved, key=lambda event: (event.change_id, event.number))

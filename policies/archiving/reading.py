"""Events wherever they are: live, or in an archive once they were removed from the live tables."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from django.db.models import QuerySet

from accounts.models import Principal
from policies.archiving import files
from policies.models import Archive, Change, Event

CHUNK = 2000


def archives() -> QuerySet[Archive]:
    """Those that hold what is not live any more."""
    return Archive.objects.filter(removed__gt=0).order_by("first")


def all_events(last: int) -> Iterator[Event]:
    """Every event up to a revision, in order, streaming.  Raises ArchiveBroken."""
    live = Event.objects.filter(change__lte=last).order_by("change", "number").iterator(chunk_size=CHUNK)
    moved = [_moved(archive, last) for archive in archives()]
    return heapq.merge(live, *moved, key=lambda event: (event.change_id, event.number))


def _moved(archive: Archive, last: int) -> Iterator[Event]:
    for event in files.events(archive.folder):
        if event.change_id > min(archive.removed, last):
            return
        yield event


def events_of(revisions: Collection[int]) -> Iterator[Event]:
    """The events of some changes, in order.  Reads the archives that hold them.  Raises ArchiveBroken."""
    live = Event.objects.filter(change__in=revisions).order_by("change", "number")
    wanted = set(revisions)
    holding = [
        archive
        for archive in archives()
        if any(archive.first < revision <= archive.removed for revision in wanted)
    ]
    moved = [(event for event in _moved(one, one.removed) if event.change_id in wanted) for one in holding]
    return heapq.merge(live, *moved, key=lambda event: (event.change_id, event.number))


@dataclass(frozen=True)
class Sought:
    """What is looked for in a realm's archives: kinds, a person, words in names and reasons, a place."""

    realm_id: int
    text: str = ""
    kind: str = ""
    person: Principal | None = None
    inside: frozenset[int] | None = None
    """Only what lies on or below these objects; None for everything."""


def search(sought: Sought, limit: int) -> list[Event]:
    """The newest archived events that fit, newest first, with their changes.  Reads every file of the realm.

    Raises ArchiveBroken.
    """
    found: list[Event] = []
    words = sought.text.casefold()
    reasons = _reasons(sought) if words else frozenset()
    for archive in archives().filter(realm=sought.realm_id).order_by("-first"):
        fits = [one for one in _moved(archive, archive.removed) if _fits(one, sought, words, reasons)]
        found += fits[::-1][: limit - len(found)]
        if len(found) == limit:
            break
    changes = Change.objects.in_bulk([event.change_id for event in found])
    for event in found:
        event.change = changes[event.change_id]
    return found


def _reasons(sought: Sought) -> frozenset[int]:
    rows = Change.objects.filter(realm=sought.realm_id, reason__icontains=sought.text)
    return frozenset(rows.values_list("revision", flat=True))


def _fits(event: Event, sought: Sought, words: str, reasons: frozenset[int]) -> bool:
    if sought.kind and event.kind != sought.kind and not event.kind.startswith(f"{sought.kind}."):
        return False
    if sought.person and sought.person.pseudonym not in event.people:
        return False
    if sought.inside is not None and sought.inside.isdisjoint(event.lineage):
        return False
    return not words or words in event.object_name.casefold() or event.change_id in reasons

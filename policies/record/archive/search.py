"""The archive questioned as the live history is: by kinds, people, objects, times and words, newest first.

Beside its events an archive has an index of what occurs in each group of them.  Groups are read from the end,
and only those in which all that is asked for occurs; their events are then judged themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

from policies.models import Archive, Change, Event
from policies.record.archive import facets, reading
from policies.record.archive import files as archive_files
from policies.record.archive.facets import FacetFilter
from policies.record.history import Filter, Sight

Place = tuple[int, int]
"""Where an event stands: its revision and its number there."""


@dataclass(frozen=True)
class ArchivePage:
    """Archived events with their changes, newest first; `next` is where to go on before, None at the end."""

    events: tuple[Event, ...]
    next: Place | None


def search(
    realm_id: int, asked: Filter, seen: Sight, *, before: Place | None = None, limit: int
) -> ArchivePage:
    """One page of a realm's archives.  Raises ArchiveBroken."""
    if asked.text and not facets.words_of(asked.text):
        return ArchivePage((), None)
    results = list(islice(_all(realm_id, asked, seen, before), limit + 1))
    shown = tuple(results[:limit])
    more = len(results) > limit
    return ArchivePage(shown, (shown[-1].change_id, shown[-1].number) if more else None)


def _all(realm_id: int, filter_: Filter, seen: Sight, before: Place | None) -> Iterator[Event]:
    for archive in reading.archives().filter(realm=realm_id).order_by("-first"):
        if before is None or archive.first < before[0]:
            yield from _of_archive(archive, filter_, seen, before)


def _of_archive(archive: Archive, filter_: Filter, seen: Sight, before: Place | None) -> Iterator[Event]:
    sets = [seen.facets()]
    if filter_.object:
        sets.append((f"o{filter_.object.id}",))
    if filter_.person:
        sets.append((f"p{filter_.person.pseudonym}",))
    if filter_.kinds:
        sets.append(tuple(f"k{kind}" for kind in filter_.kinds))
    if filter_.actor:
        sets.append((f"a{filter_.actor.pseudonym}",))
    wanted = FacetFilter(tuple(sets), tuple(facets.words_of(filter_.text)), filter_.since, filter_.until)
    with (
        archive_files.opened(archive.folder, archive_files.EVENTS) as file,
        _occurring(archive.folder) as index,
    ):
        for number in reversed(range(file.num_row_groups)):
            occurring = index(number)
            if occurring is not None and not wanted.among(occurring):
                continue
            events_read = [archive_files.event_of(row) for row in file.read_row_group(number).to_pylist()]
            old = [
                item for item in events_read if item.change_id <= archive.removed and _earlier(item, before)
            ]
            yield from _judged(old, filter_, seen)


@contextmanager
def _occurring(folder: str) -> Iterator[Callable[[int], list[str] | None]]:
    """What occurs in a group, by its number; None in archives that have no index, so all of them is read."""
    if not (archive_files.top() / folder / archive_files.INDEX).exists():
        yield lambda number: None
        return
    with archive_files.opened(folder, archive_files.INDEX) as index:
        yield lambda number: index.read_row_group(number)["facet"].to_pylist()


def _earlier(event: Event, before: Place | None) -> bool:
    return before is None or (event.change_id, event.number) < before


def _judged(events: list[Event], filter_: Filter, seen: Sight) -> Iterator[Event]:
    """Those of a group that fit, the last first, with their changes.  One query, or none."""
    fitting = [item for item in events if _fits(item, filter_, seen)]
    wanted = {item.change_id for item in fitting}
    changes = filter_.changes().in_bulk(list(wanted)) if wanted else {}
    words = facets.words_of(filter_.text)
    for event in reversed(fitting):
        change = changes.get(event.change_id)
        if change is not None and _says(event, change, words):
            event.change = change
            yield event


def _fits(event: Event, filter_: Filter, seen: Sight) -> bool:
    """What is asked of events and what may be seen, as the live history asks the database for it."""
    return (
        (not filter_.kinds or event.kind in filter_.kinds)
        and (filter_.person is None or filter_.person.pseudonym in event.people)
        and (filter_.object is None or filter_.object.id in event.lineage)
        and _visible(event, seen)
    )


def _visible(event: Event, seen: Sight) -> bool:
    if seen.viewer.pseudonym in event.people or not seen.inside.isdisjoint(event.lineage):
        return True
    return seen.site and not event.lineage


def _says(event: Event, change: Change, words: list[str]) -> bool:
    return not words or any(
        facets.begin_so(words, facets.words_of(text)) for text in (event.object_name, change.reason)
    )

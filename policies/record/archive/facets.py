"""What the events of an archive are found by: kinds, people, objects, days, and words of names and reasons.

`k` and a kind, `o` and an object with all above it, `p` a person concerned, `a` an actor, `d` a day in UTC,
`w` a word of a name, `r` a word of a reason; `o` alone is what is said of no object.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from policies.models import Change


def words_of(text: str) -> list[str]:
    """The words of a name or a reason, as they are compared."""
    return re.findall(r"[^\W_]+", text.casefold())


def begin_so(wanted: Iterable[str], words: Sequence[str]) -> bool:
    """Whether each wanted word is the beginning of one of the words."""
    return all(any(word.startswith(item) for word in words) for item in wanted)


def occurring(rows: Iterable[Mapping[str, Any]], changes: Mapping[int, Change]) -> set[str]:
    """Every facet of some archived events."""
    facets = {facet for change in changes.values() for facet in _of_change(change)}
    for row in rows:
        facets.update(_of_event(row))
    return facets


def _of_event(row: Mapping[str, Any]) -> Iterator[str]:
    yield f"k{row['kind']}"
    yield from (f"o{key}" for key in row["lineage"] or ("",))
    yield from (f"p{item}" for item in row["people"])
    yield from (f"w{word}" for word in words_of(row["object_name"]))


def _of_change(change: Change) -> Iterator[str]:
    yield f"a{change.actor}"
    yield f"d{_day(change.at)}"
    yield from (f"r{word}" for word in words_of(change.reason))


def _day(moment: datetime) -> str:
    return moment.astimezone(UTC).date().isoformat()


@dataclass(frozen=True)
class FacetFilter:
    """What must occur in a group for one of its events to fit: of each set one facet, a day, all words."""

    sets: tuple[tuple[str, ...], ...] = ()
    words: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None

    def among(self, facets: Sequence[str]) -> bool:
        """Whether all of it occurs among facets that are in order."""
        return (
            all(any(_has(facets, item) for item in some) for some in self.sets)
            and self._in_time(facets)
            and any(all(_begins(facets, place + word) for word in self.words) for place in "wr")
        )

    def _in_time(self, facets: Sequence[str]) -> bool:
        first = f"d{_day(self.since)}" if self.since else "d"
        last = f"d{_day(self.until)}" if self.until else "d~"
        at = bisect_left(facets, first)
        return at < len(facets) and first <= facets[at] <= last


def _has(facets: Sequence[str], facet: str) -> bool:
    at = bisect_left(facets, facet)
    return at < len(facets) and facets[at] == facet


def _begins(facets: Sequence[str], start: str) -> bool:
    at = bisect_left(facets, start)
    return at < len(facets) and facets[at].startswith(start)

"""Whether the record is whole: every change there, unchanged, in order, up to the number the site is at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from policies import access_log
from policies.changes import digest_of
from policies.models import AccessRecord, Change, Counter, Event


@dataclass(frozen=True)
class Verdict:
    """`broken` names the first thing that does not fit, in words; None when all of it does."""

    changes: int
    events: int
    looks: int
    broken: str | None = None

    def __bool__(self) -> bool:
        return self.broken is None


def verify() -> Verdict:
    """Read the whole record once, streaming, and recompute every digest; what is added meanwhile waits."""
    verdict = _verify_changes()
    return verdict if not verdict else _verify_looks(verdict)


def _verify_changes() -> Verdict:
    # read first: whatever it counts is committed, and later changes are not yet ours to judge
    counter = Counter.objects.get()
    previous, revision, events = "", 0, 0
    for change, its_events in _with_events(counter.revision):
        revision += 1
        events += len(its_events)
        if problem := _problem(change, its_events, revision, previous):
            return Verdict(revision, events, 0, problem)
        previous = change.digest
    if (counter.revision, counter.digest) != (revision, previous):
        return Verdict(
            revision, events, 0, f"the record ends at revision {revision}, the site is at {counter.revision}"
        )
    return Verdict(revision, events, 0)


def _problem(change: Change, events: list[Event], revision: int, previous: str) -> str | None:
    if change.revision != revision:
        return f"revision {revision} is missing"
    if change.previous != previous:
        return f"revision {revision} does not follow from the one before"
    if digest_of(change, events) != change.digest:
        return f"revision {revision} was changed after it was written"
    return None


def _with_events(last: int) -> Iterator[tuple[Change, list[Event]]]:
    """Both tables in order up to a revision, merged as they stream by."""
    events: Iterable[tuple[int, Iterator[Event]]] = groupby(
        Event.objects.filter(change__lte=last).order_by("change", "number").iterator(chunk_size=2000),
        key=lambda event: event.change_id,
    )
    ahead = next(events := iter(events), None)
    for change in Change.objects.filter(revision__lte=last).order_by("revision").iterator(chunk_size=2000):
        mine: list[Event] = []
        if ahead is not None and ahead[0] == change.revision:
            mine = list(ahead[1])
            ahead = next(events, None)
        yield change, mine


def _verify_looks(verdict: Verdict) -> Verdict:
    previous, count = "", 0
    for row in AccessRecord.objects.order_by("pk").iterator(chunk_size=2000):
        count += 1
        if row.previous != previous or access_log.digest_of(row) != row.digest:
            return Verdict(verdict.changes, verdict.events, count, f"access record {row.pk} was changed")
        previous = row.digest
    return Verdict(verdict.changes, verdict.events, count)

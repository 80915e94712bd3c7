"""Whether the record is whole: every entry there, unchanged, in order, as far as it was signed.

Checkpoints are read from the database and from the files they were sent to; who can change the one place
cannot make it fit the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.db.models import Aggregate, Count, Max, Model, Subquery, Value

from lakewarden.record import lost_ends as lost
from lakewarden.record import notes
from lakewarden.record.signed import Misfit, Roots, SignedLog
from policies.events import HISTORY_ARCHIVED
from policies.models import AccessCounter, AccessRecord, Change, Counter, Event
from policies.record import access_log, checkpoints, lost_ends
from policies.record.archive import files as archive_files
from policies.record.archive import reading
from policies.record.archive.files import ArchiveBroken
from policies.record.change import digest_of
from policies.record.replay import Replay

TOLD = 5000
"""Changes between two reports of how far a reading is."""


@dataclass(frozen=True)
class Verdict:
    """`broken` names the first thing that does not fit, in words; None when all of it does."""

    changes: int = 0
    events: int = 0
    looks: int = 0
    signed: int = 0
    broken: str | None = None
    facts: int = 0
    differences: int = 0
    differing: tuple[str, ...] = ()
    """The first of what is not as the record says, each a sentence with who could have made it."""
    lost: tuple[str, ...] = ()
    """What the record itself says is gone since a copy of the database was restored."""

    def __bool__(self) -> bool:
        return self.broken is None and not self.differences


class _Broken(Exception):
    """The first thing that does not fit."""


class _Count:
    """What was found good so far, kept when the next thing is not."""

    def __init__(self, tell: Callable[[int], object], replay: Replay | None) -> None:
        self.changes = self.events = self.looks = self.signed = 0
        self.tell, self.replay = tell, replay
        self.lost: tuple[str, ...] = ()

    def verdict(self, broken: str | None = None) -> Verdict:
        read = (self.changes, self.events, self.looks, self.signed)
        if self.replay is None or broken is not None:  # facts are held against a record that is whole
            return Verdict(*read, broken, lost=self.lost)
        differences = self.replay.differences
        return Verdict(
            *read, None, self.replay.facts, differences.count, tuple(differences.lines()), self.lost
        )


def verify(outside: str = "", tell: Callable[[int], object] = bool, *, facts: bool = True) -> Verdict:
    """Read the whole record once, streaming, and recompute every digest; what is added meanwhile waits.

    `outside` is the text of a file of checkpoints kept elsewhere, beside those the site knows of; `tell` is
    called now and then with the number of changes read.  With `facts` the record is replayed while it is
    read, and what is decided on is held against it.
    """
    count = _Count(tell, Replay() if facts else None)
    try:
        roots = _signed_roots(outside, count)
        _verify_changes(count, roots[checkpoints.name_of(checkpoints.CHANGES)])
        _verify_looks(count, roots[checkpoints.name_of(checkpoints.ACCESS)])
    except (_Broken, Misfit, notes.BadNote, ArchiveBroken) as error:
        return count.verdict(str(error))
    return count.verdict()


def verify_parts(
    parts: Sequence[tuple[int, int]], tell: Callable[[int], object] = bool, *, looks: bool
) -> Verdict:
    """Read wholly only the changes after one revision up to another, with the facts that they speak of.

    Of all others it is seen that every digest follows and is the one that was signed.  So a reading costs
    what is in the parts, a digest for each change there ever was, and what is kept that is no fact.
    """
    replay = Replay()
    count = _Count(tell, replay)
    try:
        roots = _signed_roots("", count)
        _verify_follows(count, roots[checkpoints.name_of(checkpoints.CHANGES)])
        for first, last in parts:
            replay.begin(first)
            for change, its_events in with_events(last, first):
                if digest_of(change, its_events) != change.digest:
                    raise _Broken(f"revision {change.revision} was changed after it was written")
                replay.take_facts(change, its_events)
                count.events += len(its_events)
            replay.upto(last)
        replay.take_kept(reading.events_of_kinds(replay.kinds, count.changes))
        replay.take_editions(reading.events_with_editions(count.changes))
        replay.end()
        if looks:
            _verify_looks(count, roots[checkpoints.name_of(checkpoints.ACCESS)])
    except (_Broken, Misfit, notes.BadNote, ArchiveBroken) as error:
        return count.verdict(str(error))
    return count.verdict()


def _verify_follows(count: _Count, roots: Roots) -> None:
    """The digests alone: none is missing, each names the one before, the signed ones come out."""
    counter = _counter()
    previous, log = "", SignedLog(roots, "revision")
    rows = Change.objects.filter(revision__lte=counter.revision).order_by("revision")
    for revision, before, digest in rows.values_list("revision", "previous", "digest").iterator(
        chunk_size=5000
    ):
        if revision != log.size + 1:
            raise _Broken(f"revision {log.size + 1} is missing")
        if before != previous:
            raise _Broken(f"revision {revision} does not follow from the one before")
        log.append(digest)
        previous, count.changes = digest, log.size
    if (counter.revision, counter.digest) != (log.size, previous):
        raise _Broken(f"the record ends at revision {log.size}, the site is at {counter.revision}")
    log.end()


def _signed_roots(outside: str, count: _Count) -> dict[str, Roots]:
    """What every note says, by log, once its signature was found good, but for what is known as lost."""
    by_log = lost_ends.signed_roots(outside)
    own = {checkpoints.name_of(log) for log in lost_ends.LOGS}
    for log in by_log.keys() - own:
        raise _Broken(f"a checkpoint names {log}, but the record begins otherwise")
    losses = lost_ends.statements()
    count.lost = tuple(map(str, losses))
    for log in own:
        lost.excuse(by_log.setdefault(log, {}), [item for item in losses if item.log == log])
    count.signed = sum(map(len, (roots for sizes in by_log.values() for roots in sizes.values())))
    return by_log


def _verify_changes(count: _Count, roots: Roots) -> None:
    counter = _counter()
    previous, log = "", SignedLog(roots, "revision")
    archived: dict[str, str] = {}
    for change, its_events in with_events(counter.revision):
        if problem := _problem(change, its_events, log.size + 1, previous):
            raise _Broken(problem)
        log.append(change.digest)
        previous = change.digest
        archivings = [event.data for event in its_events if event.kind == HISTORY_ARCHIVED]
        archived |= {data["archive"]: data["digest"] for data in archivings}
        if count.replay is not None:
            count.replay.take(change, its_events)
        count.changes, count.events = log.size, count.events + len(its_events)
        if log.size % TOLD == 0:
            count.tell(log.size)
    if (counter.revision, counter.digest) != (log.size, previous):
        raise _Broken(f"the record ends at revision {log.size}, the site is at {counter.revision}")
    log.end()
    for folder, digest in archived.items():
        archive_files.check(folder, digest)
    if count.replay is not None:
        count.replay.end()


def _counter() -> Counter:
    """How far the record goes; read first: what is added meanwhile is not yet ours to judge."""
    counter = Counter.objects.annotate(there=_there(Change, Max("revision"))).get()
    if (counter.there or 0) > counter.revision:
        raise _Broken(f"revision {counter.there} is there, but the site is at {counter.revision}")
    return counter


def _verify_looks(count: _Count, roots: Roots) -> None:
    counter = AccessCounter.objects.annotate(there=_there(AccessRecord, Count("pk"))).get()
    if (counter.there or 0) > counter.size:
        raise _Broken(f"{counter.there} access records are there, but the site counted {counter.size}")
    previous, log = "", SignedLog(roots, "access record")
    for row in AccessRecord.objects.order_by("pk")[: counter.size].iterator(chunk_size=2000):
        if row.previous != previous:
            raise _Broken(f"access record {row.pk} does not follow from the one before")
        if access_log.digest_of(row) != row.digest:
            raise _Broken(f"access record {row.pk} was changed after it was written")
        log.append(row.digest)
        previous = row.digest
        count.looks = log.size
    if (counter.size, counter.digest) != (log.size, previous):
        raise _Broken(f"the access log ends after {log.size} records, the site counted {counter.size}")
    log.end()


def _there(model: type[Model], what: Aggregate) -> Subquery:
    """How far a log goes, asked together with its counter, which counts whatever is written."""
    rows = model._default_manager.order_by().values(none=Value(1))
    return Subquery(rows.annotate(what=what).values("what"))


def _problem(change: Change, events: list[Event], revision: int, previous: str) -> str | None:
    if change.revision != revision:
        return f"revision {revision} is missing"
    if change.previous != previous:
        return f"revision {revision} does not follow from the one before"
    if digest_of(change, events) != change.digest:
        return f"revision {revision} was changed after it was written"
    return None


def with_events(last: int, first: int = 0) -> Iterator[tuple[Change, list[Event]]]:
    """Changes after one revision up to another with their events, live or archived, merged as they stream by.

    Raises ArchiveBroken.
    """
    events: Iterable[tuple[int, Iterator[Event]]] = groupby(
        reading.all_events(last, first), key=lambda event: event.change_id
    )
    ahead = next(events := iter(events), None)
    rows = Change.objects.filter(revision__gt=first, revision__lte=last).order_by("revision")
    for change in rows.iterator(chunk_size=2000):
        mine: list[Event] = []
        if ahead is not None and ahead[0] == change.revision:
            mine = list(ahead[1])
            ahead = next(events, None)
        yield change, mine

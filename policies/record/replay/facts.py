"""Every fact held against the events that began and ended it, some thousand events at a time.

Both sides are read by revision, so memory does not grow with the record.  A row that no event began, one that
is gone, that ended without an event or did not end with one, and any value that differs is a difference.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.apps import apps
from django.db.models import Q, Subquery

from accounts.fact_content import fact_values, values_told
from accounts.record import Fact, fact_columns
from catalog.models import Placement
from policies.models import Archive, Change, Counter, Event
from policies.record.archive import files as archive_files
from policies.record.replay import principals
from policies.record.replay.differences import NOTHING, Difference, Differences, in_words

MODELS: dict[str, type[Fact]] = {
    str(model._meta.model_name): model for model in apps.get_models() if issubclass(model, Fact)
}
BATCH = 5_000
"""Events that are gathered before they are held against the tables."""


@dataclass(frozen=True)
class StoredFact:
    """A fact as it stands in its table, or in the archive once it was moved there."""

    opened: int
    closed: int | None
    values: Mapping[str, Any]


@dataclass
class _Gathered:
    """What the events of some changes say of the facts of one kind, by the number of each."""

    begun: dict[int, Event] = field(default_factory=dict)
    ended: dict[int, Event] = field(default_factory=dict)


class FactReplay:
    """Takes the changes after revision `first` in their order and compares as it goes."""

    def __init__(self, differences: Differences, first: int = 0) -> None:
        self.differences, self.first, self.last = differences, first, first
        self.compared = 0
        self._events = 0
        self._gathered: dict[str, _Gathered] = defaultdict(_Gathered)

    def take(self, revision: int, events: Iterable[Event]) -> None:
        """The next change, with its events."""
        self.last = revision
        for event in events:
            if code := event.data.get("fact"):
                self._take(event, *code.split(":"))
        if self._events >= BATCH:
            self._compare()

    def upto(self, last: int) -> None:
        """No change up to that revision follows."""
        self.last = last
        self._compare()

    def end(self) -> None:
        """No change follows.  Also tells what stands outside of every revision there is."""
        self._compare()
        for name, model in MODELS.items():
            for row in _beyond(model).iterator(chunk_size=2000):
                self._differs(
                    name,
                    row.pk,
                    "no change beyond the site's last, none before its first",
                    _when(_row_of(row)),
                )

    def _take(self, event: Event, name: str, number: str) -> None:
        self._events += 1
        if name not in MODELS:
            self.differences.add(
                Difference(
                    f"{name} {number}", f"{event.kind} at revision {event.change_id}", "no such table", ""
                )
            )
            return
        gathered, pk = self._gathered[name], int(number)
        side = gathered.begun if "state" in event.data else gathered.ended
        if pk in side:
            self._differs(name, pk, f"twice that it {_did(event)}", "one row")
        side[pk] = event

    def _compare(self) -> None:
        for name, model in MODELS.items():
            gathered = self._gathered.get(name) or _Gathered()
            begun, ended = dict(gathered.begun), dict(gathered.ended)
            for row in _within(model, self.first, self.last).iterator(chunk_size=2000):
                self._hold(name, row.pk, _row_of(row), begun.pop(row.pk, None), ended.pop(row.pk, None))
            left = begun.keys() | ended.keys()
            for pk, row in _elsewhere(model, left, self.first):
                self._hold(name, pk, row, begun.pop(pk, None), ended.pop(pk, None))
            for pk, event in sorted((ended | begun).items()):
                self._differs(name, pk, f"that it {_did(event)}", "no such row")
            self.compared += len(gathered.begun)
        every = (
            (MODELS[name], event)
            for name, gathered in self._gathered.items()
            for event in gathered.begun.values()
        )
        for difference in principals.differences(every):
            self.differences.add(difference)
        self.first, self._events = self.last, 0
        self._gathered.clear()

    def _hold(self, name: str, pk: int, row: StoredFact, begun: Event | None, ended: Event | None) -> None:
        """One row against the event that began it in these changes, and that which ended it."""
        if begun is not None:
            self._hold_values(name, pk, row, begun)
        elif self.first < row.opened <= self.last:
            self._differs(
                name, pk, NOTHING, f"{in_words(row.values)}, {_when(row)}", claims=_change(row.opened)
            )
        closed_between = row.closed is not None and self.first < row.closed <= self.last
        if ended is not None and row.closed != ended.change_id:
            self._differs(name, pk, f"that it {_did(ended)}", _when(row))
        elif ended is None and closed_between:
            self._differs(name, pk, "nothing of an end", _when(row), claims=_change(row.closed or 0))

    def _hold_values(self, name: str, pk: int, row: StoredFact, begun: Event) -> None:
        recorded = _recorded_values(MODELS[name], begun)
        differing = [
            column for column in recorded if column in row.values and row.values[column] != recorded[column]
        ]
        if differing:
            record = {column: recorded[column] for column in differing}
            self._differs(
                name, pk, _each(record), _each({column: row.values[column] for column in differing})
            )
        if row.opened != begun.change_id:
            self._differs(name, pk, f"that it {_did(begun)}", _when(row))

    def _differs(self, name: str, pk: int, record: str, in_table: str, *, claims: str = "") -> None:
        table = MODELS[name]._meta.db_table
        self.differences.add(Difference(f"{name} {pk}", record, in_table, table, claims))


def _within(model: type[Fact], first: int, last: int) -> Any:
    """The rows that say of themselves that they began or ended in these changes."""
    return model._default_manager.filter(
        Q(opened__gt=first, opened__lte=last) | Q(closed__gt=first, closed__lte=last)
    ).order_by("pk")


def _beyond(model: type[Fact]) -> Any:
    # asked in one statement with the counter, which every change writes with its facts
    now = Subquery(Counter.objects.values("revision")[:1])
    return model._default_manager.filter(
        Q(opened__lt=1) | Q(opened__gt=now) | Q(closed__lt=1) | Q(closed__gt=now)
    )


def _row_of(fact: Fact) -> StoredFact:
    return StoredFact(fact.opened, fact.closed, fact_values(fact))


def _elsewhere(model: type[Fact], numbers: Collection[int], first: int) -> Iterator[tuple[int, StoredFact]]:
    """Rows that are not where their events are: of another revision, or archived.  Raises ArchiveBroken."""
    if not numbers:
        return
    left = set(numbers)
    for fact in model._default_manager.filter(pk__in=left):
        left.discard(fact.pk)
        yield fact.pk, _row_of(fact)
    if left and model._meta.db_table in archive_files.TABLES:
        for archive in Archive.objects.exclude(state="written").filter(upto__gte=first).order_by("first"):
            for pk, row in _archived(archive, model, left):
                left.discard(pk)
                yield pk, row


def _archived(
    archive: Archive, model: type[Fact], numbers: Collection[int]
) -> Iterator[tuple[int, StoredFact]]:
    for row in archive_files.facts_among(archive.folder, model._meta.db_table, numbers):
        values = {name: value for name, value in row.values.items() if name in fact_columns(model)}
        values_ = values_told(model, values)
        yield row.id, StoredFact(row.opened, row.closed, {name: values_[name] for name in values})


def _recorded_values(model: type[Fact], event: Event) -> dict[str, Any]:
    """What an event says of the columns that it names; those that came later it cannot know."""
    state = event.data["state"]
    stated = values_told(model, state)
    values = {name: stated[name] for name in state if name in stated}
    if model is Placement and principals.is_personal(values):
        values["name"] = principals.personal_name(values["name"])
    return values


def _did(event: Event) -> str:
    return f"{'began' if 'state' in event.data else 'ended'} at revision {event.change_id}"


def _when(row: StoredFact) -> str:
    ended = f", ended at {row.closed}" if row.closed is not None else ""
    return f"that it began at revision {row.opened}{ended}"


def _each(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {'none' if value in (None, '') else value}" for name, value in values.items())


def _change(revision: int) -> str:
    row = Change.objects.filter(pk=revision).first()
    return (
        f"revision {revision} ({row.kind}, by {row.actor})"
        if row
        else f"revision {revision}, which there is not"
    )

"""The whole record in order: what was changed, who was refused, who looked; for programs that follow it."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db.models import Q, QuerySet

from accounts.text import holdable
from catalog.nodes import Node, any_in
from policies.models import AccessRecord, Event
from policies.record.history import Sight
from policies.record.planner_settings import planned_anew


class Position(NamedTuple):
    """Where an entry stands: its moment, then changes before refusals and looks, then their own numbers."""

    at: datetime
    stream: int
    number: int
    part: int = 0


@dataclass(frozen=True)
class AuditFilter:
    """What is asked of one realm's record: of an object and what is below, an actor's pseudonym, kinds."""

    root: Node
    object: Node | None = None
    actor: str = ""
    kinds: tuple[str, ...] = ()
    since: datetime | None = None


@dataclass(frozen=True)
class Trail:
    """Events and access records, oldest first; `next` is the position to go on after, None at the end."""

    entries: tuple[Event | AccessRecord, ...]
    next: Position | None


@planned_anew()
def trail(asked: AuditFilter, seen: Sight, *, after: Position | None = None, limit: int) -> Trail:
    """One page of what may be seen of the record.  Two queries."""
    events = _following(events_of(asked, seen), 0, after)[: limit + 1]
    records = _following(_records(asked, seen), 1, after)[: limit + 1]
    both = list(heapq.merge(events, records, key=position))
    shown = tuple(both[:limit])
    return Trail(shown, position(shown[-1]) if len(both) > limit else None)


def position(entry: Event | AccessRecord) -> Position:
    if isinstance(entry, Event):
        return Position(entry.change.at, 0, entry.change_id, entry.number)
    return Position(entry.at, 1, entry.pk)


def events_of(asked: AuditFilter, seen: Sight) -> QuerySet[Event]:
    """What was asked for of the record and may be seen, oldest first."""
    rows = Event.objects.filter(_visible(asked, seen), change__realm=asked.root.realm_id)
    if asked.object:
        rows = rows.filter(lineage__contains=[asked.object.id])
    if asked.actor:
        rows = rows.filter(change__actor=asked.actor)
    if asked.kinds:
        rows = rows.filter(_of_kinds(asked.kinds))
    if asked.since:
        rows = rows.filter(change__at__gte=asked.since)
    return rows.select_related("change").order_by("change__at", "change", "number")


def _records(filter_: AuditFilter, seen: Sight) -> QuerySet[AccessRecord]:
    inside = Q(realm=filter_.root.realm_id)
    # a name at which nothing was found belongs to no object, only to the realm it begins with
    name = filter_.root.name
    inside |= Q(realm__isnull=True) & (Q(object_name=name) | Q(object_name__startswith=f"{name}/"))
    rows = AccessRecord.objects.filter(_visible(filter_, seen), inside).select_related("repeat")
    if filter_.object:
        rows = rows.filter(lineage__contains=[filter_.object.id])
    if filter_.actor:
        rows = rows.filter(actor=filter_.actor)
    if filter_.kinds:
        rows = rows.filter(_of_kinds(filter_.kinds))
    return (rows.filter(at__gte=filter_.since) if filter_.since else rows).order_by("at", "pk")


def _visible(filter_: AuditFilter, seen: Sight) -> Q:
    below = any_in("lineage", seen.objects)
    return below | Q(lineage=[]) if filter_.root.id in seen.objects else below


def shows(asked: AuditFilter, seen: Sight, event: Event) -> bool:
    """Whether an event that is at hand may be seen, as the database is asked for those that may."""
    below = not seen.inside.isdisjoint(event.lineage)
    return below or (not event.lineage and asked.root.id in seen.objects)


def _of_kinds(kinds: Sequence[str]) -> Q:
    """Kinds by their whole name, or all that begin alike: `grant` is `grant.added` and `grant.removed`."""
    condition = Q(pk__in=[])
    for kind in filter(holdable, kinds):
        condition |= Q(kind=kind) | Q(kind__startswith=f"{kind}.")
    return condition


def _following(rows: QuerySet, stream: int, after: Position | None) -> QuerySet:  # type: ignore[type-arg]
    if after is None:
        return rows
    at = "at" if stream else "change__at"
    beyond = Q(**{f"{at}__gt": after.at})
    if stream > after.stream:
        beyond |= Q(**{at: after.at})
    elif stream == after.stream:
        beyond |= Q(**{at: after.at}) & _later(stream, after)
    return rows.filter(beyond)


def _later(stream: int, after: Position) -> Q:
    if stream:
        return Q(pk__gt=after.number)
    return Q(change__gt=after.number) | Q(change=after.number, number__gt=after.part)

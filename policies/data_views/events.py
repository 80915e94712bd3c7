"""The events of a realm's record up to a revision, live or archived; refusals and looks have none."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Mapping
from itertools import groupby, islice
from typing import Any

from django.db.models import Q

from policies.data_views.pinned import Keys, Pin, Range
from policies.errors import Archived
from policies.models import Change, Event
from policies.record import audit
from policies.record.archive import reading
from policies.record.archive.files import ArchiveBroken
from policies.record.exports.entries import entry_rows
from policies.record.history import Sight

KEYS = """
SELECT e.change_id AS key FROM policies_event e JOIN policies_change c ON c.revision = e.change_id
 WHERE c.realm = %(realm)s AND c.revision <= %(revision)s
 UNION ALL
SELECT c.revision FROM policies_change c
  JOIN policies_archive a ON a.realm_id = c.realm AND c.revision > a.first AND c.revision <= a.removed
 WHERE c.realm = %(realm)s AND c.revision <= %(revision)s"""
FILTERS = frozenset({"kind"})
Where = Mapping[str, Collection[str]]


def rows(
    pin: Pin, seen: Sight, within: Range, where: Where, limit: int
) -> tuple[list[dict[str, Any]], Keys | None]:
    """A page of events.  Three queries, and one more where there is an archive.  Raises Archived."""
    # the live ones first: what is moved between the two looks is then found twice, and never missed
    events = audit.events_of(audit.AuditFilter(pin.root), seen)
    events = events.filter(_behind(within.after), change__lte=within.upto)
    if "kind" in where:
        events = events.filter(kind__in=where["kind"])
    live = list(events.order_by("change", "number")[: (limit + 1)])
    try:
        old = list(islice(_old(pin, seen, within, where), limit + 1))
    except ArchiveBroken as error:
        raise Archived(f"The history of {pin.root.realm} goes on in an archive: {error}.") from error
    both = groupby(heapq.merge(live, old, key=_place), key=_place)
    page = [next(alike) for _, alike in islice(both, limit + 1)]
    more = _place(page[limit - 1]) if len(page) > limit else None
    return [_row(entry) for entry in entry_rows(_with_changes(page[:limit], old))], more


def _old(pin: Pin, seen: Sight, within: Range, where: Where) -> Iterator[Event]:
    first, *number = within.after
    filter_, kinds = audit.AuditFilter(pin.root), where.get("kind")
    start = first if number else first + 1
    for event in reading.events_within(pin.realm.pk, start, within.upto):
        if number and _place(event) <= within.after:
            continue
        if (kinds is None or event.kind in kinds) and audit.shows(filter_, seen, event):
            yield event


def _with_changes(page: list[Event], old: list[Event]) -> list[Event]:
    """The events with their changes, which stay where they are when events are archived."""
    if old:
        changes = Change.objects.in_bulk({event.change_id for event in page})
        for event in page:
            event.change = changes[event.change_id]
    return page


def _place(event: Event) -> Keys:
    return event.change_id, event.number


def _behind(after: Keys) -> Q:
    """Behind a whole change, or behind one of its events."""
    if len(after) == 1:
        return Q(change__gt=after[0])
    return Q(change__gt=after[0]) | Q(change=after[0], number__gt=after[1])


def _row(entry: Mapping[str, Any]) -> dict[str, Any]:
    place = entry["object"] or {}
    names = (
        "id",
        "revision",
        "kind",
        "at",
        "actor",
        "on_behalf_of",
        "via",
        "reason",
        "request_id",
        "people",
        "text",
    )
    return {**{name: entry[name] for name in names}, "type": place.get("type"), "object": place.get("id")}

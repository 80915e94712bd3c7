"""The events of a realm's record up to a revision; not the refusals and looks, which have none."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.db.models import Q

from policies import audit
from policies.exports.entries import told
from policies.history import Sight
from policies.readings.pinned import Keys, Pin, Range

KEYS = """
SELECT e.change_id AS key FROM policies_event e JOIN policies_change c ON c.revision = e.change_id
 WHERE c.realm = %(realm)s AND c.revision <= %(revision)s"""
FILTERS = frozenset({"kind"})


def rows(
    pin: Pin, seen: Sight, within: Range, where: Mapping[str, Collection[str]], limit: int
) -> tuple[list[dict[str, Any]], Keys | None]:
    """A page of events.  Two queries."""
    found = audit.events_of(audit.Asked(pin.root), seen).filter(
        _behind(within.after), change__lte=within.upto
    )
    if "kind" in where:
        found = found.filter(kind__in=where["kind"])
    page = list(found.order_by("change", "number")[: limit + 1])
    more = (page[limit - 1].change_id, page[limit - 1].number) if len(page) > limit else None
    return [_row(entry) for entry in told(page[:limit])], more


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

"""Who can do what to which object of a realm: object by object, as the law decides."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from catalog.nodes import Node, on_or_below
from lakewarden.law import dialects
from policies.data_views import objects as data_views_objects
from policies.data_views.pinned import Keys, Pin, Range
from policies.decisions.lookups.access import Access, AccessMap

FILTERS = frozenset({"principal", "type"})
SCANNED = 40
"""Objects that one page looks at; each is some queries, so a page may hold few rows and still have a next."""


def rows(
    pin: Pin, seen: Collection[int], within: Range, where: Mapping[str, Collection[str]], limit: int
) -> tuple[list[dict[str, Any]], Keys | None]:
    """A page of people with access.  Five queries an object."""
    begun = len(within.after) > 1
    placements = data_views_objects.placed(pin, within, along=begun)
    if pin.root.id not in seen:
        placements = placements.filter(on_or_below(seen))
    if "type" in where:
        placements = placements.filter(type__in=where["type"])
    places = list(placements[: SCANNED + 1])
    nodes = data_views_objects.standing(pin, places)
    rows_: list[tuple[Keys, dict[str, Any]]] = []
    for place in places[:SCANNED]:
        behind = within.after[1] if begun and place.securable_id == within.after[0] else 0
        people = AccessMap(nodes[place.securable_id], now=pin.at, as_of=pin.revision)
        wanted = where.get("principal")
        people_after = (person for pk, person in sorted(people.people.items()) if pk > behind)
        rows = (people.access_of(item) for item in people_after if wanted is None or str(item) in wanted)
        holders = [row for row in rows if row.can]
        for access in holders:
            if len(rows_) == limit:
                return [row for _, row in rows_], rows_[-1][0]
            rows_.append(((place.securable_id, access.principal.pk), _row(access, nodes[place.securable_id])))
    # behind everybody of the last object that was looked at
    more = (places[SCANNED - 1].securable_id,) if len(places) > SCANNED else None
    return [row for _, row in rows_], more


def _row(access: Access, node: Node) -> dict[str, Any]:
    order = dialects.get(node.kind).actions_for(node.type)
    ways = [path.rule.via for path in access.paths if path.rule.allow and path.rule.via and not path.direct]
    return {
        "type": node.type,
        "object": node.ref.id,
        "principal": str(access.principal),
        "actions": [name for name in order if name in access.can],
        "owner": access.owns,
        "direct": any(path.direct for path in access.paths),
        "via": sorted({" > ".join(f"{station.kind}:{station.name}" for station in way) for way in ways}),
    }

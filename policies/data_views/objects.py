"""The objects of a realm, as they stood."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django.db.models import Q, QuerySet

from accounts.models import Principal
from catalog.models import Placement
from catalog.nodes import Node, all_placed, on_or_below
from policies.data_views.pinned import Keys, Pin, Range
from policies.data_views.visibility import governed
from policies.decisions import slices, snapshots
from policies.decisions.lookups import visible_objects
from policies.models import Ownership

KEYS = """
SELECT p.securable_id AS key FROM catalog_placement p
  JOIN catalog_securable s ON s.id = p.securable_id AND s.realm_id = %(realm)s
 WHERE p.opened <= %(revision)s AND (p.closed IS NULL OR p.closed > %(revision)s)"""
FILTERS = frozenset({"type", "owner"})


def sight(viewer: Principal, top: Node) -> Q | None:
    """What the law shows the viewer now, and all where they may see others' access; None for nothing."""
    ruled, slice_ = governed(viewer, top) or frozenset(), slices.current(viewer, top)
    if top.id in ruled:
        return Q()
    if not ruled and not snapshots.belongs(slice_):
        return None
    return visible_objects.visible_below(slice_, top) | Q(securable=top.id) | on_or_below(ruled)


def placed(pin: Pin, within: Range, *, along: bool = False) -> QuerySet[Placement]:
    """The placements of a range in the order of their objects; with `along` that of `after` comes first."""
    beyond = "gte" if along else "gt"
    rows = Placement.objects.as_of(pin.revision).filter(
        **{f"securable__{beyond}": within.after[0]}, securable__lte=within.upto, securable__realm=pin.realm
    )
    return rows.order_by("securable")


def standing(pin: Pin, places: Collection[Placement]) -> dict[int, Node]:
    """The objects of placements as they stood.  Two queries."""
    above = {key for place in places for key in place.ancestors}
    placements = {
        row.securable_id: row for row in Placement.objects.as_of(pin.revision).filter(securable__in=above)
    }
    return {
        node.id: node
        for node in all_placed(list(places), placements | {item.securable_id: item for item in places})
    }


def named(pin: Pin, ids: Iterable[int]) -> dict[int, Node]:
    """The objects of these numbers as they stood.  Three queries."""
    return standing(pin, list(Placement.objects.as_of(pin.revision).filter(securable__in=set(ids))))


def rows(
    pin: Pin, seen: Q, within: Range, where: Mapping[str, Collection[str]], limit: int
) -> tuple[list[dict[str, Any]], Keys | None]:
    """A page of objects.  Four queries."""
    places, ownership = placed(pin, within).filter(seen), Ownership.objects.as_of(pin.revision).within(pin.at)
    if "type" in where:
        places = places.filter(type__in=where["type"])
    if "owner" in where:
        owned = ownership.filter(called("owner", where["owner"]))
        places = places.filter(securable__in=owned.values("securable"))
    page = list(places[: limit + 1])
    more, page = page[limit - 1].securable_id if len(page) > limit else None, page[:limit]
    owning = ownership.filter(securable__in=[place.securable_id for place in page]).select_related("owner")
    nodes, owners = standing(pin, page), {row.securable_id: str(row.owner) for row in owning}
    rows_ = [_row(nodes[place.securable_id], owners, place) for place in page]
    return rows_, (more,) if more else None


def _row(node: Node, owners: Mapping[int, str], place: Placement) -> dict[str, Any]:
    above = list(node.above())
    return {
        "type": node.type,
        "object": node.ref.id,
        "parent": above[-1].ref.id if above else None,
        "owner": owners.get(node.id),
        "since": place.opened,
    }


def called(field: str, texts: Iterable[str]) -> Q:
    """Principals written `user:ana`."""
    condition = Q(pk__in=[])
    for text in texts:
        kind, colon, name = text.partition(":")
        if colon:
            condition |= Q(**{f"{field}__kind": kind, f"{field}__name": name})
    return condition

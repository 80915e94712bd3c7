"""Objects as they stood at a revision: their names and what was above them are facts like any other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q

from catalog.models import Mode, Placement
from catalog.nodes import Node, all_placed, any_of
from lakewarden.law.objects import ObjectRef


def node_at(id: int, revision: int) -> Node | None:
    """The object of that number as it stood; None when it was not there.  Three queries."""
    return nodes_at([id], revision).get(id)


def last_node(id: int) -> Node | None:
    """The object as it stands, or as it last stood before it was dropped.  Up to four queries."""
    place = Placement.objects.filter(securable=id).order_by("-opened").first()
    return None if place is None else node_at(id, place.opened if place.closed is None else place.closed - 1)


def nodes_at(ids: Iterable[int], revision: int) -> dict[int, Node]:
    """Those of the numbers that were objects then, as they stood.  Three queries."""
    places = {row.securable_id: row for row in _at(ids, revision)}
    above = {key for row in places.values() for key in row.ancestors} - places.keys()
    placements = places | {row.securable_id: row for row in _at(above, revision)}
    return {node.id: node for node in all_placed(list(places.values()), placements)}


@dataclass(frozen=True)
class PastPlaces:
    """Below what some objects stood from one revision to another, without their names."""

    rows: tuple[tuple[int, list[int], int, int | None], ...]

    @classmethod
    def read(cls, ids: Iterable[int], *, first: int, last: int) -> PastPlaces:
        """One query."""
        placements = Placement.objects.filter(any_of("securable_id", ids), opened__lte=last)
        rows = placements.filter(Q(closed__isnull=True) | Q(closed__gt=first))
        return cls(tuple(rows.values_list("securable_id", "ancestors", "opened", "closed")))

    def at(self, revision: int) -> dict[int, tuple[int, ...]]:
        """The lineage of each object that was there."""
        return {
            key: (*above, key)
            for key, above, opened, closed in self.rows
            if opened <= revision and (closed is None or closed > revision)
        }


def mode_at(realm_id: int, revision: int) -> Mode | None:
    """Whether a realm's law was enforced then; None when there was no such realm."""
    return Mode.objects.as_of(revision).filter(realm=realm_id).first()


def _at(ids: Iterable[int], revision: int) -> Iterable[Placement]:
    return Placement.objects.as_of(revision).filter(any_of("securable_id", ids))


def find_at(ref: ObjectRef, revision: int) -> Node | None:
    """The object that bore a name then.  A query for each part of the name, and two."""
    places = Placement.objects.as_of(revision)
    at = places.filter(scope__isnull=True, name=ref.realm).first()
    for part in ref.path[:-1]:
        at = places.filter(scope=at.securable_id, name=part).exclude(type="role").first() if at else None
    if ref.path and at:
        at = places.filter(scope=at.securable_id, name=ref.path[-1], type=ref.type).first()
    if at is None or at.type != ref.type:
        return None
    return node_at(at.securable_id, revision)

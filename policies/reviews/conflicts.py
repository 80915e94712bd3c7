"""Rows that are part of one of the realm's separation-of-duties rules."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from catalog.nodes import Node
from policies.decisions import personal_role_names
from policies.models import ReviewRow
from policies.reviews.row_sources import RowDraft
from policies.separation import conflicts, rules
from policies.separation.sides import SidePath

Place = tuple[str, int | None, int | None]
"""A kind of row, whose it is, and the role, group or object that they have by it."""


def sides(root: Node, now: datetime) -> frozenset[Place]:
    """Every row on which somebody's conflict rests.  A query where no rule is open."""
    violations = conflicts.existing(root, rules.of_realm(root, now.timestamp()))
    return frozenset(
        place
        for item in violations
        for pair in item.clash.both.pairs
        for way in pair
        for place in _rows(item.clash.person.pk, way)
    )


def _rows(person: int, way: SidePath) -> Iterable[Place]:
    holder = person
    for station in way.via:
        key = station.key if isinstance(station.key, int) else None
        if station.kind == "group":
            yield ReviewRow.Kind.MEMBER, holder, key
            holder = key or holder
        elif station.kind == "role" and not personal_role_names.is_personal(station.name):
            yield ReviewRow.Kind.ROLE, holder, key
            return
    yield ReviewRow.Kind.GRANT, holder, way.object


def place_of(draft: RowDraft) -> Place:
    """Where a draft stands among the sides."""
    on = {ReviewRow.Kind.ROLE: draft.role, ReviewRow.Kind.MEMBER: draft.group}
    return draft.kind, draft.holder, on.get(ReviewRow.Kind(draft.kind), draft.securable)

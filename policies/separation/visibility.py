"""What a reader of rules and conflicts may know of: the roles and objects that exist for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from accounts.models import Principal
from catalog.nodes import Node, nodes
from policies.decisions import ask, slices
from policies.separation.rules import Violation
from policies.separation.sides import Side, SidePath, sides_of


@dataclass(frozen=True)
class Sight:
    """The places that are spoken of, and which of them the reader does not know of."""

    places: Mapping[int, Node]
    hidden: frozenset[int] = frozenset()

    def hides(self, side: Side) -> bool:
        return side.key in self.hidden

    def place(self, key: object) -> Node | None:
        """The object of that number, if it is still there and exists for the reader."""
        return self.places.get(key) if isinstance(key, int) and key not in self.hidden else None


def of(reader: Principal | None, keys: Iterable[object], *, now: datetime | None = None) -> Sight:
    """What somebody may know of some roles and objects.  Nobody stands for a command, which knows all.

    One query, and one more for each realm; worked out anew, so that it may be asked within a change.
    """
    places = nodes(key for key in keys if isinstance(key, int))
    if reader is None:
        return Sight(places)
    moment, hidden = now or timezone.now(), set()
    by_person: dict[int, list[Node]] = {}
    for place in places.values():
        by_person.setdefault(place.realm_id, []).append(place)
    by_realm = list(by_person.values())
    for mine in by_realm:
        held = slices.about(reader, mine[0], {key for item in mine for key in item.lineage}, now=moment)
        hidden |= {item.id for item in mine if not ask.may_see(held, item, now=moment)}
    return Sight(places, frozenset(hidden))


def of_clashes(
    reader: Principal | None, clashes: Collection[Violation], *, now: datetime | None = None
) -> Sight:
    """The same for all that conflicts speak of."""
    sides = {side.key for clash in clashes for side in sides_of(clash.rule)}
    ways = [way for clash in clashes for pair in clash.both.pairs for way in pair]
    return of(reader, sides.union(*map(_keys, ways)), now=now)


def _keys(way: SidePath) -> set[object]:
    return {way.object, *(station.key for station in way.via if station.kind == "role")}

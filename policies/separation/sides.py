"""What a rule of separation speaks of, and by which ways a person has it.

Windows are read conservatively: both sides at any one moment from now on count as both.  A denial
dissolves nothing, because it may be lifted; owning an object is having every privilege on it, unless the
rule says otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice, product

from lakewarden.law.facts import OWNER, Rule, Station, Window
from policies.decisions.facts import Loaded
from policies.models import SeparationRule

Span = tuple[float, float]
"""From a moment until another, seconds since 1970."""
ALWAYS = (float("-inf"), float("inf"))
Places = Mapping[int, tuple[int, ...]]
"""The numbers from the realm's root down to each object."""


@dataclass(frozen=True)
class Side:
    """A role; or, without one, privileges on an object and what is below it; `owners` have them, too."""

    role: int | None = None
    object: int | None = None
    privileges: tuple[str, ...] = ()
    owners: bool = True

    @property
    def key(self) -> int:
        """The number of the role or object it speaks of."""
        return self.role or self.object or 0

    @property
    def codes(self) -> frozenset[str]:
        """The privileges by which somebody has it, ownership among them where it counts."""
        return frozenset((*self.privileges, OWNER) if self.owners else self.privileges)


def sides_of(rule: SeparationRule) -> tuple[Side, Side]:
    first = Side(rule.one_role_id, rule.one_object_id, tuple(rule.one_privileges), rule.owners)
    other = Side(rule.other_role_id, rule.other_object_id, tuple(rule.other_privileges), rule.owners)
    return first, other


@dataclass(frozen=True)
class SidePath:
    """One way by which somebody has a side: its stations, and for a privilege what it is and on what."""

    via: tuple[Station, ...]
    span: Span
    object: int | None = None
    privilege: str = ""
    opened: int = 0


@dataclass(frozen=True)
class HeldSides:
    """All that a person has in a realm: the ways to roles, and the rules that allow them something."""

    roles: tuple[SidePath, ...] = ()
    rules: tuple[Rule, ...] = ()

    def also(self, other: HeldSides) -> HeldSides:
        return HeldSides((*self.roles, *other.roles), (*self.rules, *other.rules))

    def apart_from(self, objects: Collection[int]) -> HeldSides:
        """The same without what rests on some objects."""
        return HeldSides(self.roles, tuple(rule for rule in self.rules if rule.object not in objects))


def held(loaded: Loaded, person: int) -> HeldSides:
    """What somebody has by the facts that were loaded."""
    rules = tuple(rule for rule in loaded.rules_of(person) if rule.allow)
    return HeldSides(tuple(_roles(loaded, person)), rules)


def _roles(loaded: Loaded, person: int) -> Iterable[SidePath]:
    for role, name, window in loaded.roles.get(person, ()):
        yield SidePath((Station("role", name, role),), span_of(window))
    for group, called, inside in loaded.groups.get(person, ()):
        for role, name, window in loaded.roles.get(group, ()):
            via = (Station("group", called, group), Station("role", name, role))
            yield SidePath(via, common(span_of(inside), span_of(window)))


def ways(side: Side, has: HeldSides, places: Places) -> list[SidePath]:
    """The ways by which somebody has a side; a role's way by its last station."""
    if side.role is not None:
        return [way for way in has.roles if way.via[-1].key == side.role]
    wanted = side.codes
    return [
        SidePath(
            rule.via, span_of((rule.valid_from, rule.valid_until)), rule.object, rule.privilege, rule.opened
        )
        for rule in has.rules
        if rule.privilege in wanted
        and isinstance(rule.object, int)
        and meets(side.object, rule.object, places)
    ]


def meets(one: int | None, other: int, places: Places) -> bool:
    """Whether one of two objects is the other, or lies below it."""
    return one in places.get(other, ()) or other in places.get(one or 0, ())


SHOWN = 5
"""So many pairs of ways are told of; who owns much on both sides has them by thousands."""


@dataclass(frozen=True)
class Both:
    """Somebody has both sides: some pairs of ways that come together, and all the spans in which any do."""

    pairs: tuple[tuple[SidePath, SidePath], ...]
    spans: tuple[Span, ...]

    def __bool__(self) -> bool:
        return bool(self.spans)


def both(rule: SeparationRule, has: HeldSides, places: Places, now: float) -> Both:
    """By which pairs of ways somebody has both sides of a rule, and when, from now on."""
    first, second = (ways(side, has, places) for side in sides_of(rule))
    later = (now, ALWAYS[1])
    met = [common(side, other) for side, other in product(joined(first), joined(second))]
    spans = [span for span in (common(later, item) for item in met) if span[0] < span[1]]
    if not spans:
        return Both((), ())
    pairs = (pair for pair in product(first, second) if _meet(pair, later))
    return Both(tuple(islice(pairs, SHOWN)), tuple(spans))


def _meet(pair: tuple[SidePath, SidePath], later: Span) -> bool:
    start, end = common(later, common(pair[0].span, pair[1].span))
    return start < end


# Spans


def seconds(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment else None


def span_of(window: Window) -> Span:
    start, end = window
    return (ALWAYS[0] if start is None else start, ALWAYS[1] if end is None else end)


def common(span: Span, other: Span) -> Span:
    """The moments in both; it ends before it begins when there are none."""
    return max(span[0], other[0]), min(span[1], other[1])


def joined(some: Iterable[SidePath]) -> list[Span]:
    """The spans of some ways, those that touch made one."""
    made: list[Span] = []
    for start, end in sorted(way.span for way in some):
        if made and start <= made[-1][1]:
            made[-1] = (made[-1][0], max(end, made[-1][1]))
        elif start < end:
            made.append((start, end))
    return made


def without(spans: Sequence[Span], covered: Iterable[Span]) -> list[Span]:
    """What of some spans lies in none of the others."""
    left = [span for span in spans if span[0] < span[1]]
    for start, end in covered:
        left = [
            part
            for item in left
            for part in ((item[0], min(item[1], start)), (max(item[0], end), item[1]))
            if part[0] < part[1]
        ]
    return left

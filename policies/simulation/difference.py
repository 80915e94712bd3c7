"""Whose access to what would be another: decided for each class of people on each class of objects.

An object of which no rule speaks is like every other of its type in the same container, so one of them is
asked about for all of them.  The counts are exact.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext

from accounts.models import Principal
from catalog.models import Placement
from catalog.nodes import Node, nodes, on_or_below
from lakewarden.law import engine
from lakewarden.law.facts import Lineage, Slice
from policies.decisions import personal_role_names
from policies.errors import Invalid
from policies.simulation.simulation import Alike, Simulation

MOST = 2_000_000
"""So many decisions at the most are made while somebody waits for the answer; a worker makes more."""
Progress = Callable[[int, int], None]
"""Hears how many decisions are made, of how many."""


class TooLarge(Invalid):
    """It takes longer than somebody can wait for an answer."""

    def __init__(self) -> None:
        super().__init__(
            gettext("These changes concern too much for one answer. Ask about fewer of them at once.")
        )


@dataclass(frozen=True)
class AccessChange:
    """What somebody could do no longer, and what they could do then, on one object."""

    person: Principal
    node: Node
    gains: frozenset[str]
    loses: frozenset[str]


@dataclass(frozen=True)
class Totals:
    """How many people, objects and pairs of them gain something, and lose something."""

    people_gaining: int = 0
    people_losing: int = 0
    objects_gaining: int = 0
    objects_losing: int = 0
    pairs_gaining: int = 0
    pairs_losing: int = 0


@dataclass(frozen=True)
class _Effect:
    """The same for a class of people on a class of objects."""

    people: tuple[Principal, ...]
    """One and the same tuple wherever they are the same people."""
    objects: tuple[int, ...]
    gains: frozenset[str]
    loses: frozenset[str]


class Difference:
    """The difference of effective access that a simulation makes.

    `governed`: the objects on and below which the viewer may see the access of others; None for all.  Of what
    else there is nothing is said, but to the viewer of themselves.

    With `progress` nobody waits for it, so it may be as large as it is; else raises TooLarge.
    """

    def __init__(
        self,
        simulation: Simulation,
        *,
        viewer: Principal | None = None,
        governed: Collection[int] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.simulation, self.viewer, self.governed = simulation, viewer, governed
        self.progress = progress
        self._known: dict[Hashable, frozenset[str]] = {}

    @cached_property
    def totals(self) -> Totals:
        gaining = [effect for effect in self._effects if effect.gains]
        losing = [effect for effect in self._effects if effect.loses]
        return Totals(
            _people(gaining),
            _people(losing),
            _objects(gaining),
            _objects(losing),
            _pairs(gaining),
            _pairs(losing),
        )

    def page(self, *, after: tuple[int, int] = (0, 0), limit: int) -> list[AccessChange]:
        """Who gains and loses what, by the numbers of object and person, from a place on."""
        place, person = after
        by_object: dict[int, list[_Effect]] = defaultdict(list)
        for effect in self._effects:
            for key in effect.objects:
                if key >= place:
                    by_object[key].append(effect)
        lines = []
        for key in sorted(by_object):
            ordered = sorted(_persons(by_object[key]), key=lambda pair: pair[0].pk)
            lines += [(key, who, effect) for who, effect in ordered if (key, who.pk) > (place, person)]
            if len(lines) >= limit:
                break
        lines = lines[:limit]
        named = nodes({key for key, _, _ in lines})
        return [
            AccessChange(who, named[key], effect.gains, effect.loses)
            for key, who, effect in lines
            if key in named
        ]

    def places(self) -> QuerySet[Placement, Any]:
        """The numbers of the objects whose access may be another; not of personal roles."""
        touched = self.simulation.touched
        rows = Placement.objects.open().filter(securable__realm=self.simulation.root.realm_id)
        if self.simulation.root.id not in touched:
            rows = rows.filter(on_or_below(touched))
        mine = Q(type="role") & Q(name__startswith=personal_role_names.MARK)
        return rows.exclude(mine).values("securable")

    def shown_places(self) -> QuerySet[Placement, Any]:
        """Those of the objects of which the viewer may see others' access."""
        if self.governed is None or self.simulation.root.id in self.governed:
            return self.places()
        return self.places().filter(on_or_below(self.governed))

    def gone_places(self) -> QuerySet[Placement, Any]:
        """The numbers of objects that are gone and stood last where access may be another.

        Of these only such as stood where the viewer may see the access of others.
        """
        later = Placement.objects.filter(securable=OuterRef("securable"), pk__gt=OuterRef("pk"))
        rows = Placement.objects.filter(securable__realm=self.simulation.root.realm_id, closed__isnull=False)
        for keys in (self.simulation.touched, self.governed):
            if keys is not None and self.simulation.root.id not in keys:
                rows = rows.filter(on_or_below(keys))
        return rows.exclude(Exists(later)).values("securable")

    @cached_property
    def objects(self) -> dict[int, tuple[int | None, str]]:
        """Parent and type of each of them."""
        rows = self.places().values_list("securable", "parent", "type")
        return {key: (parent, type_) for key, parent, type_ in rows}

    @cached_property
    def shown(self) -> frozenset[int]:
        """The numbers of these."""
        if self.governed is None or self.simulation.root.id in self.governed:
            return frozenset(self.objects)
        return frozenset(self.shown_places().values_list("securable", flat=True))

    @cached_property
    def _effects(self) -> list[_Effect]:
        groups = self._groups()
        many = len(self.simulation.alike)
        if self.progress is None and len(groups) * many > MOST:
            raise TooLarge
        named = nodes([keys[0] for keys in groups])
        same: dict[tuple[int, ...], tuple[Principal, ...]] = {}
        effects: list[_Effect] = []
        for number, keys in enumerate(groups):
            if self.progress is not None:
                self.progress(number * many, len(groups) * many)
            effects += self._effects_on(named.get(keys[0]), tuple(keys), same)
        return effects

    def _groups(self) -> list[list[int]]:
        """The objects, those together that are decided alike."""
        proposed = self.simulation.proposed
        slices = [slice_ for alike in self.simulation.alike for slice_ in (alike.before, alike.after)]
        spoken = {key for slice_ in slices for key in (*slice_.bits, *slice_.selves)}
        apart = frozenset(spoken | proposed.gone | proposed.moved.keys())
        alone = self.simulation.law.by_text
        groups: dict[object, list[int]] = defaultdict(list)
        for key, (parent, type_) in self.objects.items():
            like = key if alone or key in apart else (parent, type_)
            groups[like, key in self.shown].append(key)
        return list(groups.values())

    def _effects_on(
        self, node: Node | None, keys: tuple[int, ...], same: dict[tuple[int, ...], tuple[Principal, ...]]
    ) -> Iterator[_Effect]:
        """What becomes of a class of objects, by what becomes of people; the `same` people are kept once."""
        if node is None:
            return
        outcomes: dict[tuple[frozenset[str], frozenset[str]], list[Principal]] = defaultdict(list)
        for alike in self.simulation.alike:
            people = alike.people
            if keys[0] not in self.shown:
                people = tuple(person for person in people if self.viewer and person.pk == self.viewer.pk)
            before, after = self.abilities(alike, node) if people else (frozenset(), frozenset())
            if before != after:
                outcomes[after - before, before - after].extend(people)
        for (gains, loses), some in outcomes.items():
            persons = same.setdefault(tuple(person.pk for person in some), tuple(some))
            yield _Effect(persons, keys, gains, loses)

    def abilities(self, alike: Alike, node: Node) -> tuple[frozenset[str], frozenset[str]]:
        """What some people can do to an object, before and after."""
        moment = self.simulation.at.timestamp()
        lineage = self.simulation.proposed.lineage(node)
        before = self._decided(alike.before, node.levels, moment)
        if alike.closed or lineage is None:
            return before, frozenset()
        return before, self._decided(alike.after, lineage, moment)

    def _decided(self, slice_: Slice, lineage: Lineage, moment: float) -> frozenset[str]:
        """What may be done, decided once for all that it follows from; not where rules are about texts."""
        like = engine.likeness(slice_, lineage, now=moment)
        if like is None:
            return engine.abilities(slice_, lineage, now=moment)
        if like not in self._known:
            self._known[like] = engine.abilities(slice_, lineage, now=moment)
        return self._known[like]


def _persons(effects: Iterable[_Effect]) -> Iterator[tuple[Principal, _Effect]]:
    for effect in effects:
        yield from ((person, effect) for person in effect.people)


def _people(effects: Iterable[_Effect]) -> int:
    distinct = {id(effect.people): effect.people for effect in effects}
    return len({person.pk for people in distinct.values() for person in people})


def _objects(effects: Iterable[_Effect]) -> int:
    return len({key for effect in effects for key in effect.objects})


def _pairs(effects: Iterable[_Effect]) -> int:
    return sum(len(effect.people) * len(effect.objects) for effect in effects)

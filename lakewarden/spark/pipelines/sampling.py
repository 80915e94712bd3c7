"""Asks the law itself about some pairs of a person and an object, and compares: the sets must never differ.

The slice of a person is made of the same facts, but by another way: from the person to what counts for them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from zlib import crc32

from lakewarden.law import engine
from lakewarden.law.facts import Key, Level, Lineage, Rule, Slice, Station
from lakewarden.spark.pipelines.inherited_facts import Fact, ObjectFacts
from lakewarden.spark.pipelines.people_sets import one_of
from lakewarden.spark.pipelines.population import Unit, Window, joined
from lakewarden.spark.pipelines.reach_counts import Able, LawAnswers, actions

Way = tuple[Unit, tuple[Station, ...], Window]
"""One thing that counts for a person, by which way, and when."""


class Sample:
    """Pairs of one batch, decided by lakewarden.law.engine.

    `pairs` are to be asked about each object on the average.
    """

    def __init__(self, answers: LawAnswers, pairs: float) -> None:
        self.asked, self.standing, self.pairs = answers, answers.standing, pairs
        self.containers = answers.containers
        self.decided = 0
        self._texts: dict[Unit, list[Fact]] = {}
        for fact in answers.facts:
            self._texts.setdefault(fact.unit, []).append(fact)
        self._on: dict[int, dict[Unit, list[Fact]]] = {}
        self._slices: dict[int, Slice] = {}

    def differences(self, place: ObjectFacts, worked_out: Callable[[ObjectFacts], Able]) -> Iterator[str]:
        """What the law says otherwise about some people and this object, a line each."""
        name = f"{self.standing.realm.revision}/{place.key}"
        times = int(self.pairs) + (crc32(name.encode()) < self.pairs % 1 * 2**32)
        if not times:
            return
        able = worked_out(place)
        for person in self._people(random.Random(name), able, times):  # noqa: S311  no secret
            self.decided += 1
            yield from self._compared(place, able, person)

    def _people(self, chance: random.Random, able: Able, times: int) -> Iterator[int]:
        """Places of people: of all, and of those who can do something, of whom a random one is seldom."""
        everybody = len(self.standing.people)
        crowds = [crowd for crowd in able.values() if crowd]
        for number in range(times if everybody else 0):
            start = chance.randrange(everybody)
            crowd = chance.choice(crowds) if crowds and number % 2 else 0
            yield one_of(crowd, start) if crowd else start

    def _compared(self, place: ObjectFacts, able: Able, person: int) -> Iterator[str]:
        slice, lineage = self._slice(place, person), self._lineage(place)
        for name, operation in actions(self.asked.law, place.type):
            decided = engine.decide(slice, operation, lineage, now=self.standing.realm.at)
            allowed = bool(able[name] >> person & 1)
            if bool(decided) != allowed:
                key = self.standing.people.keys[person]
                yield (
                    f"{name} of {place.type} {place.key} by principal {key}: "
                    f"the law says {decided.reason}, the sets say {'yes' if allowed else 'no'}"
                )

    def _slice(self, place: ObjectFacts, person: int) -> Slice:
        key = self.standing.people.keys[person]
        paths = self.standing.paths(key)
        if self.asked.by_text:
            if person not in self._slices:
                root = self._facts_on(self.containers[self.standing.realm.root])
                rules = [
                    _rule(fact, fact.on or self.standing.realm.root, via, window)
                    for unit, via, window in paths
                    for fact in (*self._texts.get(unit, ()), *root.get(unit, ()))
                ]
                self._slices[person] = self._built(key, rules)
            return self._slices[person]
        on = [*(self._facts_on(self.containers[ancestor]) for ancestor in place.ancestors), _by_unit(place)]
        return self._built(
            key,
            [
                _rule(fact, at, via, window)
                for unit, via, window in paths
                for at, facts in zip((*place.ancestors, place.key), on)
                for fact in facts.get(unit, ())
            ],
        )

    def _built(self, key: int, rules: list[Rule]) -> Slice:
        standing, realm = self.standing, self.standing.realm
        principal = standing.principals[key]
        return engine.build(
            standing.ref(key),
            realm.name,
            realm.law,
            realm.revision,
            rules,
            member=bool(standing.members & standing.people.alone(key)),
            service_admin=principal.service_admin,
            mode=realm.enforced,
            selves=standing.roles_held(key),
            now=realm.at,
        )

    def _facts_on(self, place: ObjectFacts) -> Mapping[Unit, list[Fact]]:
        if place.key not in self._on:
            self._on[place.key] = _by_unit(place)
        return self._on[place.key]

    def _lineage(self, place: ObjectFacts) -> Lineage:
        above = (self.containers[key] for key in place.ancestors)
        return tuple(Level(item.type, item.key, item.name) for item in (*above, place))


def _by_unit(place: ObjectFacts) -> dict[Unit, list[Fact]]:
    facts: dict[Unit, list[Fact]] = {}
    for fact in place.facts:
        facts.setdefault(fact.unit, []).append(fact)
    return facts


def _rule(fact: Fact, on: Key, via: tuple[Station, ...], window: Window) -> Rule:
    start, end = joined(window, fact.window)
    return Rule(on, fact.privilege, fact.allow, via, start, end)

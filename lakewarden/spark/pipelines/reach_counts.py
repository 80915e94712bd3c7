"""Who can reach what, for a batch of objects: counted in people, and told by the level at which it is given.

An object without facts of its own is like every other of its type at the same place, so the answer for it is
worked out once for all of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Optional, Protocol

from lakewarden.law.conditions import SELF, atoms
from lakewarden.law.dialects.base import Dialect
from lakewarden.law.facts import OWNER as OWNS
from lakewarden.spark.pipelines.inherited_facts import Fact, HeldPrivileges, ObjectFacts, privileges_telling
from lakewarden.spark.pipelines.people_sets import Crowd, Numbering, Tally, count
from lakewarden.spark.pipelines.population import ROLE, Population, Unit, contains

OBJECT, HELD, PERSON, UNIT, TOTAL, SAMPLE = "object", "holder", "person", "unit", "total", "sample"


class ResultRow(NamedTuple):
    """One line of the result; which fields are filled depends on its kind.

    object: `key`, `parent`, `type`, whether it is `plain` (without facts of its own) and `counts`: people
    and services by action.  holder: what a `unit` has on the object of that `key`, how many `people` it is
    and how many of these can do what.  person, unit: on how many objects that hold data.  total: of a `type`,
    `people` are objects, `counts` pairs of a person and an object.
    """

    kind: str
    key: Optional[int] = None
    parent: Optional[int] = None
    type: Optional[str] = None
    plain: Optional[bool] = None
    unit_kind: Optional[str] = None
    unit: Optional[int] = None
    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    owns: Optional[bool] = None
    people: int = 0
    counts: tuple[tuple[str, int, int], ...] = ()
    trouble: Optional[str] = None


class LawAnswers(Protocol):
    """What gives the answers of one law: lakewarden.spark.pipelines.inherited_facts, or texts."""

    standing: Population
    containers: Mapping[int, ObjectFacts]
    facts: Sequence[Fact]
    """Those that are about texts, and not about objects."""
    by_text: bool

    @property
    def law(self) -> Dialect: ...

    def held(self, place: ObjectFacts) -> HeldPrivileges: ...

    def able(self, place: ObjectFacts, operation: str, held: HeldPrivileges) -> Crowd: ...

    def above(self, place: ObjectFacts) -> HeldPrivileges | None: ...


Able = Mapping[str, Crowd]
"""Who can do each action."""


class AccessCollector:
    """Works through objects and gathers what is told at the end."""

    def __init__(self, answers: LawAnswers, units: Iterable[Unit] = ()) -> None:
        self.asked, self.law, self.standing = answers, answers.law, answers.standing
        self.units = Numbering(units)
        self._data = data_types(self.law)
        self._plain: dict[tuple[int | None, str], tuple[Able, Crowd]] = {}
        self._times: Counter[tuple[int | None, str]] = Counter()
        self._people: dict[str, Tally] = defaultdict(Tally)
        self._breadth = Tally()
        self._totals: dict[str, Counter[str]] = defaultdict(Counter)
        self._services: dict[str, Counter[str]] = defaultdict(Counter)
        self._objects: Counter[str] = Counter()
        self._asks_self: dict[str, bool] = {}
        self._given: dict[int, Mapping[int, Crowd]] = {}

    def able(self, place: ObjectFacts) -> Able:
        """Who can do each action on an object."""
        held = self.asked.held(place)
        return {
            name: self.asked.able(place, operation, held) for name, operation in actions(self.law, place.type)
        }

    def rows(self, places: Iterable[ObjectFacts]) -> Iterator[ResultRow]:
        """A row for each object, and one for each holder of something on it."""
        for place in places:
            able, breadth, plain = self._answer(place)
            counts = self._counted(place.type, able)
            yield ResultRow(OBJECT, place.key, place.parent, place.type, plain, counts=counts)
            if not plain:
                self._add(place.type, able, breadth, 1)
                yield from self._holders(place, able)

    def ended(self) -> Iterator[ResultRow]:
        """What could only be told after the last object."""
        for level, times in self._times.items():
            self._add(level[1], *self._plain[level], times)
        yield from self._by_person()
        for place, objects in self._breadth.sums().items():
            unit = self.units.keys[place]
            yield ResultRow(UNIT, unit_kind=unit.kind, unit=unit.key, people=objects)
        for type, pairs in self._totals.items():
            counts = tuple((name, n, self._services[type][name]) for name, n in pairs.items())
            yield ResultRow(TOTAL, type=type, people=self._objects[type], counts=counts)

    def _answer(self, place: ObjectFacts) -> tuple[Able, Crowd, bool]:
        if place.facts or self.asked.by_text or self._self(place.type) or place.parent is None:
            return self.able(place), self._breadth_of(place), False
        level = place.parent, place.type
        answer = self._plain.get(level)
        if answer is None:
            answer = self._plain[level] = self.able(place), self._breadth_of(place)
        self._times[level] += 1
        return (*answer, True)

    def _add(self, type: str, able: Able, breadth: Crowd, times: int) -> None:
        if type in self._data:
            for name, crowd in able.items():
                self._people[name].add(crowd, times)
            self._breadth.add(breadth, times)

    def _counted(self, type: str, able: Able) -> tuple[tuple[str, int, int], ...]:
        services = self.standing.services
        self._objects[type] += 1
        counts = []
        for name, crowd in able.items():
            everybody, machines = count(crowd), count(crowd & services)
            self._totals[type][name] += everybody
            self._services[type][name] += machines
            counts.append((name, everybody - machines, machines))
        return tuple(counts)

    def _holders(self, place: ObjectFacts, able: Able) -> Iterator[ResultRow]:
        by_unit: dict[Unit, list[tuple[str, bool]]] = defaultdict(list)
        for fact in self._now(place):
            unit = fact.unit if fact.unit.kind == ROLE else Unit("principal", fact.unit.key)
            by_unit[unit].append((fact.privilege, fact.allow))
        for unit, given in by_unit.items():
            people = unit if unit.kind == ROLE else Unit("holder", unit.key)
            crowd = self.standing.crowd(people)
            yield ResultRow(
                HELD,
                place.key,
                place.parent,
                place.type,
                unit_kind=unit.kind,
                unit=unit.key,
                allowed=tuple(sorted({code for code, allow in given if allow and code != OWNS})),
                denied=tuple(sorted({code for code, allow in given if not allow})),
                owns=any(code == OWNS for code, _ in given),
                people=count(crowd),
                counts=tuple((name, count(crowd & mine), 0) for name, mine in able.items()),
            )

    def _by_person(self) -> Iterator[ResultRow]:
        sums = {name: tally.sums() for name, tally in self._people.items()}
        for place in sorted({place for counts in sums.values() for place in counts}):
            counts = tuple((name, counts[place], 0) for name, counts in sums.items() if place in counts)
            yield ResultRow(PERSON, self.standing.people.keys[place], counts=counts)

    def _breadth_of(self, place: ObjectFacts) -> Crowd:
        """The units that give something on an object, themselves or above it; denials left aside."""
        crowd, given = 0, self._given_on(place)
        telling = privileges_telling(self.law, place.type)
        for bit, units in given.items():
            if bit & telling:
                crowd |= units
        return crowd

    def _given_on(self, place: ObjectFacts) -> Mapping[int, Crowd]:
        crowds = self._given.get(place.key)
        if crowds is not None:
            return crowds
        containers = self.asked.containers
        above = {} if place.parent is None else self._given_on(containers[place.parent])
        given = dict(above)
        for fact in self._now(place):
            privilege = self.law.privilege(fact.privilege)
            if privilege is not None and fact.allow and place.type in privilege.binds:
                given[privilege.bit] = given.get(privilege.bit, 0) | self.units.alone(fact.unit)
        if place.key in containers:
            self._given[place.key] = given
        return given

    def _now(self, place: ObjectFacts) -> Iterable[Fact]:
        return (fact for fact in place.facts if contains(fact.window, self.standing.realm.at))

    def _self(self, type: str) -> bool:
        """Whether an answer on a type depends on the very object, so that no two of them are alike."""
        if type not in self._asks_self:
            tests = (self.law.test(operation, type) for _, operation in actions(self.law, type))
            self._asks_self[type] = any(
                atom.kind == SELF for test in tests if test for atom in atoms(test.condition)
            )
        return self._asks_self[type]


def actions(law: Dialect, type: str) -> list[tuple[str, str]]:
    """The plain names of what can be done to a type, and the operation behind each."""
    named = ((name, law.action(type, name)) for name in law.actions_for(type))
    return [(name, operation) for name, operation in named if operation]


def data_types(law: Dialect) -> frozenset[str]:
    """The types of what is read in the end: those below which nothing can be read by the same privilege."""
    return frozenset(
        type
        for privilege in law.privileges.values()
        for type in privilege.binds
        if privilege.category == "read" and privilege.binds.isdisjoint(law.child_types(type))
    )

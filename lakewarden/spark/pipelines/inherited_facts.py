"""What everybody has on an object, worked out once for a level and handed down to what is below it.

`Held` is to a crowd what the engine's reach is to one person.  The questions are the dialect's own: a
condition is a choice between ways, each a set of atoms, and an atom stands for the crowd for whom it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Optional

from lakewarden.law.conditions import MEMBER, NO_DENIAL, OWNER, RIGHT, SELF, SERVICE_ADMIN, Atom
from lakewarden.law.dialects.base import Dialect, Operation, Step, Test
from lakewarden.law.facts import OWNER as OWNS
from lakewarden.law.facts import Key
from lakewarden.spark.pipelines import population as standing
from lakewarden.spark.pipelines.people_sets import Crowd
from lakewarden.spark.pipelines.population import Population, Unit, Window, contains


class Fact(NamedTuple):
    """Something given on an object, or on a text: a privilege of the law, or OWNER.

    `since` is when it was recorded; None where no history that is kept tells that.
    """

    unit: Unit
    privilege: str
    allow: bool = True
    window: Window = (None, None)
    key: Optional[int] = None
    on: str = ""
    since: Optional[float] = None


class ObjectFacts(NamedTuple):
    """An object with the facts that sit on it.  `ancestors` runs from the realm's root to its parent."""

    key: int
    type: str
    name: str
    ancestors: tuple[int, ...]
    facts: tuple[Fact, ...] = ()

    @property
    def parent(self) -> int | None:
        return self.ancestors[-1] if self.ancestors else None


Crowds = Mapping[int, Crowd]
"""A crowd for each privilege, by its bit."""


class HeldPrivileges(NamedTuple):
    """What is held on the levels down to an object, joined; None of `below` when the way is no way."""

    allow: Crowds
    deny: Crowds
    owned: Mapping[str, Crowd]
    types: tuple[str, ...]
    step: Optional[Step]


class Answers:
    """Asks a crowd's questions; the same for every law."""

    def __init__(self, standing: Population) -> None:
        self.standing, self.mode = standing, standing.realm.enforced
        self._atoms: dict[int, Atom] = {bit: atom for atom, bit in self.law.numbers.items()}
        self._ways: dict[int, tuple[tuple[Atom, ...], ...]] = {}

    @property
    def law(self) -> Dialect:
        return self.standing.law

    def unguarded(self, operation: Operation) -> Crowd | None:
        """Who may where the law does not decide; None where it does."""
        if not operation.membership or self.mode == "on":
            return None
        free = self.mode == "pass-through" or (self.mode == "off" and not operation.access_control)
        return self.standing.members if free else 0

    def ways(self, test: Test) -> tuple[tuple[Atom, ...], ...]:
        ways = self._ways.get(id(test))
        if ways is None:
            ways = self._ways[id(test)] = tuple(tuple(self._in(way)) for way in test.ways)
        return ways

    def _in(self, way: int) -> Iterator[Atom]:
        while way:
            bit = way & -way
            yield self._atoms[bit]
            way ^= bit

    def joined(self, test: Test, crowd_of: Mapping[Atom, Crowd]) -> Crowd:
        """Everybody for whom one of the ways holds."""
        joined, everybody = 0, self.standing.people.all
        for way in self.ways(test):
            crowd = everybody
            for atom in way:
                crowd &= crowd_of[atom]
                if not crowd:
                    break
            joined |= crowd
        return joined


class Levels(Answers):
    """The answers of a law whose rights come down a tree."""

    by_text = False

    def __init__(self, standing: Population, containers: Mapping[int, ObjectFacts]) -> None:
        super().__init__(standing)
        self.containers = containers
        self.facts: Sequence[Fact] = ()
        self._held: dict[int, HeldPrivileges] = {}
        self._latest: Optional[_Atoms] = None

    def held(self, place: ObjectFacts) -> HeldPrivileges:
        """What is held on an object, all above it counted."""
        above = self._above(place)
        step = _step(self.law, above, place.type)
        types = (*(above.types if above else ()), place.type)
        if step is None:
            return HeldPrivileges({}, {}, {}, types, None)
        allow, deny = (dict(above.allow), dict(above.deny)) if above else ({}, {})
        owned = dict(above.owned) if above else {}
        for fact in self._now(place.facts):
            self._add(fact, step, place.type, allow, deny, owned)
        return HeldPrivileges(allow, deny, owned, types, step)

    def able(self, place: ObjectFacts, operation: str, held: HeldPrivileges) -> Crowd:
        """Everybody who may do an operation to an object."""
        test = self.law.test(operation, place.type)
        if test is None or held.step is None:
            return 0
        law_operation = test.operation
        free = self.unguarded(law_operation)
        if free is not None:
            return free
        if law_operation.beside and law_operation.beside not in held.types:
            return 0
        # what was worked out for one operation is at hand for the next one on the same object
        latest = self._latest
        if latest is None or latest.on is not held or latest.key != place.key:
            latest = self._latest = _Atoms(self, held, place.key)
        crowd = self.joined(test, latest)
        return crowd & self.standing.members if law_operation.membership else crowd

    def above(self, place: ObjectFacts) -> HeldPrivileges | None:
        return self._above(place)

    def _above(self, place: ObjectFacts) -> HeldPrivileges | None:
        if place.parent is None:
            return None
        held_above = self._held.get(place.parent)
        if held_above is None:
            held_above = self._held[place.parent] = self.held(self.containers[place.parent])
        return held_above

    def _now(self, facts: Iterable[Fact]) -> Iterable[Fact]:
        return (fact for fact in facts if contains(fact.window, self.standing.realm.at))

    def _add(
        self,
        fact: Fact,
        step: Step,
        type: str,
        allow: dict[int, Crowd],
        deny: dict[int, Crowd],
        owned: dict[str, Crowd],
    ) -> None:
        crowd = self.standing.crowd(fact.unit)
        if fact.privilege == OWNS:
            owned[type] = owned.get(type, 0) | crowd
            return
        privilege = self.law.privilege(fact.privilege)
        if privilege is not None and privilege.bit & step.mask:
            into = allow if fact.allow else deny
            into[privilege.bit] = into.get(privilege.bit, 0) | crowd


class _Atoms(dict[Atom, Crowd]):
    """The crowd for whom an atom holds on one object, made when it is first asked for."""

    def __init__(self, levels: Levels, held: HeldPrivileges, key: Key) -> None:
        super().__init__()
        self._levels, self.on, self.key = levels, held, key

    def __missing__(self, atom: Atom) -> Crowd:
        crowd = self[atom] = self._crowd(atom)
        return crowd

    def _crowd(self, atom: Atom) -> Crowd:
        held, standing = self.on, self._levels.standing
        if atom.kind == OWNER:
            return held.owned.get(atom.name, 0)
        if atom.kind == MEMBER:
            return standing.members
        if atom.kind == SERVICE_ADMIN:
            return standing.admins
        if atom.kind == SELF:
            return standing.selves(self.key)
        bit = self._levels.law.privileges[atom.name].bit
        undenied = standing.people.all & ~held.deny.get(bit, 0)
        if atom.kind == NO_DENIAL:
            return undenied
        if atom.kind == RIGHT:
            return held.allow.get(bit, 0) & undenied
        raise ValueError(f"a tree's law has no `{atom.kind}`")


def _step(law: Dialect, above: HeldPrivileges | None, type: str) -> Step | None:
    if above is None:
        return law.steps.get(type)
    return above.step.below.get(type) if above.step else None


def privileges_telling(law: Dialect, type: str) -> int:
    """The bits of the privileges that give something on a type, and do not only lead to it."""
    privileges = (privilege for privilege in law.privileges.values() if type in privilege.binds)
    return sum(item.bit for item in privileges if law.by_text or item.category != "use")


__all__ = ["Answers", "Fact", "HeldPrivileges", "Levels", "ObjectFacts", "privileges_telling", "standing"]

"""Which steps take from somebody what is no longer decided for them: those wait for nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from lakewarden.backends.base import DENY, Desired, Observation, Right, Step

Keys = frozenset[str]


def marked(steps: Iterable[Step], desired: Desired, observed: Observation) -> list[Step]:
    """The same steps; a move or a taking that ends what is no longer decided for somebody `revokes`."""
    listed = list(steps)
    losses = Losses(desired, observed, listed)
    return [replace(step, revokes=True) if losses.revokes(step) else step for step in listed]


def effective(keys: Iterable[str], roles: Mapping[str, frozenset[Right]]) -> frozenset[Right]:
    """What the roles give together; a denial is nothing that somebody has, and takes what is given."""
    every = frozenset[Right]().union(*(roles.get(key, frozenset()) for key in keys))
    denied = {
        replace(right, right=right.right[len(DENY) :]) for right in every if right.right.startswith(DENY)
    }
    return (
        frozenset(right for right in every - denied if not right.right.startswith(DENY)) if denied else every
    )


def roles_by_person(members: Mapping[str, Iterable[str]]) -> dict[str, Keys]:
    """Who is in which roles."""
    by_person: dict[str, set[str]] = defaultdict(set)
    for role, people in members.items():
        for person in people:
            by_person[person].add(role)
    return {person: frozenset(roles) for person, roles in by_person.items()}


class Losses:
    """What people have and are to have, each set of roles worked out once."""

    def __init__(self, desired: Desired, observed: Observation, steps: Iterable[Step]) -> None:
        self._desired, self._observed = desired, observed
        self._wanted = roles_by_person(desired.members)
        self._leaving = {(role, step.person) for step in steps for role in step.leaves}
        self._decided: dict[Keys, frozenset[Right]] = {}

    def revokes(self, step: Step) -> bool:
        """Whether a step ends something that nobody decided for its holder."""
        if step.kind == "switch" and step.leaves:
            held = effective(step.leaves, self._observed.roles)
            return not held <= self._of(self._keys(step.person))
        if step.kind == "take":
            given = [right for right in step.rights if not right.right.startswith(DENY)]
            # what those are to be in who are in a role and have no step of their own out of it
            people = self._observed.members.get(step.role, frozenset())
            staying = {self._keys(person) for person in people if (step.role, person) not in self._leaving}
            return any(not self._of(keys).issuperset(given) for keys in staying)
        return False

    def _keys(self, person: str) -> Keys:
        return self._wanted.get(person, frozenset())

    def _of(self, keys: Keys) -> frozenset[Right]:
        if keys not in self._decided:
            self._decided[keys] = effective(keys, self._desired.roles)
        return self._decided[keys]

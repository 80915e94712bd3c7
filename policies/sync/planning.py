"""The difference between what should be true in a backend and what is, as sorted steps.  Pure.

Nobody loses a right on the way to where he keeps it, and nothing else delays a removal: who only leaves goes
first, then what is taken from roles whose people stay put; people change roles once the new ones are filled.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from policies.sync.backends.base import Desired, Observation, Plan, Right, Step

T = TypeVar("T")


@dataclass(frozen=True)
class _Difference(Generic[T]):
    missing: frozenset[T]
    extra: frozenset[T]
    same: frozenset[T]


def plan(desired: Desired, observed: Observation) -> Plan:
    """What to do so that `observed` becomes `desired`; people whom the backend does not know are left out."""
    rights = _rights(desired, observed)
    memberships = _memberships(desired, observed)
    differences: list[_Difference[Right] | _Difference[str]] = [*rights.values(), *memberships.values()]
    return Plan(
        steps=tuple(_sorted_steps(desired, observed, rights, memberships)),
        missing=sum(len(difference.missing) for difference in differences),
        extra=sum(len(difference.extra) for difference in differences),
        in_sync=sum(len(difference.same) for difference in differences),
    )


def _rights(desired: Desired, observed: Observation) -> dict[str, _Difference[Right]]:
    return {
        key: _difference(
            desired.roles.get(key, frozenset()),
            observed.roles.get(key, frozenset()),
            observed.amiss_rights.get(key, frozenset()),
        )
        for key in sorted({*desired.roles, *desired.members, *observed.roles})
    }


def _memberships(desired: Desired, observed: Observation) -> dict[str, _Difference[str]]:
    wanted = _by_person(desired.members)
    have = _by_person(observed.members)
    amiss = _by_person(observed.amiss_members)
    nothing: frozenset[str] = frozenset()
    return {
        person: _difference(
            wanted.get(person, nothing), have.get(person, nothing), amiss.get(person, nothing)
        )
        for person in sorted(observed.people)
    }


def _difference(wanted: frozenset[T], have: frozenset[T], amiss: frozenset[T]) -> _Difference[T]:
    sound = have - amiss
    return _Difference(missing=wanted - sound, extra=have - wanted, same=wanted & sound)


def _by_person(members: Mapping[str, Collection[str]]) -> dict[str, frozenset[str]]:
    roles: dict[str, set[str]] = {}
    for key, people in members.items():
        for person in people:
            roles.setdefault(person, set()).add(key)
    return {person: frozenset(keys) for person, keys in roles.items()}


def _sorted_steps(
    desired: Desired,
    observed: Observation,
    rights: Mapping[str, _Difference[Right]],
    memberships: Mapping[str, _Difference[str]],
) -> Iterator[Step]:
    switches = [_switch(person, change, observed) for person, change in memberships.items()]
    makes = [key for key in rights if key not in observed.roles and _needed(key, desired, observed)]
    gives = [
        Step("give", role=key, rights=_sorted(change.missing))
        for key, change in rights.items()
        if change.missing
    ]
    takes = [
        Step("take", role=key, rights=_sorted(change.extra)) for key, change in rights.items() if change.extra
    ]
    takes = takes if observed.complete else []
    late = _who_gains(desired, observed, gives, switches)

    yield from (step for step in switches if step.leaves and not step.joins)
    yield from (step for step in takes if late.isdisjoint(observed.members.get(step.role, ())))
    yield from (Step("make_role", role=key, label=desired.labels.get(key, "")) for key in makes)
    yield from gives
    yield from (step for step in switches if step.joins)
    yield from (step for step in takes if not late.isdisjoint(observed.members.get(step.role, ())))
    if observed.complete:
        yield from (Step("drop_role", role=key) for key in rights if _unwanted(key, desired))


def _switch(person: str, change: _Difference[str], observed: Observation) -> Step:
    leaves = change.extra if observed.complete else frozenset()
    return Step(
        "switch",
        person=person,
        joins=tuple(sorted(change.missing)),
        leaves=tuple(sorted(leaves)),
        keeps=tuple(sorted(change.same | (change.extra - leaves))),
    )


def _needed(key: str, desired: Desired, observed: Observation) -> bool:
    """A role without rights and without people the backend knows would be made for nothing."""
    return bool(desired.roles.get(key)) or not observed.people.isdisjoint(desired.members.get(key, ()))


def _unwanted(key: str, desired: Desired) -> bool:
    return key not in desired.roles and key not in desired.members


def _who_gains(desired: Desired, observed: Observation, gives: list[Step], switches: list[Step]) -> set[str]:
    """The people who may get elsewhere what is taken from them here: theirs is taken last."""
    gains = {step.person for step in switches if step.joins}
    for step in gives:
        gains |= desired.members.get(step.role, frozenset()) & observed.people
    return gains


def _sorted(rights: Collection[Right]) -> tuple[Right, ...]:
    return tuple(sorted(rights))

"""The difference between what should be true in a backend and what is, as sorted steps.  Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from lakewarden.backends.base import DENY, Desired, Observation, Order, Plan, Right, Step, StepKind
from lakewarden.backends.planning.losses import marked
from lakewarden.backends.planning.ordering import in_order

T = TypeVar("T")


@dataclass(frozen=True)
class _Difference(Generic[T]):
    missing: frozenset[T]
    extra: frozenset[T]
    same: frozenset[T]


def plan(desired: Desired, observed: Observation, orders: Iterable[Order] = ()) -> Plan:
    """What to do so that `observed` becomes `desired`; people whom the backend does not know are left out.

    What is foreign stays, but for what an order names.  Where not all could be read nothing is taken: a role
    that somebody should have left is then given nothing but denials, and nobody joins one that has too much.
    """
    rights = {
        key: _difference(
            desired.roles.get(key, frozenset()),
            observed.roles.get(key, frozenset()),
            observed.amiss_rights.get(key, frozenset()),
        )
        for key in sorted({*desired.roles, *desired.members, *observed.roles})
    }
    memberships = _memberships(desired, observed)
    steps = marked(_steps(desired, observed, rights, memberships), desired, observed)
    differences: list[_Difference[Right] | _Difference[str]] = [*rights.values(), *memberships.values()]
    return Plan(
        steps=in_order([*steps, *_ordered(orders, observed)], observed.members),
        missing=sum(len(difference.missing) for difference in differences),
        extra=sum(len(difference.extra) for difference in differences),
        in_sync=sum(len(difference.same) for difference in differences),
    )


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


def _steps(
    desired: Desired,
    observed: Observation,
    rights: Mapping[str, _Difference[Right]],
    memberships: Mapping[str, _Difference[str]],
) -> Iterator[Step]:
    left = set() if observed.complete else _should_be_left(desired, observed)
    denying = _denying(desired.roles) | _denying(observed.roles)
    for key, change in rights.items():
        if key not in observed.roles and _needed(key, desired, observed):
            yield Step("make_role", role=key, label=desired.labels.get(key, ""))
        given = change.missing if observed.complete else _harmless(change, denials_only=key in left)
        yield from _about(key, "give", given, denying)
        yield from _about(key, "take", change.extra if observed.complete else frozenset(), denying)
        if observed.complete and key not in desired.roles and key not in desired.members:
            yield Step("drop_role", role=key)
    too_rich = set() if observed.complete else {key for key, change in rights.items() if change.extra}
    for person, differing in memberships.items():
        leaves = differing.extra if observed.complete else frozenset()
        waits = {key for key in differing.missing if key in too_rich}
        stays = {key for key in waits if person in observed.members.get(key, ())}
        step = Step(
            "switch",
            person=person,
            joins=tuple(sorted(differing.missing - waits)),
            leaves=tuple(sorted(leaves)),
            keeps=tuple(sorted(differing.same | (differing.extra - leaves) | stays)),
        )
        if step.joins or step.leaves:
            yield _told_of_denials(step, denying) if denying else step


def _harmless(change: _Difference[Right], *, denials_only: bool) -> frozenset[Right]:
    """What may be given where nothing can be taken: nothing that cannot stand beside its opposite."""
    return frozenset(
        right
        for right in change.missing
        if (_denies(right) or not denials_only) and _opposite(right) not in change.extra
    )


def _denies(right: Right) -> bool:
    return right.right.startswith(DENY)


def _opposite(right: Right) -> Right:
    word = right.right[len(DENY) :] if _denies(right) else DENY + right.right
    return replace(right, right=word)


def _denying(roles: Mapping[str, Iterable[Right]]) -> set[str]:
    return {key for key, held in roles.items() if any(map(_denies, held))}


def _about(key: str, kind: StepKind, rights: frozenset[Right], denying: Collection[str]) -> Iterator[Step]:
    """Denials apart from the rest, as they come first where that comes last."""
    denials = frozenset(filter(_denies, rights)) if key in denying else frozenset[Right]()
    if denials:
        yield Step(kind, role=key, rights=_sorted(denials), denies=True)
    if rights - denials:
        yield Step(kind, role=key, rights=_sorted(rights - denials))


def _told_of_denials(step: Step, denying: Collection[str]) -> Step:
    """A move into roles that deny first and out of them last."""
    return replace(
        step,
        joins=tuple(sorted(step.joins, key=lambda key: (key not in denying, key))),
        leaves=tuple(sorted(step.leaves, key=lambda key: (key in denying, key))),
        denies=not {*step.joins, *step.leaves}.isdisjoint(denying),
    )


def _should_be_left(desired: Desired, observed: Observation) -> set[str]:
    """The roles that hold somebody who should not be in there."""
    return {
        key
        for key, people in observed.members.items()
        if (people & observed.people).difference(desired.members.get(key, ()))
    }


def _sorted(rights: Iterable[Right]) -> tuple[Right, ...]:
    # by a key, as comparing the values themselves takes most of the time of a large plan
    return tuple(sorted(rights, key=lambda right: (right.kind, right.path, right.right)))


def _ordered(orders: Iterable[Order], observed: Observation) -> Iterator[Step]:
    """What owners decided to take, if it is still there and nobody is cut off before our own roles stand."""
    existing = set(observed.foreign) if observed.complete else set()
    for order in orders:
        foreign = order.foreign
        if foreign in existing and (not order.replaced or gives(observed, foreign.holder, foreign.right)):
            yield Step(
                "take_foreign", person=foreign.holder, rights=(foreign.right,), grantor=foreign.grantor
            )


def gives(observed: Observation, person: str, right: Right) -> bool:
    """Whether one of our roles gives a person a right in the backend now."""
    return any(
        person in people - observed.amiss_members.get(key, frozenset())
        and right in observed.roles.get(key, frozenset()) - observed.amiss_rights.get(key, frozenset())
        for key, people in observed.members.items()
    )


def _needed(key: str, desired: Desired, observed: Observation) -> bool:
    """A role without rights and without people the backend knows would be made for nothing."""
    return bool(desired.roles.get(key)) or not observed.people.isdisjoint(desired.members.get(key, ()))

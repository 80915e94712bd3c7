"""Conditions as values: what must be true before an operation is allowed.

A condition is built from `can`, `owns`, `not_denied`, `held`, `below`, `member`, `service_admin` and `self_`,
joined by `&` and `|`.  None of them says no: a denial is the absence of a right, so every condition is a
choice between *ways*, each a set of atoms that together suffice.  A dialect numbers its atoms once; from then
on a way is one integer and a test one `&`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import NamedTuple, Union

RIGHT, OWNER, NO_DENIAL = "right", "owner", "no_denial"
HELD, BELOW = "held", "below"
MEMBER, SERVICE_ADMIN, SELF = "member", "service_admin", "self"

Way = frozenset["Atom"]


class _Joins:
    __slots__ = ()

    def __and__(self: Condition, other: Condition) -> All:  # type: ignore[misc]
        return All(_flat(All, self, other))

    def __or__(self: Condition, other: Condition) -> AnyOf:  # type: ignore[misc]
        return AnyOf(_flat(AnyOf, self, other))


class _AtomFields(NamedTuple):
    kind: str
    name: str = ""
    on: str = ""


class Atom(_AtomFields, _Joins):
    """One thing that is true or not: a kind from above, and the privilege or the type it speaks of.

    `on` is the one level that a `held` is about.
    """

    __slots__ = ()


@dataclass(frozen=True)
class All(_Joins):
    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class AnyOf(_Joins):
    parts: tuple[Condition, ...]


Condition = Union[Atom, All, AnyOf]
ANYTHING = All(())
"""Holds for every member."""


def can(privilege: str) -> Atom:
    """Allowed on the object or above it, and denied on none of these."""
    return Atom(RIGHT, privilege)


def owns(*types: str) -> Condition:
    """Owner of a level of one of these types on the way down to the object."""
    atoms = tuple(Atom(OWNER, type) for type in types)
    return atoms[0] if len(atoms) == 1 else AnyOf(atoms)


def not_denied(privilege: str) -> Atom:
    """Denied neither on the object nor above it; no grant is asked for."""
    return Atom(NO_DENIAL, privilege)


def held(privilege: str, on: str) -> Atom:
    """Given by a text that names the very level, and no other: `on` is its type, or ASKED, or PARENT."""
    return Atom(HELD, privilege, on)


ASKED, PARENT = "asked", "parent"
"""The object that a question is about, and the one above it."""

below = Atom(BELOW)
"""Any privilege is given by a text that can name something below the object asked about."""
member = Atom(MEMBER)
service_admin = Atom(SERVICE_ADMIN)
self_ = Atom(SELF)


@cache
def ways(condition: Condition) -> tuple[Way, ...]:
    """Every smallest set of atoms that makes the condition hold, in reading order."""
    ways_ = list(dict.fromkeys(_ways(condition)))
    return tuple(way for way in ways_ if not any(other < way for other in ways_))


def numbered(condition: Condition, numbers: Mapping[Atom, int]) -> tuple[int, ...]:
    """The same ways as integers; a short one first, because it is the quicker yes."""
    return tuple(
        sorted(
            (sum(numbers[atom] for atom in way) for way in ways(condition)),
            key=lambda way: bin(way).count("1"),
        )
    )


def holds(ways: tuple[int, ...], word: int) -> bool:
    """Whether the atoms that are true, as bits of `word`, contain one of the ways."""
    for way in ways:  # noqa: SIM110  a generator costs more than the whole test
        if word & way == way:
            return True
    return False


def atoms(condition: Condition) -> Iterator[Atom]:
    if isinstance(condition, Atom):
        yield condition
    else:
        for part in condition.parts:
            yield from atoms(part)


def _flat(join: type, *parts: Condition) -> tuple[Condition, ...]:
    return tuple(inner for part in parts for inner in (part.parts if isinstance(part, join) else (part,)))  # type: ignore[union-attr]


def _ways(condition: Condition) -> Iterable[Way]:
    if isinstance(condition, Atom):
        return (frozenset((condition,)),)
    if isinstance(condition, AnyOf):
        return (way for part in condition.parts for way in _ways(part))
    return (frozenset().union(*choice) for choice in product(*map(_ways, condition.parts)))

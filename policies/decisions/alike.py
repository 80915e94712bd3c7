"""Who holds the same on some objects by what roles give there, so that it is decided once for all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import NamedTuple

from lakewarden.law.facts import Window
from policies.decisions.role_facts import ALWAYS, GrantRow

NOTHING = -1
"""The class of those to whom roles give nothing there."""
NamedRow = tuple[int, str, Window]
"""A group that somebody is in, or a role that somebody holds: its number, its name, and when."""


class Holders(NamedTuple):
    """Of some people who holds each role, themselves or through a group, and who is in each group.

    Those with something that begins or ends are also `timed`: more must be known of them.
    """

    by_role: Mapping[int, Sequence[int]]
    by_group: Mapping[int, Sequence[int]]
    timed: Collection[int]


class Alike(NamedTuple):
    """The class of each of those to whom roles give something: the same number for the same gifts."""

    numbers: Mapping[int, int]
    holders: Holders


def holders_among(
    principals: Collection[int],
    groups: Mapping[int, Sequence[NamedRow]],
    roles: Mapping[int, Sequence[NamedRow]],
) -> Holders:
    by_role, by_group = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    timed = set[int]()
    for rows_of, by_number in ((roles, by_role), (groups, by_group)):
        for person in principals:
            for number, _, window in rows_of.get(person, ()):
                by_number[number].append(person)
                if window != ALWAYS:
                    timed.add(person)
    for group, people in by_group.items():
        for role, _, window in roles.get(group, ()):
            by_role[role] += people
            if window != ALWAYS:
                timed.update(people)
    return Holders(by_role, by_group, timed)


def alike(grants: Mapping[int, Sequence[GrantRow]], objects: Collection[int], holders: Holders) -> Alike:
    """Sort people by what roles give them on the objects that `grants` are on."""
    gifts: dict[int, set[Hashable]] = {role: {row[:4] for row in rows} for role, rows in grants.items()}
    for role in objects:  # who holds a role is somebody to that role
        gifts.setdefault(role, set()).add(role)
    bits: dict[frozenset[Hashable], int] = {}
    given: dict[int, int] = {}
    for role, gift in gifts.items():
        bit = bits.setdefault(frozenset(gift), 1 << len(bits))
        for person in holders.by_role.get(role, ()):
            given[person] = given.get(person, 0) | bit
    wholes = {joined: _whole(joined, bits) for joined in set(given.values())}
    numbers = {whole: number for number, whole in enumerate(set(wholes.values()))}
    return Alike({person: numbers[wholes[joined]] for person, joined in given.items()}, holders)


def _whole(joined: int, bits: Mapping[frozenset[Hashable], int]) -> frozenset[Hashable]:
    return frozenset[Hashable]().union(*(gift for gift, bit in bits.items() if joined & bit))

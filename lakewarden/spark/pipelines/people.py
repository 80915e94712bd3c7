"""Hints that are about people and roles rather than objects: who sleeps, and which roles are nearly one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from lakewarden.spark.pipelines import hint_phrases
from lakewarden.spark.pipelines.hint_phrases import phrase
from lakewarden.spark.pipelines.people_sets import count
from lakewarden.spark.pipelines.population import PEOPLE, ROLE, Population, Unit
from lakewarden.spark.pipelines.unneeded_grants import DAY, WINDOW, Hint

ALIKE = 0.8
"""Two roles are nearly one when so much of all their rules is the same."""
FEWEST = 3
"""A role with fewer rules is like many others by chance."""
COMMON = 50
"""A rule that more roles have says nothing of which of them are alike."""


def sleeping(
    standing: Population,
    assignments: Iterable[tuple[int, int]],
    grants: Mapping[int, int],
    owned: Mapping[int, int],
    last: Mapping[int, float],
) -> Iterator[Hint]:
    """People and services that hold something themselves and did nothing for WINDOW days, as jobs tell.

    `assignments` are pairs of a role and its holder, `grants` and `owned` count what is given to a principal
    and what it owns, `last` is when a use by it was last told of.  Whether somebody signed in is not known
    here.
    """
    roles = Counter(holder for _, holder in assignments)
    now = standing.realm.at
    for key in sorted({*roles, *grants, *owned}):
        principal = standing.principals.get(key)
        if principal is None or principal.kind not in PEOPLE:
            continue
        if principal.able and now - last.get(key, 0.0) < WINDOW * DAY:
            continue
        counted = (
            (hint_phrases.ROLES, roles[key]),
            (hint_phrases.GRANTS, grants.get(key, 0)),
            (hint_phrases.OWNED, owned.get(key, 0)),
        )
        holds = [phrase(code, many=many) for code, many in counted if many]
        kind = "dormant_service" if principal.kind == "service" else "dormant_person"
        data = {"holds": holds, "able": principal.able, "used": last.get(key)}
        yield Hint(kind, holder=key, people=1, data=data)


def nearly_one(
    standing: Population, rules: Iterable[tuple[int, object]], personal: Mapping[int, int]
) -> Iterator[Hint]:
    """Pairs of roles of which nearly all rules are the same; roles of one person alone are left out.

    `rules` are pairs of a role and what stands for one of its rules.
    """
    of_role: dict[int, set[object]] = defaultdict(set)
    for role, rule in rules:
        if role not in personal and role in standing.roles:
            of_role[role].add(rule)
    having: dict[object, list[int]] = defaultdict(list)
    for role in sorted(of_role):
        if len(of_role[role]) >= FEWEST:
            for rule in of_role[role]:
                having[rule].append(role)
    pairs = {
        (role, other)
        for roles in having.values()
        if len(roles) <= COMMON
        for place, role in enumerate(roles)
        for other in roles[place + 1 :]
    }
    for other_role, other in sorted(pairs):
        shared, every = len(of_role[other_role] & of_role[other]), len(of_role[other_role] | of_role[other])
        if shared >= ALIKE * every:
            held = standing.crowd(Unit(ROLE, other_role)) | standing.crowd(Unit(ROLE, other))
            data = {"shared": shared, "rules": every, "only": (len(of_role[other_role]) - shared)}
            pair = Hint("near_roles", role=other_role, other_role=other, people=count(held), data=data)
            yield pair


def counted(holders: Iterable[int]) -> Mapping[int, int]:
    return Counter(holders)

"""Who stands where in a realm: the people of each role, group and holder, as crowds, at one moment.

`crowd` answers with sets; `paths` goes the other way, from one person to all that counts for them, for the
samples that are decided one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Callable, NamedTuple, Optional

from lakewarden.law import dialects
from lakewarden.law.dialects.base import Dialect
from lakewarden.law.facts import Key, Station
from lakewarden.law.principals import Principal
from lakewarden.spark.pipelines.people_sets import Crowd, Numbering

ROLE, HOLDER, OWNER = "role", "holder", "owner"
"""What a fact is given to: a role, a principal, or a principal as the owner of an object."""
PEOPLE = ("user", "service")
NOW, LASTING, EVER = "now", "lasting", "ever"
Window = tuple[Optional[float], Optional[float]]
ALWAYS: Window = (None, None)


class Unit(NamedTuple):
    """One thing that facts are given to: its kind of those above, and the key of the role or principal."""

    kind: str
    key: int


class Who(NamedTuple):
    """A principal of the snapshot."""

    key: int
    kind: str
    name: str
    able: bool = True
    service_admin: bool = False


@dataclass(frozen=True)
class Realm:
    """What the snapshot says of the realm itself; `at` is seconds since 1970."""

    key: int
    root: int
    name: str
    law: str
    mode: str
    revision: int
    at: float
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def dialect(self) -> Dialect:
        return dialects.get(self.law)

    @property
    def enforced(self) -> str:
        """The mode in which the law decides: on, off or pass-through."""
        return "off" if self.settings.get("authentication") == "off" else self.mode


class Population:
    """All people of a realm and how they are grouped, as of the realm's moment.

    `memberships` are rows (group, member, from, until), `assignments` (role, holder, from, until), `members`
    (principal, from, until); `roles` names them by key.  Moments are seconds since 1970.  `when` is one of
    NOW, LASTING (only what has no end) and EVER (what holds now or will).
    """

    def __init__(
        self,
        realm: Realm,
        principals: Iterable[Who],
        *,
        memberships: Iterable[Sequence[Any]],
        members: Iterable[Sequence[Any]],
        assignments: Iterable[Sequence[Any]],
        roles: Mapping[int, str],
        when: str = NOW,
    ) -> None:
        self.realm, self._when = realm, when
        self.principals = {principal.key: principal for principal in principals}
        self.people = Numbering(
            principal.key for principal in self.principals.values() if principal.kind in PEOPLE
        )
        self.services = self._people(lambda principal: principal.kind == "service")
        self.admins = self._people(lambda principal: principal.service_admin)
        self.able = self._people(lambda principal: principal.able)
        self.roles = dict(roles)
        self._take_members(members)
        self._groups: dict[int, list[tuple[int, Window]]] = defaultdict(list)
        self._take_groups(memberships)
        self._holds: dict[int, list[tuple[int, Window]]] = defaultdict(list)
        self._in_role: dict[int, Crowd] = defaultdict(int)
        self._take_roles(assignments)
        self._namesakes: dict[int, Crowd] = {}
        self._called: dict[int, list[int]] = defaultdict(list)
        if self.law.ignores_case:
            self._take_names()

    @property
    def law(self) -> Dialect:
        return self.realm.dialect

    def crowd(self, unit: Unit) -> Crowd:
        """The people for whom what is given to a unit counts now."""
        kind, key = unit
        if kind == ROLE:
            return self._in_role.get(key, 0)
        crowd = self._in_group.get(key, 0) | self.people.alone(key)
        if kind == HOLDER:
            crowd |= self._namesakes.get(key, 0)
        return crowd

    def selves(self, key: object) -> Crowd:
        """The people for whom an object is one of their own: those who hold the role."""
        return self._in_role.get(key, 0)  # type: ignore[call-overload,no-any-return]

    def paths(self, person: int) -> list[tuple[Unit, tuple[Station, ...], Window]]:
        """Everything that counts for one person, by which way, and when."""
        paths = [
            (Unit(HOLDER, person), (), ALWAYS),
            (Unit(OWNER, person), (), ALWAYS),
            *self._roles_of(person, (), ALWAYS),
        ]
        for group, window in self._groups.get(person, ()):
            via = (Station("group", self.principals[group].name, group),)
            paths += [(Unit(HOLDER, group), via, window), (Unit(OWNER, group), via, window)]
            paths += self._roles_of(group, via, window)
        paths += [(Unit(HOLDER, called), (), ALWAYS) for called in self._called.get(person, ())]
        return paths

    def roles_held(self, person: int) -> frozenset[Key]:
        """The roles that a person holds now, directly or through a group."""
        return frozenset(
            unit.key for unit, _, window in self.paths(person) if unit.kind == ROLE and self._now(window)
        )

    def ref(self, person: int) -> Principal:
        principal = self.principals[person]
        return Principal(principal.kind, principal.name)

    def _roles_of(
        self, holder: int, via: tuple[Station, ...], window: Window
    ) -> list[tuple[Unit, tuple[Station, ...], Window]]:
        return [
            (Unit(ROLE, role), (*via, Station("role", self.roles.get(role, ""), role)), joined(window, own))
            for role, own in self._holds.get(holder, ())
        ]

    def _people(self, which: Callable[[Who], bool]) -> Crowd:
        return self.people.crowd(principal.key for principal in self.principals.values() if which(principal))

    def _take_members(self, rows: Iterable[Sequence[Any]]) -> None:
        kept = list(rows)
        self._admitted = {row[0] for row in kept}
        inside = self.people.crowd(row[0] for row in kept if self._now((row[1], row[2])))
        self.members = self.people.all if self.law.open_to_all else inside

    def _take_groups(self, rows: Iterable[Sequence[Any]]) -> None:
        inside: dict[int, list[int]] = defaultdict(list)
        for group, member, start, end in rows:
            # a group that the realm does not admit counts for nothing in it
            if group in self.principals and (self.law.open_to_all or group in self._admitted):
                self._groups[member].append((group, (start, end)))
                if self._now((start, end)):
                    inside[group].append(member)
        self._in_group = {group: self.people.crowd(keys) for group, keys in inside.items()}

    def _take_roles(self, rows: Iterable[Sequence[Any]]) -> None:
        for role, holder, start, end in rows:
            self._holds[holder].append((role, (start, end)))
            if self._now((start, end)):
                self._in_role[role] |= self.crowd(Unit(OWNER, holder))

    def _take_names(self) -> None:
        """Where a law ignores case: who is meant by the same name in other letters, and by `*suffix`."""
        named: dict[str, list[int]] = defaultdict(list)
        for key in self.people.keys:
            named[self.principals[key].name.strip(" ").upper()].append(key)
        for principal in self.principals.values():
            if principal.kind == "user":
                alike = [key for key in named.get(principal.name.upper(), ()) if key != principal.key]
            elif principal.kind == "pattern":
                suffix = principal.name[1:].upper()
                alike = [key for name, keys in named.items() if name.endswith(suffix) for key in keys]
            else:
                continue
            for key in alike:
                self._called[key].append(principal.key)
            self._namesakes[principal.key] = self.people.crowd(alike)

    def _now(self, window: Window) -> bool:
        if self._when == EVER:
            return contains((None, window[1]), self.realm.at)
        return contains(window, self.realm.at) and (self._when == NOW or window[1] is None)


Rows = Callable[..., list[Any]]
"""Answers the rows of a table of the snapshot: its name, and the columns that are wanted."""


def standing_of(realm: Realm, rows: Rows, when: str = NOW, *, lasting: float = 0.0) -> Population:
    """Who stands where, by the tables of a snapshot.

    With `lasting` only those who have stood there for so many seconds, as far as the history that is kept
    tells when it began.
    """
    window = ("from", "until", "since")
    return Population(
        realm,
        [Who(*row) for row in rows("principals", "key", "kind", "name", "able", "service_admin")],
        memberships=_settled(rows("memberships", "group", "member", *window), lasting),
        members=rows("members", "principal", "from", "until"),
        assignments=_settled(rows("assignments", "role", "holder", *window), lasting),
        roles=dict(rows("roles", "key", "name")),
        when=when,
    )


def _settled(rows: Iterable[Sequence[Any]], lasting: float) -> Iterable[Sequence[Any]]:
    for *who, start, end, since in rows:
        begun = began(start, since) if lasting else None
        yield (*who, start if begun is None else begun + lasting, end)


def began(start: float | None, since: float | None) -> float | None:
    """Since when something has counted: its window and its record both had to begin; None: for ever."""
    return max((item for item in (start, since) if item is not None), default=None)


def contains(window: Window, now: float) -> bool:
    """Whether a moment lies in a window, the beginning included, the end not."""
    start, end = window
    return (start is None or start <= now) and (end is None or now < end)


def joined(window: Window, other: Window) -> Window:
    """When both windows hold."""
    starts = [edge for edge in (window[0], other[0]) if edge is not None]
    ends = [edge for edge in (window[1], other[1]) if edge is not None]
    return max(starts, default=None), min(ends, default=None)

"""Whom groups and roles hold, read once for many people and held in this process until something touches it.

Who has access to an object turns on thousands of people of whom nothing changed since somebody last asked.
What is held of each is what `facts.load` brings, with its revision.  One statement then says what was touched
since, and nothing that was is used: what comes out is of that statement's snapshot.  Nobody is held of whom a
row lacks its seal, or who is given something otherwise than by groups, roles and ownerships.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from django.db import connection, transaction

from catalog.models import Realm
from lakewarden.law import dialects
from lakewarden.law.facts import Key, Window, contains
from policies.decisions import facts
from policies.decisions.alike import Alike, Holders, NamedRow, alike, holders_among
from policies.decisions.cache_versions import principal_key, principals_in, realm_key, role_key
from policies.decisions.held.statement import MEMBERS, NEVER, STATEMENT
from policies.decisions.role_facts import ALWAYS, GrantRow, RoleFacts

KEPT = 60_000
"""So many people and groups are held at most, of all realms together; each takes about half a kB."""
FEW = 32
"""For fewer it is as quick to read all about them."""
STEPS = 5
"""To read who is missing, to look, and both again for what somebody changes meanwhile."""
OBJECTS = 8
"""Of so many objects it is known who is given the same there."""
Moved = Mapping[str, tuple[int, "str | None"]]
"""When a key was touched last; of a role with the name that it has now."""


class HeldPerson(NamedTuple):
    """The facts about one person or group as of a revision; the rows are shared and never changed."""

    revision: int
    admissions: list[Window]
    groups: list[NamedRow]
    outside: list[int]
    roles: list[NamedRow]
    left: bool

    def is_stale(self, number: int, moved: Moved) -> bool:
        """Whether it, a group of theirs or the name of a role was touched after it was read."""
        groups = (row[0] for row in self.groups)
        if any(
            key in moved and moved[key][0] > self.revision
            for key in map(principal_key, (number, *groups, *self.outside))
        ):
            return True
        named = ((role_key(role), name) for role, name, _ in self.roles)
        return any(
            key in moved and moved[key][0] > self.revision and moved[key][1] != name for key, name in named
        )


@dataclass(frozen=True)
class Members:
    """All whom a realm admits, in the order of their numbers with their kinds."""

    kinds: Mapping[int, str]

    @cached_property
    def numbers(self) -> frozenset[int]:
        return frozenset(self.kinds)

    def of_kind(self, kind: str, *, after: int) -> Sequence[int]:
        numbers = self._by_kind.get(kind, [])
        return numbers[bisect_right(numbers, after) :]

    @cached_property
    def _by_kind(self) -> dict[str, list[int]]:
        by_kind: dict[str, list[int]] = {}
        for number, kind in self.kinds.items():
            by_kind.setdefault(kind, []).append(number)
        return by_kind


@dataclass
class _Collected:
    """Of whom something is asked, and of their groups, what is held; `missing` are to be read."""

    principals: frozenset[int]
    people: dict[int, HeldPerson]
    groups: dict[int, HeldPerson]
    roles: dict[int, RoleFacts]
    missing: set[int]

    @cached_property
    def everybody(self) -> dict[int, HeldPerson]:
        return {**self.groups, **self.people}

    @cached_property
    def lasting_members(self) -> set[int]:
        return {number for number, person in self.people.items() if ALWAYS in person.admissions}

    @cached_property
    def timed_members(self) -> dict[int, list[Window]]:
        return {
            number: person.admissions
            for number, person in self.people.items()
            if person.admissions and number not in self.lasting_members
        }

    @cached_property
    def left(self) -> set[int]:
        return {number for number, person in self.people.items() if person.left}

    @cached_property
    def groups_of(self) -> dict[int, list[NamedRow]]:
        return {number: person.groups for number, person in self.people.items() if person.groups}

    @cached_property
    def groups_outside(self) -> dict[int, list[int]]:
        return {number: person.outside for number, person in self.people.items() if person.outside}

    @cached_property
    def roles_of(self) -> dict[int, list[NamedRow]]:
        return {number: person.roles for number, person in self.everybody.items() if person.roles}

    @cached_property
    def grants(self) -> dict[Key, list[tuple[int, list[GrantRow]]]]:
        """What roles give, by objects."""
        given: dict[Key, list[tuple[int, list[GrantRow]]]] = {}
        for role, grants in self.roles.items():
            for key, rows in grants.by_object.items():
                given.setdefault(key, []).append((role, rows))
        return given

    def alike_on(self, objects: frozenset[int], grants: Mapping[int, list[GrantRow]]) -> Alike:
        """Who is given the same there; known for the objects that were asked about last."""
        classes = self._alike.get(objects)
        if classes is None:
            while len(self._alike) >= OBJECTS:
                self._alike.pop(next(iter(self._alike)))
            classes = self._alike[objects] = alike(grants, objects, self._holders)
        return classes

    @cached_property
    def _holders(self) -> Holders:
        return holders_among(self.principals, self.groups_of, self.roles_of)

    @cached_property
    def _alike(self) -> dict[frozenset[int], Alike]:
        return {}


@dataclass
class _OfRealm:
    """What is held in one realm: none of it was touched up to `checked`.

    `members` are all whom it admits, with their kinds; `collected` is what is held of those asked about last,
    until something else is held of anybody.
    """

    people: dict[int, HeldPerson] = field(default_factory=dict)
    roles: dict[int, RoleFacts] = field(default_factory=dict)
    members: Members | None = None
    collected: _Collected | None = None
    checked: int = 0

    def keep(
        self,
        revision: int,
        *,
        people: Mapping[int, HeldPerson] | None = None,
        roles: Mapping[int, RoleFacts] | None = None,
        members: Members | None = None,
    ) -> None:
        """Hold what was read at a revision; not what is older than what touches were looked for."""
        if not self.people and self.members is None:
            self.checked = revision
        if revision >= self.checked:
            self.people.update(people or {})
            self.roles.update(roles or {})
            self.members, self.collected = members or self.members, None

    @property
    def weight(self) -> int:
        return len(self.people) + sum(len(role.rows) for role in self.roles.values()) // 8


_realms: dict[int, _OfRealm] = {}
_rows: dict[NamedRow, NamedRow] = {}
_lock = threading.Lock()


class _NotHeld(Exception):
    """Not all about these people can be held."""


def load(
    realm: Realm, realm_name: str, numbers: Collection[int], *, now: datetime, objects: Collection[int]
) -> facts.Loaded:
    """What `facts.load` brings of many people on some objects.  One statement where all of it is held.

    Whoever shows their names looks at the seals of these.
    """
    asked = frozenset(numbers)
    if FEW < len(asked) <= KEPT and _can_be_held(realm):
        with suppress(_NotHeld):
            for _ in range(STEPS):
                loaded = _proved(realm, realm_name, asked, now, objects)
                if loaded is not None:
                    return loaded
    return facts.load(realm, realm_name, asked, now=now, objects=objects)


def load_members(
    realm: Realm, realm_name: str, *, now: datetime, objects: Collection[int]
) -> tuple[Members, facts.Loaded] | None:
    """All whom the realm admits, and the same about them.

    None where they are few, or not all about them can be held.
    """
    if not _can_be_held(realm):
        return None
    with suppress(_NotHeld):
        for _ in range(STEPS):
            members = _members(realm.pk)
            if not FEW < len(members.numbers) <= KEPT:
                return None
            loaded = _proved(realm, realm_name, members.numbers, now, objects)
            if loaded is not None and _members_held(realm.pk) is members:
                return members, loaded
    return None


def _members_held(realm: int) -> Members | None:
    with _lock:
        return _realms.setdefault(realm, _OfRealm()).members


def _members(realm: int) -> Members:
    if (held := _members_held(realm)) is not None:
        return held
    with connection.cursor() as cursor:
        cursor.execute(MEMBERS, {"realm": realm})
        rows = cursor.fetchall()
    members = Members({number: kind for _, number, kind in rows if number is not None})
    with _lock:
        _realms.setdefault(realm, _OfRealm()).keep(rows[0][0], members=members)
    return members


def _proved(
    realm: Realm, realm_name: str, principals: frozenset[int], now: datetime, objects: Collection[int]
) -> facts.Loaded | None:
    """What is held of them, proved fresh; None where something was missing or touched, and is to be looked at
    again.  Raises _NotHeld."""
    collected, since = _collected(realm.pk, principals)
    if collected.missing:
        _read(realm, realm_name, collected.missing, now)
        return None
    loaded = facts.Loaded(realm, realm_name, now.timestamp(), principals, frozenset(objects))
    loaded.read(STATEMENT, {"realm": realm.pk, "objects": list(objects), "since": since})
    if loaded.unsealed:
        raise _NotHeld
    if not _is_fresh(realm.pk, loaded, collected):
        return None
    _fill(loaded, collected)
    return loaded


def _can_be_held(realm: Realm) -> bool:
    law = dialects.get(realm.law)
    # elsewhere names and the realm itself give something, too
    return not (law.by_text or law.ignores_case or law.open_to_all) and not _may_roll_back()


def _may_roll_back() -> bool:
    return bool(transaction.get_connection().in_atomic_block)


def _collected(realm: int, asked: frozenset[int]) -> tuple[_Collected, int]:
    """What is held of them, and up to which revision nothing touched it."""
    with _lock:
        there = _realms.setdefault(realm, _OfRealm())
        held = there.collected
        if held is None or (held.principals is not asked and held.principals != asked):
            collected = _collected_anew(there, asked)
            if collected.missing:
                return collected, there.checked
            held = there.collected = collected
        return held, there.checked


def _collected_anew(of_realm: _OfRealm, principals: frozenset[int]) -> _Collected:
    people = {number: of_realm.people[number] for number in principals if number in of_realm.people}
    inside = {row[0] for person in people.values() for row in person.groups}
    groups = {number: of_realm.people[number] for number in inside if number in of_realm.people}
    holders = {row[0]: number for number, person in (people | groups).items() for row in person.roles}
    roles = {role: of_realm.roles[role] for role in holders if role in of_realm.roles}
    # who holds a role brings what it gives
    bare = {number for role, number in holders.items() if role not in roles}
    missing = {*(principals - people.keys()), *(inside - groups.keys()), *bare}
    return _Collected(principals, people, groups, roles, missing)


def _read(realm: Realm, realm_name: str, numbers: Collection[int], now: datetime) -> None:
    """Read what is missing, and hold it.  Raises _NotHeld."""
    loaded = facts.load_sharing(realm, realm_name, numbers, now=now, owned=())
    doubted = loaded.doubted | loaded.lost
    if loaded.unsealed or loaded.direct or loaded.aliases:
        raise _NotHeld
    if doubted and any(not doubted.isdisjoint(loaded.keys_of(number)) for number in numbers):
        raise _NotHeld
    with _lock:
        there = _realms.setdefault(realm.pk, _OfRealm())
        there.keep(loaded.revision, people=dict(_held_of(loaded)), roles=loaded.shared)
        if sum(item.weight for item in _realms.values()) > KEPT:
            others = [number for number in _realms if number != realm.pk]
            for number in others or [realm.pk]:
                del _realms[number]
            _rows.clear()
            if not others or there.weight > KEPT:
                raise _NotHeld


def _held_of(loaded: facts.Loaded) -> Iterator[tuple[int, HeldPerson]]:
    inside = {row[0] for rows in loaded.groups.values() for row in rows}
    for number in loaded.asked | inside:
        yield (
            number,
            HeldPerson(
                loaded.revision,
                loaded.admissions.get(number, []),
                _shared(loaded.groups.get(number, ())),
                loaded.outside.get(number, []),
                _shared(loaded.roles.get(number, ())),
                number in loaded.left,
            ),
        )


def _shared(rows: Collection[NamedRow]) -> list[NamedRow]:
    """The same rows, each of which many people have, once."""
    return [_rows.setdefault(row, row) for row in rows]


def _is_fresh(realm: int, loaded: facts.Loaded, collected: _Collected) -> bool:
    """Whether nothing that is used was touched after it was read; what was is forgotten."""
    moved = loaded.moved
    with _lock:
        there = _realms.setdefault(realm, _OfRealm())
        if realm_key(realm) in moved or loaded.revision < there.checked:
            _realms[realm] = _OfRealm()  # all of the realm is another, or somebody put a copy back
            return False
        stale = list(_moved_people(there.people, moved)) if moved else []
        for number in stale:
            del there.people[number]
        old = _moved_roles(there.roles, moved)
        for role in old:
            del there.roles[role]
        if stale or old:
            there.collected = None
        if there.members is not None and _is_somebody_else(moved, there.members.numbers):
            there.members = None
        there.checked = max(there.checked, loaded.revision)
    # others may have put newer ones in their places meanwhile
    here = collected.everybody if moved else {}
    return not (any(_moved_people(here, moved)) or _moved_roles(collected.roles, moved))


def _is_somebody_else(moved: Moved, members: frozenset[int]) -> bool:
    """Whether a change touched somebody who was no member, and may be one now."""
    changed = (key for key, (revision, _) in moved.items() if revision < NEVER)
    return any(number not in members for number in principals_in(changed))


def _moved_people(people: Mapping[int, HeldPerson], moved: Moved) -> Iterator[int]:
    return (number for number, person in people.items() if person.is_stale(number, moved))


def _moved_roles(roles: Mapping[int, RoleFacts], moved: Moved) -> list[int]:
    touched = (int(key[2:]) for key in moved if key.startswith("s:"))
    return [role for role in touched if role in roles and moved[role_key(role)][0] > roles[role].revision]


def _fill(loaded: facts.Loaded, collected: _Collected) -> None:
    """Put what is held beside what the statement brought."""
    for owner in loaded.owned.keys() - collected.everybody.keys():
        del loaded.owned[owner]
    loaded.members |= collected.lasting_members
    loaded.members |= {
        number
        for number, windows in collected.timed_members.items()
        if any(contains(window, loaded.now) for window in windows)
    }
    loaded.left |= collected.left
    # copies, for whoever left is taken out of them
    loaded.groups = dict(collected.groups_of)
    loaded.outside = dict(collected.groups_outside)
    loaded.roles = dict(collected.roles_of)
    objects = loaded.objects or frozenset()
    for key in objects:
        for role, rows in collected.grants.get(key, ()):
            loaded.grants[role] += rows
    loaded.alike = collected.alike_on(objects, loaded.grants)
    if loaded.left:
        loaded.close(set())


def forget_all() -> None:
    """Drop everything held; for tests, where databases come and go under one process."""
    with _lock:
        _realms.clear()
        _rows.clear()

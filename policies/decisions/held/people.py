"""Whom groups and roles hold, read once for many people and held in this process until something touches it.

Who has access to an object turns on thousands of people of whom nothing changed since somebody last asked.
What is held of each is what `facts.load` brings, with its revision.  One statement then says what was touched
since, and nothing that was is used: what comes out is of that statement's snapshot.  Nobody is held of whom a
row lacks its seal, or who is given something otherwise than by groups, roles and ownerships.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from django.db import transaction

from catalog.models import Realm
from lakewarden.law import dialects
from lakewarden.law.facts import Window, contains
from policies.decisions import facts
from policies.decisions.cache_versions import principal_key, realm_key, role_key
from policies.decisions.held.statement import STATEMENT
from policies.decisions.role_facts import RoleFacts

KEPT = 60_000
"""So many people and groups are held at most, of all realms together; each takes about half a kB."""
FEW = 32
"""For fewer it is as quick to read all about them."""
STEPS = 5
"""To read who is missing, to look, and both again for what somebody changes meanwhile."""
NamedRow = tuple[int, str, Window]
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


@dataclass
class _OfRealm:
    """What is held in one realm: none of it was touched up to `checked`."""

    people: dict[int, HeldPerson] = field(default_factory=dict)
    roles: dict[int, RoleFacts] = field(default_factory=dict)
    checked: int = 0

    @property
    def weight(self) -> int:
        return len(self.people) + sum(len(role.rows) for role in self.roles.values()) // 8


@dataclass
class _Collected:
    """Of whom something is asked, and of their groups, what is held; `missing` are to be read."""

    people: dict[int, HeldPerson]
    groups: dict[int, HeldPerson]
    roles: dict[int, RoleFacts]
    missing: set[int]
    checked: int


_realms: dict[int, _OfRealm] = {}
_rows: dict[NamedRow, NamedRow] = {}
_lock = threading.Lock()


def load(
    realm: Realm, realm_name: str, numbers: Collection[int], *, now: datetime, objects: Collection[int]
) -> facts.Loaded:
    """What `facts.load` brings of many people on some objects.  One statement where all of it is held.

    Whoever shows their names looks at the seals of these.
    """
    asked = frozenset(numbers)
    if FEW < len(asked) <= KEPT and _can_be_held(realm):
        for _ in range(STEPS):
            collected = _collected(realm.pk, asked)
            if collected.missing:
                if not _read(realm, realm_name, collected.missing, now):
                    break
                continue
            loaded = facts.Loaded(realm, realm_name, now.timestamp(), asked, frozenset(objects))
            loaded.read(STATEMENT, {"realm": realm.pk, "objects": list(objects), "since": collected.checked})
            if loaded.unsealed:
                break
            if _is_fresh(realm.pk, loaded, collected):
                _fill(loaded, collected)
                return loaded
    return facts.load(realm, realm_name, asked, now=now, objects=objects)


def _can_be_held(realm: Realm) -> bool:
    law = dialects.get(realm.law)
    # elsewhere names and the realm itself give something, too
    return not (law.by_text or law.ignores_case or law.open_to_all) and not _may_roll_back()


def _may_roll_back() -> bool:
    return bool(transaction.get_connection().in_atomic_block)


def _collected(realm: int, asked: frozenset[int]) -> _Collected:
    with _lock:
        there = _realms.setdefault(realm, _OfRealm())
        known = there.people
        people = {number: known[number] for number in asked if number in known}
        inside = {row[0] for person in people.values() for row in person.groups}
        groups = {number: known[number] for number in inside if number in known}
        holders = {row[0]: number for number, person in (people | groups).items() for row in person.roles}
        roles = {role: there.roles[role] for role in holders if role in there.roles}
        checked = there.checked
    # who holds a role brings what it gives
    bare = {number for role, number in holders.items() if role not in roles}
    missing = {*(asked - people.keys()), *(inside - groups.keys()), *bare}
    return _Collected(people, groups, roles, missing, checked)


def _read(realm: Realm, realm_name: str, numbers: Collection[int], now: datetime) -> bool:
    """Read what is missing, and hold it; whether all of it can be held."""
    loaded = facts.load_sharing(realm, realm_name, numbers, now=now, owned=())
    doubted = loaded.doubted | loaded.lost
    if loaded.unsealed or loaded.direct or loaded.aliases:
        return False
    if doubted and any(not doubted.isdisjoint(loaded.keys_of(number)) for number in numbers):
        return False
    with _lock:
        there = _realms.setdefault(realm.pk, _OfRealm())
        if not there.people:
            there.checked = loaded.revision
        # what was touched up to then is not looked for any more
        if loaded.revision >= there.checked:
            there.people.update(_held_of(loaded))
            there.roles |= loaded.shared
        if sum(item.weight for item in _realms.values()) > KEPT:
            others = [number for number in _realms if number != realm.pk]
            for number in others or [realm.pk]:
                del _realms[number]
            _rows.clear()
            return bool(others) and there.weight <= KEPT
    return True


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
        there.checked = max(there.checked, loaded.revision)
    # others may have put newer ones in their places meanwhile
    here = {**collected.groups, **collected.people} if moved else {}
    return not (any(_moved_people(here, moved)) or _moved_roles(collected.roles, moved))


def _moved_people(people: Mapping[int, HeldPerson], moved: Moved) -> Iterator[int]:
    return (number for number, person in people.items() if person.is_stale(number, moved))


def _moved_roles(roles: Mapping[int, RoleFacts], moved: Moved) -> list[int]:
    touched = (int(key[2:]) for key in moved if key.startswith("s:"))
    return [role for role in touched if role in roles and moved[role_key(role)][0] > roles[role].revision]


def _fill(loaded: facts.Loaded, collected: _Collected) -> None:
    """Put what is held beside what the statement brought."""
    everybody = {**collected.groups, **collected.people}
    for owner in loaded.owned.keys() - everybody.keys():
        del loaded.owned[owner]
    loaded.members |= {
        number
        for number, person in collected.people.items()
        if any(contains(window, loaded.now) for window in person.admissions)
    }
    loaded.left |= {number for number, person in collected.people.items() if person.left}
    loaded.groups.update({number: person.groups for number, person in collected.people.items()})
    loaded.outside.update({number: person.outside for number, person in collected.people.items()})
    loaded.roles.update({number: person.roles for number, person in everybody.items()})
    objects = loaded.objects or frozenset()
    for role, grants in collected.roles.items():
        if rows := [row for key in objects if key in grants.by_object for row in grants.by_object[key]]:
            loaded.grants[role] = rows
    if loaded.left:
        loaded.close(set())


def forget_all() -> None:
    """Drop everything held; for tests, where databases come and go under one process."""
    with _lock:
        _realms.clear()
        _rows.clear()

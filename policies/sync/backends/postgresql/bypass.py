"""Who can do things in a PostgreSQL database whatever is granted: superusers, owners, predefined roles."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from lakewarden.backends.base import Bypass
from policies.sentences import Said, say
from policies.sync.backends.postgresql.state import Reader
from policies.sync.backends.shared import powers


def bypasses(reader: Reader) -> Iterator[Bypass]:
    """The people with such power, by name; roles that nobody can sign in as have none."""
    powerful = _Powerful(reader)
    found = [*powerful.superusers(), *powerful.predefined(), *powerful.attributes(), *powerful.owners()]
    yield from sorted(found, key=lambda bypass: (bypass.holder, bypass.path or (), bypass.what))


class _Powerful:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._members: dict[int, set[int]] = defaultdict(set)
        for row in reader.memberships:
            if reader.conveys(row) or (
                row.admin and row.role in reader.managed and row.member != reader.server.me
            ):
                self._members[row.role].add(row.member)
        # the owner of the database is a member of this one without any row saying so
        for oid, role in reader.roles.items():
            if role.name == "pg_database_owner":
                self._members[oid].add(reader.server.owner)

    def superusers(self) -> Iterator[Bypass]:
        for oid, role in self._reader.roles.items():
            if role.superuser:
                yield from (
                    Bypass(who, self._as(say(powers.SUPERUSER), oid, who))
                    for who in self._people(oid, every=True)
                )

    def predefined(self) -> Iterator[Bypass]:
        for oid, role in self._reader.roles.items():
            if role.name in powers.PREDEFINED:
                what = say(powers.THROUGH, what=say(powers.PREDEFINED[role.name]), role=role.name)
                yield from (Bypass(who, what.english) for who in self._people(oid))

    def attributes(self) -> Iterator[Bypass]:
        for oid, role in self._reader.roles.items():
            held = [code for attribute, code in powers.ATTRIBUTES.items() if getattr(role, attribute)]
            if role.createrole and self._reader.version < 16:
                held.append(powers.MAKES_MEMBERS)
            for code in held:
                yield from (Bypass(who, self._as(say(code), oid, who)) for who in self._people(oid))

    def owners(self) -> Iterator[Bypass]:
        owned: Counter[tuple[int, tuple[str, ...], str]] = Counter()
        for place in self._reader.places.values():
            if place.kind in ("catalog", "schema"):
                code = powers.OWNS_DATABASE if place.kind == "catalog" else powers.OWNS_SCHEMA
                owned[place.owner, place.path, code] = 1
            elif place.kind != "sequence":
                owned[place.owner, place.path[:1], powers.OWNS_TABLES] += 1
        for (owner, path, code), number in owned.items():
            for who in self._people(owner):
                yield Bypass(who, self._as(say(code, many=number), owner, who), path)

    def _as(self, what: Said, role: int, who: str) -> str:
        name = self._reader.name(role)
        return (what if name == who else say(powers.AS, what=what, name=name)).english

    def _people(self, role: int, *, every: bool = False) -> set[str]:
        """Who can sign in and be this role; superusers are told once and not for each thing they can do."""
        reached, waiting = {role}, [role]
        while waiting:
            for member in self._members[waiting.pop()] - reached:
                reached.add(member)
                waiting.append(member)
        rows = [self._reader.roles[oid] for oid in reached if oid in self._reader.roles]
        return {row.name for row in rows if row.login and (every or not row.superuser)}

"""Who can do things in a PostgreSQL database whatever is granted: superusers, owners, predefined roles, and
who runs what others lend their rights to."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from lakewarden.backends.base import Bypass
from policies.sync.backends.postgresql.state import PUBLIC, Reader
from policies.sync.backends.shared import powers


def bypasses(reader: Reader) -> Iterator[Bypass]:
    """The people with such power, by name; roles that nobody can sign in as have none."""
    powerful = _Powerful(reader)
    bypasses_ = [*powerful.superusers(), *powerful.predefined(), *powerful.attributes(), *powerful.owners()]
    bypasses_ += powerful.definers()
    yield from sorted(bypasses_, key=lambda bypass: (bypass.holder, bypass.path or (), bypass.what))


class _Powerful:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._members: dict[int, set[int]] = defaultdict(set)
        for row in reader.memberships:
            # whoever administers a role makes themselves a member when they like
            if reader.conveys(row) or (row.admin and row.member != reader.server.me):
                self._members[row.role].add(row.member)
        # the owner of the database is a member of this one without any row saying so
        for oid, role in reader.roles.items():
            if role.name == "pg_database_owner":
                self._members[oid].add(reader.server.owner)

    def superusers(self) -> Iterator[Bypass]:
        for oid, role in self._reader.roles.items():
            if role.superuser:
                yield from (
                    Bypass(who, self._as(powers.SUPERUSER.english(), oid, who))
                    for who in self._people(oid, every=True)
                )

    def predefined(self) -> Iterator[Bypass]:
        for oid, role in self._reader.roles.items():
            if role.name in powers.PREDEFINED:
                reads_or_writes = powers.PREDEFINED[role.name].english()
                what = powers.THROUGH.english(what=reads_or_writes, role=role.name)
                yield from (Bypass(who, what) for who in self._people(oid))

    def attributes(self) -> Iterator[Bypass]:
        for oid, role in self._reader.roles.items():
            held = [power for attribute, power in powers.ATTRIBUTES.items() if getattr(role, attribute)]
            if role.createrole and self._reader.version < 16:
                held.append(powers.MAKES_MEMBERS)
            for power in held:
                yield from (Bypass(who, self._as(power.english(), oid, who)) for who in self._people(oid))

    def owners(self) -> Iterator[Bypass]:
        owned: Counter[tuple[int, tuple[str, ...], powers.Power]] = Counter()
        for place in self._reader.places.values():
            if place.kind in ("catalog", "schema"):
                power = powers.OWNS_DATABASE if place.kind == "catalog" else powers.OWNS_SCHEMA
                owned[place.owner, place.path, power] = 1
            elif place.kind != "sequence":
                owned[place.owner, place.path[:1], powers.OWNS_TABLES] += 1
        for (owner, path, power), number in owned.items():
            for who in self._people(owner):
                yield Bypass(who, self._as(power.english(many=number), owner, who), path)

    def definers(self) -> Iterator[Bypass]:
        """Who runs functions that do what their owner may, whatever they read."""
        for row in self._reader.definers:
            owner, path = self._reader.name(row.owner), (row.schema,)
            what = powers.RUNS_AS.english(many=row.many, owner=owner)
            if row.grantee == PUBLIC:
                yield Bypass("PUBLIC", what, path)
                continue
            for who in self._people(row.grantee) - {owner}:
                yield Bypass(who, self._as(what, row.grantee, who), path)

    def _as(self, what: str, role: int, who: str) -> str:
        name = self._reader.name(role)
        return what if name == who else powers.AS.english(what=what, name=name)

    def _people(self, role: int, *, every: bool = False) -> set[str]:
        """Who can sign in and be this role; superusers are told once and not for each thing they can do."""
        reached, waiting = {role}, [role]
        while waiting:
            for member in self._members[waiting.pop()] - reached:
                reached.add(member)
                waiting.append(member)
        rows = [self._reader.roles[oid] for oid in reached if oid in self._reader.roles]
        return {row.name for row in rows if row.login and (every or not row.superuser)}

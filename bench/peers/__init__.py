"""The same world in other hands, to compare with: arrays in PostgreSQL, SQLite, Cedar, Casbin.

What each of them knows is read out of the facts once.  All of them answer one question, whether somebody may
read a table by the rules of Gravitino, and all must answer it as the plain sets here do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

CODES = ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE", "MODIFY_TABLE")
READING = ("SELECT_TABLE", "MODIFY_TABLE")
Question = tuple[int, int]
"""A person and a table, by their numbers."""


@dataclass
class World:
    """The open facts of one realm, as sets; `way` leads from the metalake down to each table and schema."""

    way: dict[int, tuple[int, ...]] = field(default_factory=dict)
    holders: dict[int, set[int]] = field(default_factory=dict)
    roles: dict[int, set[int]] = field(default_factory=dict)
    given: dict[tuple[int, str, bool], set[int]] = field(default_factory=lambda: defaultdict(set))
    owner: dict[int, int] = field(default_factory=dict)
    people: list[int] = field(default_factory=list)

    def may_read(self, person: int, table: int) -> bool:
        metalake, catalog, schema, _ = way = self.way[table]
        roles, holders = self.roles[person], self.holders[person]

        def has(code: str) -> bool:
            allowed = any(
                self.given[key, code, True] & roles for key in way if (key, code, True) in self.given
            )
            denied = any(
                self.given[key, code, False] & roles for key in way if (key, code, False) in self.given
            )
            return allowed and not denied

        def owns(key: int) -> bool:
            return self.owner.get(key) in holders

        if owns(metalake) or owns(catalog):
            return True
        if not has("USE_CATALOG"):
            return False
        return owns(schema) or (has("USE_SCHEMA") and (owns(table) or any(map(has, READING))))

    def readers(self, table: int) -> set[int]:
        return {person for person in self.people if self.may_read(person, table)}


def read_world(realm: int) -> World:
    """All facts of a realm that has no windows."""
    from django.db import connection

    world = World()

    def rows(statement: str) -> Iterator[tuple[int, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(statement, {"realm": realm, "codes": list(CODES)})
            yield from cursor.fetchall()

    for key, above in rows(_WAYS):
        world.way[key] = (*above, key)  # type: ignore[misc]
    world.people = [person for (person,) in rows(_PEOPLE)]
    for person in world.people:
        world.holders[person] = {person}
    for group, member in rows(_MEMBERS):
        if member in world.holders:
            world.holders[member].add(group)
    held: dict[int, set[int]] = defaultdict(set)
    for role, holder in rows(_HELD):
        held[holder].add(role)
    for person, holders in world.holders.items():
        world.roles[person] = set[int]().union(*(held[holder] for holder in holders))
    for key, code, allow, role in rows(_GIVEN):
        world.given[key, str(code), bool(allow)].add(role)
    for key, owner in rows(_OWNERS):
        world.owner[key] = owner
    return world


_WAYS = """
SELECT p.securable_id, p.ancestors FROM catalog_placement p JOIN catalog_securable s ON s.id = p.securable_id
 WHERE p.closed IS NULL AND s.realm_id = %(realm)s AND p.type <> 'role'"""
_PEOPLE = """
SELECT m.principal_id FROM policies_realmmember m JOIN accounts_principal p ON p.id = m.principal_id
 WHERE m.closed IS NULL AND m.realm_id = %(realm)s AND p.kind = 'user' ORDER BY 1"""
_MEMBERS = """
SELECT m.group_id, m.member_id FROM accounts_membership m
  JOIN policies_realmmember r ON r.principal_id = m.group_id AND r.closed IS NULL AND r.realm_id = %(realm)s
 WHERE m.closed IS NULL"""
_HELD = """
SELECT a.role_id, a.holder_id FROM policies_assignment a JOIN catalog_securable s ON s.id = a.role_id
 WHERE a.closed IS NULL AND s.realm_id = %(realm)s"""
_GIVEN = """
SELECT g.securable_id, g.privilege, g.effect = 'allow', g.role_id
  FROM policies_grant g JOIN catalog_securable s ON s.id = g.role_id
 WHERE g.closed IS NULL AND s.realm_id = %(realm)s AND g.privilege = ANY(%(codes)s)"""
_OWNERS = """
SELECT o.securable_id, o.owner_id FROM policies_ownership o JOIN catalog_securable s ON s.id = o.securable_id
 WHERE o.closed IS NULL AND s.realm_id = %(realm)s"""


@dataclass(frozen=True)
class Peer:
    """Somebody else who answers; what it cannot do at all is None."""

    name: str
    one: Callable[[Question], bool]
    many: Callable[[list[Question]], list[bool]] | None = None
    readers: Callable[[int], set[int]] | None = None
    list: Callable[[int, int], set[int]] | None = None
    """The tables of a schema that a person sees: person, schema."""

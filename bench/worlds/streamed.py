"""A realm too large to be held by one program: its sealed rows are streamed into PostgreSQL.

Shaped as the other worlds are: 1,000 tables in a schema, 100 schemas in a catalog, hardly two people alike.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

IN_A_SCHEMA, IN_A_CATALOG = 1_000, 100
"""Tables in a schema, and schemas in a catalog."""
BROAD = 20
"""Roles that read a whole catalog; groups hold these."""


class Scale(NamedTuple):
    tables: int
    people: int
    grants: int

    @property
    def schemas(self) -> int:
        return max(self.tables // IN_A_SCHEMA, 1)

    @property
    def catalogs(self) -> int:
        return max(self.schemas // IN_A_CATALOG, 1)

    @property
    def roles(self) -> int:
        return max(self.people // 10, 2 * BROAD)


def build(scale: Scale) -> Any:
    """Migrate and fill: the root of the realm `demo`."""
    from django.core.management import call_command
    from django.db import connection

    from policies.sync.backends.shared.bounded_connection import patience
    from tests.factories import a_metalake

    call_command("migrate", verbosity=0)
    root = a_metalake()
    with patience(7200), connection.cursor() as cursor:
        cursor.execute("SET maintenance_work_mem = '1GB'")
        with _without_indexes(cursor):
            Stream(cursor, root, scale).write()
        cursor.execute("VACUUM ANALYZE")
    return root


@contextmanager
def _without_indexes(cursor: Any) -> Iterator[None]:
    """They are made anew behind the rows: many times as quick as one row at a time."""
    cursor.execute(
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename IN"
        " ('catalog_placement', 'catalog_securable') AND indexname NOT IN (SELECT conname FROM pg_constraint)"
    )
    indexes = cursor.fetchall()
    for name, _ in indexes:
        cursor.execute(f'DROP INDEX "{name}"')
    yield
    for _, definition in indexes:
        cursor.execute(definition)


class Stream:
    """Writes one realm, object by object."""

    def __init__(self, cursor: Any, root: Any, scale: Scale) -> None:
        self.cursor, self.root, self.scale = cursor, root, scale
        self.pick = random.Random(7)

    def write(self) -> None:
        from accounts.models import Membership, Principal
        from catalog.models import Placement, Securable
        from policies.models import Assignment, Grant, Ownership, RealmMember
        from tests.bulk import past_the_door

        scale, first = self.scale, self._free(Securable)
        ranges, at = {}, first
        many = (("catalog", scale.catalogs), ("schema", scale.schemas), ("table", scale.tables))
        for type, number in (*many, ("role", scale.roles)):
            ranges[type] = range(at, at + number)
            at += number
        people = range(self._free(Principal), self._free(Principal) + scale.people)
        groups = range(people.stop, people.stop + scale.people // 20)
        models = [Placement, RealmMember, Membership, Assignment, Grant, Ownership]
        with past_the_door(models):
            self._copy(Securable, self._securables(ranges))
            self._copy(Placement, self._placements(ranges))
            self._copy(Principal, self._principals(people, groups))
            everyone = (*people, *groups)
            self._copy(
                RealmMember, ({"realm_id": self.root.realm_id, "principal_id": one} for one in everyone)
            )
            self._copy(Membership, self._memberships(people, groups))
            self._copy(Assignment, self._assignments(people, groups, ranges["role"]))
            self._copy(Grant, self._grants(ranges))
            self._copy(Ownership, self._ownerships(ranges, people, groups))

    def _free(self, model: Any) -> int:
        self.cursor.execute(f"SELECT coalesce(max(id), 0) + 1 FROM {model._meta.db_table}")
        return int(self.cursor.fetchone()[0])

    def _copy(self, model: Any, rows: Iterable[Mapping[str, Any]]) -> None:
        """Rows by the names of columns; what they do not say is the model's default; facts are sealed."""
        from accounts.fact_content import content
        from accounts.record import Fact, fact_columns
        from accounts.seals import seal

        table, fields = model._meta.db_table, model._meta.concrete_fields
        columns = [field.attname for field in fields]
        plain = {field.attname: field.get_default() for field in fields} | {"opened": 1, "edition": 0}
        stated = fact_columns(model) if issubclass(model, Fact) else ()
        start = self._free(model)
        with self.cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN") as copy:
            for number, row in enumerate(rows, start):
                values = plain | {"id": number} | dict(row)
                if stated:
                    text = content(model._meta.model_name, values["id"], 1, None, *map(values.get, stated))
                    values["seal"] = seal(text)
                copy.write_row([values[name] for name in columns])
        self.cursor.execute(
            f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), (SELECT max(id) FROM {table}))"
        )

    def _securables(self, ranges: Mapping[str, range]) -> Iterator[Mapping[str, Any]]:
        for type, numbers in ranges.items():
            for number in numbers:
                yield {"id": number, "realm_id": self.root.realm_id, "type": type, "external_id": ""}

    def _placements(self, ranges: Mapping[str, range]) -> Iterator[Mapping[str, Any]]:
        catalogs, schemas = ranges["catalog"], ranges["schema"]
        for type, numbers in ranges.items():
            for at, number in enumerate(numbers):
                way = [self.root.id]
                if type == "schema":
                    way.append(catalogs[at % len(catalogs)])
                elif type == "table":
                    place = at % len(schemas)
                    way += [catalogs[place % len(catalogs)], schemas[place]]
                yield {
                    "securable_id": number,
                    "type": type,
                    "name": f"{type}_{at:08}",
                    "ancestors": way,
                    "parent_id": way[-1],
                    "scope_id": way[-1],
                }

    def _principals(self, people: range, groups: range) -> Iterator[Mapping[str, Any]]:
        from accounts.models import Principal

        for kind, numbers in (("user", people), ("group", groups)):
            for number in numbers:
                name = f"{kind[0]}{number:08}"
                row = Principal(pk=number, kind=kind, name=name, pseudonym=name)
                yield {
                    "id": number,
                    "kind": kind,
                    "name": name,
                    "pseudonym": name,
                    "seal": row.seal_as_it_is(),
                }

    def _memberships(self, people: range, groups: range) -> Iterator[Mapping[str, Any]]:
        for person in people:
            for group in self.pick.sample(groups, 2):
                yield {"group_id": group, "member_id": person}

    def _assignments(self, people: range, groups: range, roles: range) -> Iterator[Mapping[str, Any]]:
        for group in groups:
            yield {"role_id": self.pick.choice(roles[:BROAD]), "holder_id": group}
        for person in people:
            for role in self.pick.sample(roles[BROAD:], 3):
                yield {"role_id": role, "holder_id": person}

    def _grants(self, ranges: Mapping[str, range]) -> Iterator[Mapping[str, Any]]:
        given = {}
        for at, role in enumerate(ranges["role"]):
            given[role, "USE_CATALOG", self.root.id] = "allow"
            given[role, "USE_SCHEMA", self.root.id] = "allow"
            if at < BROAD:
                given[role, "SELECT_TABLE", ranges["catalog"][at % len(ranges["catalog"])]] = "allow"
        while len(given) < self.scale.grants:
            on = self.pick.choice(ranges["table"] if self.pick.random() < 0.8 else ranges["schema"])
            key = (self.pick.choice(ranges["role"]), self.pick.choice(("SELECT_TABLE", "MODIFY_TABLE")), on)
            given[key] = "deny" if self.pick.random() < 0.05 else "allow"
        for (role, privilege, on), effect in given.items():
            yield {"role_id": role, "privilege": privilege, "securable_id": on, "effect": effect}

    def _ownerships(
        self, ranges: Mapping[str, range], people: range, groups: range
    ) -> Iterator[Mapping[str, Any]]:
        """Every schema has a group that owns it, and every tenth table a person."""
        for schema in ranges["schema"]:
            yield {"securable_id": schema, "owner_id": self.pick.choice(groups)}
        for table in ranges["table"][::10]:
            yield {"securable_id": table, "owner_id": self.pick.choice(people)}

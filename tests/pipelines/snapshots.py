"""Snapshots made without a console: lakes of any size, written as the export writes them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from policies.record.exports.tables import TABLES

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
METALAKE = 1


@dataclass(frozen=True)
class Size:
    """How large a lake is."""

    catalogs: int
    schemas: int
    tables: int
    people: int
    roles: int
    grants: int
    roles_each: int = 3


M = Size(catalogs=4, schemas=40, tables=10_000, people=1_000, roles=150, grants=6_000)
L = Size(catalogs=10, schemas=200, tables=100_000, people=10_000, roles=500, grants=60_000)


def lake(size: Size, seed: int = 1) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of each table: people with some roles each, and grants on tables, schemas and catalogs.

    Two in a hundred grants are on catalogs, eighteen on schemas; one in a hundred denies.
    """
    chance = random.Random(seed)
    objects: list[tuple[Any, ...]] = [(METALAKE, None, [], "metalake", "lake", "", None)]
    catalogs = _grow(objects, [objects[0]], "catalog", size.catalogs, 10)
    schemas = _grow(objects, catalogs, "schema", size.schemas, 1_000)
    tables = _grow(objects, schemas, "table", size.tables, 1_000_000)
    people = [(10_000_000 + n, "user", f"p{n}", True, False) for n in range(size.people)]
    roles = [(20_000_000 + n, f"role_{n}", None) for n in range(size.roles)]
    _roles(objects, roles)
    assignments = [
        (role[0], person[0], None, None, AT)
        for person in people
        for role in chance.sample(roles, min(size.roles_each, len(roles)))
    ]
    grants = list(_grants(chance, size.grants, roles, catalogs, schemas, tables))
    way = [
        (30_000_000 + n, role[0], None, METALAKE, None, code, "allow", None, None, AT, "hand")
        for n, role in enumerate(roles)
        for code in ("USE_CATALOG", "USE_SCHEMA")
    ]
    return {
        "realm": [(1, METALAKE, "lake", "gravitino", "gravitino", "{}", "on", 7, AT)],
        "objects": objects,
        "principals": people,
        "memberships": [],
        "members": [(person[0], None, None) for person in people],
        "roles": roles,
        "assignments": assignments,
        "grants": grants + way,
        "ownerships": [],
        "uses": [],
    }


def _grow(
    objects: list[tuple[Any, ...]], above: list[tuple[Any, ...]], type: str, many: int, first: int
) -> list[tuple[Any, ...]]:
    made = [
        (
            first + n,
            over[0],
            [*over[2], over[0]],
            type,
            f"{type}_{n}",
            f"{over[5]}.{type}_{n}".strip("."),
            None,
        )
        for n in range(many)
        for over in (above[n % len(above)],)
    ]
    objects += made
    return made


def _roles(objects: list[tuple[Any, ...]], roles: list[tuple[Any, ...]]) -> None:
    objects += [(key, METALAKE, [METALAKE], "role", name, name, None) for key, name, _ in roles]


def _grants(
    chance: random.Random,
    many: int,
    roles: list[tuple[Any, ...]],
    catalogs: list[tuple[Any, ...]],
    schemas: list[tuple[Any, ...]],
    tables: list[tuple[Any, ...]],
) -> Iterable[tuple[Any, ...]]:
    granted = tables[: max(1, len(tables) * 2 // 5)]
    seen = set()
    for number in range(many):
        drawn = chance.random()
        place = chance.choice(catalogs if drawn < 0.02 else schemas if drawn < 0.2 else granted)
        role, code = chance.choice(roles), chance.choice(("SELECT_TABLE", "SELECT_TABLE", "MODIFY_TABLE"))
        if (role[0], place[0], code) not in seen:
            seen.add((role[0], place[0], code))
            effect = "deny" if chance.random() < 0.01 else "allow"
            yield (40_000_000 + number, role[0], None, place[0], None, code, effect, None, None, AT, "hand")


def write(folder: Path, rows: Mapping[str, list[tuple[Any, ...]]]) -> Path:
    """Write the tables as the export does, without its manifest."""
    for table in TABLES:
        place = folder / table.name
        place.mkdir(parents=True)
        columns = zip(*rows[table.name], strict=True) if rows[table.name] else [[] for _ in table.schema]
        arrays = [pa.array(column, field.type) for column, field in zip(columns, table.schema, strict=True)]
        pq.write_table(pa.Table.from_arrays(arrays, schema=table.schema), place / "part-0.parquet")
    return folder

"""The lake of the demo: some tables of the shop as files that Spark reads, in catalog `lake`.

The console knows where each table's files are, so a guarded job may reach them by name or by path.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import psycopg
import pyarrow as arrow
from pyarrow import parquet

from accounts import people
from catalog.nodes import Node
from catalog.queries import find
from lakewarden.law.objects import ObjectRef
from policies.authority import OPERATOR, of_operator
from policies.services import objects, roles
from policies.services.objects import NewObject
from policies.services.roles import Privilege

CATALOG, SCHEMA, OWNER = "lake", "sales", "olivia"
TABLES: Mapping[str, str] = {
    "orders": (
        "SELECT order_id, customer_id, channel_code, ordered_at, status, total::float8 AS total "
        "FROM sales.orders"
    ),
    "customers": "SELECT customer_id, country::text AS country, registered_on FROM sales.customers",
    "channels": "SELECT channel_code, label FROM sales.channels",
}
READS = {  # by role
    "shop_browse": (
        ("catalog", (CATALOG,), "USE_CATALOG"),
        ("schema", (CATALOG, SCHEMA), "USE_SCHEMA"),
        ("table", (CATALOG, SCHEMA, "channels"), "SELECT_TABLE"),
    ),
}


def folder(var: Path, table: str) -> Path:
    return var.absolute() / CATALOG / SCHEMA / table


def ensure(place: Node, var: Path, shop_url: str) -> None:
    """The files, the objects and what the roles of the demo may do with them; what is there stays."""
    with psycopg.connect(shop_url) as shop:
        for table, query in TABLES.items():
            _export(shop, query, folder(var, table))
    if find(ObjectRef("catalog", place.realm, (CATALOG,))) is None:
        _register(place, var)


def _export(shop: psycopg.Connection, query: str, target: Path) -> None:
    if (target / "part-0.parquet").exists():
        return
    with shop.cursor() as cursor:
        cursor.execute(query.encode())
        names = [column.name for column in cursor.description or ()]
        rows = cursor.fetchall()
    target.mkdir(parents=True, exist_ok=True)
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    being_written = target / ".part-0"
    parquet.write_table(arrow.table(columns), being_written, coerce_timestamps="us")
    being_written.replace(target / "part-0.parquet")


def _register(place: Node, var: Path) -> None:
    by, authority = OPERATOR, of_operator(OPERATOR)
    owner = people.ensure("user", OWNER)
    new = NewObject(
        "catalog",
        CATALOG,
        "Files of the shop, for Spark.",
        properties={"type": "relational", "provider": "lakehouse-generic"},
    )
    [catalog] = objects.register(
        place, [new], by=by, authority=authority, owner=people.ensure("user", "marek")
    )
    [schema] = objects.register(
        catalog, [NewObject("schema", SCHEMA)], by=by, authority=authority, owner=owner
    )
    tables = [
        NewObject("table", table, content={"properties": {"location": folder(var, table).as_uri()}})
        for table in TABLES
    ]
    objects.register(schema, tables, by=by, authority=authority)
    for role, reads in READS.items():
        holder = find(ObjectRef("role", place.realm, (role,)))
        for type_, path, privilege in reads:
            node = find(ObjectRef(type_, place.realm, path))
            if holder is not None and node is not None:
                roles.add_privileges(holder, node, [Privilege(privilege)], by=by, authority=authority)

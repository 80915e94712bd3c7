"""A console whose catalog `shop` is a real PostgreSQL database, small enough to read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg import sql

from catalog.nodes import Node, node
from policies.models import Backend
from policies.sync.connections import registration
from policies.sync.connections.opening import open_backend
from policies.sync.discovery.objects import discover
from tests.backends.conftest import mariadb_server  # noqa: F401 -- a fixture
from tests.factories import AUTHORITY, BY, a_metalake, a_person, a_role, admit, owned, the
from tests.kept import kept

LOGINS = ("olivia", "ana", "mia", "carl", "legacy")
OTHERS = ("keeper", "tomas")
"""Logins that only some tests make: an account of the console's that is no superuser, and who gave rights."""

SCRIPT = """
CREATE SCHEMA sales; CREATE SCHEMA stock;
CREATE TABLE sales.orders (id int PRIMARY KEY, item text);
COMMENT ON TABLE sales.orders IS 'One row an order';
CREATE TABLE sales.customers (id int PRIMARY KEY);
CREATE VIEW sales.top AS SELECT * FROM sales.orders;
CREATE TABLE stock.items (id int PRIMARY KEY);
INSERT INTO sales.orders VALUES (1, 'tea');
GRANT USAGE ON SCHEMA sales TO legacy; GRANT SELECT ON sales.orders TO legacy;
"""


@dataclass
class Source:
    """The database behind the catalog, looked at as anybody."""

    server: Any
    database: str

    def run(self, statement: str, as_: str = "postgres") -> list[tuple]:
        with psycopg.connect(self.url(as_), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def url(self, user: str = "postgres") -> str:
        password = "secret" if user != "postgres" else None
        return self.server.url(user, self.database, password)

    def reads(self, user: str, table: str = "sales.orders") -> bool:
        try:
            self.run(f"SELECT 1 FROM {table} LIMIT 1", as_=user)
        except psycopg.errors.InsufficientPrivilege:
            return False
        return True


@pytest.fixture
def source(postgres_server: Callable[[int], Any], request: pytest.FixtureRequest) -> Iterator[Source]:
    server = postgres_server(16)
    name = "governed"
    with psycopg.connect(server.url(), autocommit=True) as connection:
        _clean(connection)
        for login in LOGINS:
            connection.execute(
                sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'secret'").format(sql.Identifier(login))
            )
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    there = Source(server, name)
    with psycopg.connect(there.url(), autocommit=True) as connection:
        connection.execute(SCRIPT)
    yield there
    with psycopg.connect(server.url(), autocommit=True) as connection:
        _clean(connection)


def _clean(connection: psycopg.Connection) -> None:
    # whatever tests left on the server before: roles that have rights in a database cannot be dropped
    others = "SELECT datname FROM pg_database WHERE NOT datistemplate AND datname <> 'postgres'"
    for (left,) in connection.execute(others).fetchall():
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(left)))
    managed = connection.execute("SELECT rolname FROM pg_roles WHERE rolname LIKE 'lw\\_%'").fetchall()
    for (role,) in [*managed, *((login,) for login in (*LOGINS, *OTHERS))]:
        connection.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(role)))


def make_members() -> Node:
    """Metalake demo and its members, with nothing in it."""
    root = a_metalake()
    for name in ("olivia", "ana", "mia", "carl"):
        a_person(name, "staff")
    a_person("mia", "analysts")
    a_person("carl", "analysts")
    admit(root, "olivia", "ana", "mia", "carl", "group:staff", "group:analysts")
    return root


demo_members = kept(make_members)


def make_governed(source: Source, demo: Node | None = None) -> Backend:
    """Metalake demo with catalog shop connected and discovered; Olivia owns sales, analysts read it."""
    root = demo or make_members()
    row = registration.connect(
        root, "shop", "postgresql", source.url(), policy="repair", by=BY, authority=AUTHORITY
    )
    discover_now(row)
    owned(the("schema", "shop.sales"), "olivia")
    a_role(root, "browse", "allow USE_CATALOG on catalog shop", held_by=("group:staff",))
    a_role(
        root,
        "sales_read",
        "allow USE_SCHEMA on schema shop.sales",
        "allow SELECT_TABLE on schema shop.sales",
        held_by=("group:analysts",),
    )
    a_role(root, "no_contractors", "deny SELECT_TABLE on schema shop.sales", held_by=("carl",))
    return row


def discover_now(row: Backend, **more: Any) -> Any:
    catalog = node(row.catalog_id)
    assert isinstance(catalog, Node)
    out_there = open_backend(row, catalog)
    try:
        return discover(catalog, out_there.observe(), by=BY, authority=AUTHORITY, **more)
    finally:
        out_there.close()


@pytest.fixture
def governed(demo_members: Node, source: Source) -> Backend:
    return make_governed(source, demo_members)

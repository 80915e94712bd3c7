"""A metalake of two catalogs that one Trino reads: a PostgreSQL database and tables in Trino's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection
from pytest_django.live_server_helper import LiveServer

from accounts import people, tokens
from policies.decisions import slices
from policies.services import directory
from policies.services.directory import PersonData
from policies.sync.connections import registration
from tests.factories import (
    AUTHORITY,
    BY,
    a_metalake,
    a_person,
    a_role,
    admit,
    owned,
    the,
    under,
)
from tests.real.trino.server import Gate, Trino
from tests.standins.faults import Proxy
from tests.sync.conftest import discover_now

PASSWORD = "a password of the tests"
SCRIPT = f"""
CREATE SCHEMA sales; CREATE SCHEMA stock;
CREATE TABLE sales.orders (id int PRIMARY KEY, item text);
CREATE TABLE sales.customers (id int PRIMARY KEY);
CREATE TABLE stock.items (id int PRIMARY KEY);
CREATE VIEW sales.top AS SELECT * FROM sales.orders;
INSERT INTO sales.orders VALUES (1, 'tea'), (2, 'oil');
CREATE ROLE trino LOGIN SUPERUSER PASSWORD '{PASSWORD}';
"""
TABLES = (
    "shop.sales.orders",
    "shop.sales.customers",
    "shop.stock.items",
    "lake.raw.events",
    "lake.raw.bills",
)
PEOPLE = ("marek", "olivia", "mia", "carl", "wren", "ana", "tom", "zoe", "nobody")


@dataclass(frozen=True)
class Lake:
    """The metalake, the Trino before it, and what stands between them."""

    trino: Trino
    gate: Gate
    site: str


@pytest.fixture(scope="package")
def source(postgres_server: Callable[[int], Any]) -> Iterator[tuple[str, Proxy]]:
    """The database of catalog shop: as the console reaches it, and on a port for Trino."""
    server = postgres_server(16)
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS read_by_trino")
        connection.execute("DROP ROLE IF EXISTS trino")
        connection.execute("CREATE DATABASE read_by_trino")
    with psycopg.connect(server.url("postgres", "read_by_trino"), autocommit=True) as connection:
        connection.execute(SCRIPT)
    with Proxy(str(server.socket_dir / ".s.PGSQL.5432")) as line:
        yield server.url("postgres", "read_by_trino"), line


@pytest.fixture(scope="package")
def lake(django_db_setup: None, django_db_blocker: Any, source: tuple[str, Proxy]) -> Iterator[Lake]:
    """Everything running; what its people do is removed at the end."""
    url, line = source
    with django_db_blocker.unblock():
        slices.forget_all()
        token = make_world(url)
        server = LiveServer("127.0.0.1")
        gate = Gate(server.url, token)
        shop = {
            "connector.name": "postgresql",
            "connection-url": f"jdbc:postgresql://127.0.0.1:{line.port}/read_by_trino",
            "connection-user": "trino",
            "connection-password": PASSWORD,
        }
        trino = Trino(gate.url, "?realm=demo", {"shop": shop, "lake": {"connector.name": "memory"}})
        for statement in (
            "CREATE SCHEMA lake.raw",
            "CREATE TABLE lake.raw.events (id int)",
            "CREATE TABLE lake.raw.bills (id int)",
            "INSERT INTO lake.raw.events VALUES 1, 2, 3",
        ):
            trino.query("marek", statement)
        yield Lake(trino, gate, server.url)
        trino.stop()
        gate.stop()
        server.stop()
        call_command("flush", interactive=False, verbosity=0)
        slices.forget_all()


def make_world(url: str) -> str:
    """Analysts read shop's sales and lake's events; Carl is denied, Tom has left, Zoe is of another metalake.

    Answers the token of the service that Trino's questions come from.
    """
    root = a_metalake()
    for name in ("olivia", "wren", "ana"):
        a_person(name)
    for name in ("mia", "carl", "tom"):
        a_person(name, "analysts")
    admit(root, "olivia", "mia", "carl", "wren", "ana", "tom", "group:analysts", "service:trino")
    row = registration.connect(root, "shop", "postgresql", url, policy="report", by=BY, authority=AUTHORITY)
    discover_now(row)
    [lake] = under(root, "catalog", "lake")
    [raw] = under(lake, "schema", "raw")
    under(raw, "table", "events", "bills")
    owned(the("schema", "shop.sales"), "olivia")
    both = ("allow USE_CATALOG on catalog shop", "allow USE_CATALOG on catalog lake")
    a_role(
        root,
        "analyst",
        *both,
        "allow USE_SCHEMA on schema shop.sales",
        "allow SELECT_TABLE on schema shop.sales",
        "allow USE_SCHEMA on schema lake.raw",
        "allow SELECT_TABLE on table lake.raw.events",
        held_by=("group:analysts",),
    )
    a_role(root, "no_sales", "deny SELECT_TABLE on schema shop.sales", held_by=("carl",))
    a_role(
        root,
        "writer",
        "allow USE_CATALOG on catalog lake",
        "allow USE_SCHEMA on schema lake.raw",
        "allow MODIFY_TABLE on table lake.raw.events",
        "allow CREATE_TABLE on schema lake.raw",
        held_by=("wren",),
    )
    a_role(root, "visitor", *both, held_by=("olivia", "ana"))
    tom = directory.keep_person(PersonData("tom"), by=BY, authority=AUTHORITY)
    directory.end_person(tom, by=BY, authority=AUTHORITY)
    other = a_metalake("other", owner="zoe")
    [catalog] = under(other, "catalog", "shop")
    [sales] = under(catalog, "schema", "sales")
    under(sales, "table", "orders")
    return tokens.create(people.ensure("service", "trino"), scopes=("check",))


def committed(change: Callable[[], Any]) -> Any:
    """What a change answers, made in a thread of its own: the server's threads see it at once."""

    def run() -> Any:
        try:
            return change()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result()

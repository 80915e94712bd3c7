"""The last steps of Gravitino's own example: one Spark job over a Hive catalog and one of a real MariaDB."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("django", reason="the console is not in this environment")

from django.core.management import call_command
from django.test import override_settings
from gravitino import Catalog
from gravitino.api.rel.column import Column
from gravitino.api.rel.types.types import Types

from accounts import people, tokens
from lakewarden.client import Client
from lakewarden.spark import AccessDenied, guard
from policies.decisions import slices
from tests.api_gravitino.world import ADMIN, OK, Lake, ident
from tests.api_gravitino.world import Site as GravitinoSite
from tests.backends.conftest import mariadb_server
from tests.backends.mariadb_world import MariaSite
from tests.client.site import Site
from tests.conftest import missing
from tests.spark.conftest import MARIADB_DRIVER

__all__ = ["mariadb_server"]  # a fixture
BOTH = """
SELECT h.name, m.total FROM hive_db.hive_table h
JOIN mysql_catalog.mysql_db.mysql_table m ON m.id = h.id ORDER BY h.id
"""


@pytest.fixture
def lake(transactional_db: None) -> Iterator[Lake]:
    """Metalake `test`: Staff may create catalogs, Other is a member and no more."""
    on = override_settings(
        LAKEWARDEN_AUTHENTICATORS=frozenset({"session", "token", "simple"}), LAKEWARDEN_SERVICE_ADMINS={ADMIN}
    )
    with on:
        slices.forget_all()
        server = Site()
        server.start()
        site = GravitinoSite(server.url)
        assert site.send("POST", "/api/metalakes", {"name": "test"}).told == OK
        lake = Lake(site, "test")
        lake.join("staff", "other")
        lake.role("catalog_manager", "allow CREATE_CATALOG metalake test", to=("staff",))
        yield lake
        site.close()
        server.stop()


@pytest.fixture
def mysql(mariadb_server: Any) -> Iterator[MariaSite]:
    """A server without databases, with the account of the catalog and that of the console."""
    site = MariaSite(mariadb_server)
    site.do("CREATE USER connector@localhost IDENTIFIED BY '123'")
    site.do("GRANT ALL ON mysql_db.* TO connector@localhost")
    yield site
    site.do("DROP DATABASE IF EXISTS mysql_db")
    site.do("DROP USER connector@localhost")
    site.close()


@dataclass
class Engine:
    """Spark with both catalogs, guarded for the person whose job it runs."""

    session: Any
    lake: Lake
    spool: Path

    @contextmanager
    def job_of(self, name: str) -> Iterator[Callable[[str], list[tuple[Any, ...]]]]:
        client = Client(self.lake.site.url, tokens.create(people.ensure("user", name)), timeout=60)
        places = {"spark_catalog": "test/hive_catalog", "mysql_catalog": "test/mysql_catalog"}
        with guard(self.session, realm="test", client=client, catalogs=places, spool=self.spool):
            yield lambda statement: [tuple(row) for row in self.session.sql(statement).collect()]


@pytest.fixture
def engine(plain: Any, lake: Lake, mysql: MariaSite, tmp_path: Path) -> Iterator[Engine]:
    if not MARIADB_DRIVER.exists():
        missing("MariaDB's driver for Java", "libmariadb-java")
    session = plain.newSession()
    catalog = "spark.sql.catalog.mysql_catalog"
    session.conf.set(catalog, "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog")
    for name, value in {
        "url": f"jdbc:mysql://127.0.0.1:{mysql.server.port}/",
        "driver": "org.mariadb.jdbc.Driver",
        "user": "connector",
        "password": "123",
    }.items():
        session.conf.set(f"{catalog}.{name}", value)
    yield Engine(session, lake, tmp_path)
    plain.sql("DROP DATABASE IF EXISTS hive_db CASCADE")


def discover() -> None:
    call_command("discover", "test/mysql_catalog", stdout=StringIO())


@pytest.mark.seed("S4-002", "S4-222", "S4-223", "S4-224")
@pytest.mark.timeout(600)
def test_one_job_queries_the_tables_of_both_catalogs(engine: Engine, mysql: MariaSite) -> None:
    staff = engine.lake.client("staff")
    properties = {
        "jdbc-url": f"jdbc:mysql://127.0.0.1:{mysql.server.port}",
        "jdbc-driver": "com.mysql.cj.jdbc.Driver",
        "jdbc-user": "connector",
        "jdbc-password": "123",
    }
    hive = staff.create_catalog("hive_catalog", Catalog.Type.RELATIONAL, "hive", "", {})
    made = staff.create_catalog("mysql_catalog", Catalog.Type.RELATIONAL, "jdbc-mysql", "", properties)
    url = mysql.server.url(mysql.pusher, "secret")
    arguments = ("connect", "test/mysql_catalog", "mariadb", "--url", url, "--registered", "keep")
    call_command(*arguments, stdout=StringIO())

    with engine.job_of("other") as run, pytest.raises(AccessDenied, match="mysql_catalog"):
        run("CREATE NAMESPACE mysql_catalog.mysql_db")
    assert ("mysql_db",) not in mysql.do("SHOW DATABASES")
    with engine.job_of("staff") as run:
        run("CREATE NAMESPACE mysql_catalog.mysql_db")
        assert ("mysql_db",) in mysql.do("SHOW DATABASES")
    discover()
    assert "mysql_db" in made.as_schemas().list_schemas()

    with engine.job_of("staff") as run:
        run("CREATE TABLE mysql_catalog.mysql_db.mysql_table (id INT, total INT)")
        run("INSERT INTO mysql_catalog.mysql_db.mysql_table VALUES (1, 10), (2, 20)")
        run("CREATE DATABASE hive_db")
        run("CREATE TABLE hive_db.hive_table (id INT, name STRING) USING parquet")
        run("INSERT INTO hive_db.hive_table VALUES (1, 'tea'), (2, 'jam')")
    assert mysql.do("SELECT SUM(total) FROM mysql_db.mysql_table") == [(30,)]
    discover()
    table = made.as_table_catalog().load_table(ident("mysql_db", "mysql_table"))
    assert [column.name() for column in table.columns()] == ["id", "total"]
    hive.as_schemas().create_schema("hive_db", "", {})
    hive.as_table_catalog().create_table(
        ident("hive_db", "hive_table"), [Column.of("id", Types.IntegerType.get())]
    )

    with engine.job_of("staff") as run:
        assert run(BOTH) == [("tea", 10), ("jam", 20)]
    with engine.job_of("other") as run, pytest.raises(AccessDenied) as refused:
        run(BOTH)
    assert {str(each.question.resource) for each in refused.value.refusals} == {
        "table test/hive_catalog.hive_db.hive_table",
        "table test/mysql_catalog.mysql_db.mysql_table",
    }


STOLEN = r"\\\') UNION SELECT id, word FROM mysql_db.hidden -- "


@pytest.mark.timeout(600)
def test_a_value_in_a_statement_is_no_sql_of_the_databases_own(engine: Engine, mysql: MariaSite) -> None:
    """MySQL ends a text elsewhere than Spark, which would hand it the rest as a part of the statement."""
    staff = engine.lake.client("staff")
    address = {
        "jdbc-url": f"jdbc:mysql://127.0.0.1:{mysql.server.port}",
        "jdbc-driver": "com.mysql.cj.jdbc.Driver",
    }
    login = {"jdbc-user": "connector", "jdbc-password": "123"}
    staff.create_catalog("mysql_catalog", Catalog.Type.RELATIONAL, "jdbc-mysql", "", {**address, **login})
    for statement in (
        "CREATE DATABASE mysql_db",
        "CREATE TABLE mysql_db.shown (id INT, word VARCHAR(99))",
        "CREATE TABLE mysql_db.hidden (id INT, word VARCHAR(99))",
        "INSERT INTO mysql_db.shown VALUES (1, 'plain')",
        "INSERT INTO mysql_db.hidden VALUES (7, 's3ntinel')",
    ):
        mysql.do(statement)
    call_command(
        "connect",
        "test/mysql_catalog",
        "mariadb",
        "--url",
        mysql.server.url(mysql.pusher, "secret"),
        "--registered",
        "keep",
        stdout=StringIO(),
    )
    discover()
    engine.lake.role(
        "shown",
        "allow USE_CATALOG catalog mysql_catalog",
        "allow USE_SCHEMA schema mysql_catalog.mysql_db",
        "allow SELECT_TABLE table mysql_catalog.mysql_db.shown",
        to=("other",),
    )
    table = "mysql_catalog.mysql_db.shown"
    with engine.job_of("other") as run:
        assert run(f"SELECT * FROM {table} WHERE word = 'plain'") == [(1, "plain")]
        assert run(f"SELECT * FROM {table} WHERE word = '{STOLEN}'") == []
        assert run(f"SELECT max(id) FROM {table} GROUP BY word = '{STOLEN}'") == [(1,)]
        with pytest.raises(AccessDenied, match="hidden"):
            run("SELECT * FROM mysql_catalog.mysql_db.hidden")
        for option in ("pushDownPredicate", "PUSHDOWNAGGREGATE"):
            with pytest.raises(AccessDenied, match=f"(?i){option}"):
                engine.session.read.option(option, "true").table(table)
        run("SET spark.sql.catalog.mysql_catalog.pushDownPredicate = true")
        with pytest.raises(AccessDenied, match="pushDownPredicate"):
            run(f"SELECT * FROM {table} WHERE word = '{STOLEN}'")

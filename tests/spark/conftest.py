"""One Spark for all tests here, with the session it began with and one that is guarded as each test says.

These tests run under PySpark 3.5 too, in an environment without Django, so nothing here needs it.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lakewarden.spark.object_names import Catalogs
from lakewarden.spark.session_guard import Guard
from lakewarden.spark.uses import Uses
from lakewarden.testing import snapshot

logging.getLogger("py4j").setLevel(logging.ERROR)

DERBY = "org.apache.derby.jdbc.EmbeddedDriver"
MARIADB_DRIVER = Path("/usr/share/java/mariadb-java-client.jar")
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
CATALOGS = {"spark_catalog": "demo/lake", "pg": "demo/pg"}
WORLD = (
    "CREATE DATABASE hr",
    "CREATE TABLE hr.emp (id INT, name STRING, dept INT) USING parquet",
    "CREATE TABLE hr.dept (id INT, title STRING) USING parquet",
    "CREATE TABLE hr.part (id INT, d INT) USING parquet PARTITIONED BY (d)",
    "CREATE TABLE hr.hv (id INT, word STRING) STORED AS TEXTFILE",
    "CREATE VIEW hr.v_emp AS SELECT * FROM hr.emp",
    "CREATE VIEW hr.v2 AS SELECT * FROM hr.v_emp",
    "INSERT INTO hr.emp VALUES (1, 'ada', 10), (2, 'bo', 20)",
    "INSERT INTO hr.dept VALUES (10, 'law'), (20, 'tax')",
    "CREATE NAMESPACE pg.sales",
    "CREATE TABLE pg.sales.orders (id INT, total INT)",
    "CREATE TEMPORARY VIEW old_view AS SELECT * FROM hr.emp",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent) and "plain" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)


_places: list[Path] = []
"""One for the process: other folders have this fixture of their own, and Spark keeps its first warehouse."""


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not _places:
        _places.append(tmp_path_factory.mktemp("spark"))
    return _places[0]


@pytest.fixture(scope="session")
def plain(place: Path) -> Iterator[Any]:
    """The session that Spark began with, which no guard looks at, and a small world in it."""
    if shutil.which("java") is None:
        pytest.skip("Java is missing; on Debian: apt-get install default-jre-headless")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["HX_SECRET"] = "s3ntinel of the environment"
    builder = SparkSession.builder.master("local[2]").enableHiveSupport()
    for name, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"{QUICK} -Dderby.system.home={place / 'derby'}",
        "spark.driver.extraClassPath": str(MARIADB_DRIVER),
        "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:derby:memory:hive;create=true",
        "spark.log.level": "OFF",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(place / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.catalog.pg": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
        "spark.sql.catalog.pg.url": "jdbc:derby:memory:pg;create=true",
        "spark.sql.catalog.pg.driver": DERBY,
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    # tests of other folders use this fixture too, in the same process
    for statement in () if spark.catalog.databaseExists("hr") else WORLD:
        spark.sql(statement)
    yield SparkSession(spark.sparkContext, spark._jsparkSession)
    spark.stop()


@contextmanager
def active(session: Any, after: Any) -> Iterator[None]:
    """Within this the thread works in a session, for the JVM and for Python; then in another.

    Spark does not always say so itself; Python's remains whichever session last made a data frame of rows.
    """
    name = session._jsparkSession.getClass().getName()
    companion = getattr(getattr(session._jvm, f"{name}$"), "MODULE$")
    for_python = type(session)
    companion.setActiveSession(session._jsparkSession)
    for_python._activeSession = session
    try:
        yield
    finally:
        companion.setActiveSession(after._jsparkSession)
        for_python._activeSession = after


class Program:
    """A guarded session and what may be done in it."""

    def __init__(self, plain: Any) -> None:
        from pyspark.sql import SparkSession

        self.plain, self.facts = plain, snapshot("")
        self.spark = SparkSession(plain.sparkContext, plain._jsparkSession)
        self.guard = Guard(self.spark, self, Catalogs("demo", CATALOGS), Uses(), console="http://console")

    def current(self) -> Any:
        return self.facts

    def may(self, facts: str, **more: str) -> Any:
        """The session, from now on going by these facts alone."""
        self.facts = snapshot(facts, **more)
        self.guard.watching.uses = Uses()
        return self.spark

    @contextmanager
    def standing_for(self, catalogs: dict[str, str], realm: str) -> Iterator[None]:
        """For a while the catalogs stand for something else."""
        watching = self.guard.watching
        before, watching.catalogs = watching.catalogs, Catalogs(realm, catalogs)
        yield
        watching.catalogs = before

    def used(self, *, executed: bool | None = None) -> set[str]:
        """What was used since the facts were last set, in the words of the console."""
        self.spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(120_000)
        return {
            f"{use['action']} {use['resource'].replace('demo/', '')}"
            for use in self.guard.uses.news()
            if executed is None or use["executed"] is executed
        }


@pytest.fixture(scope="module")
def program(plain: Any) -> Iterator[Program]:
    """One guard for the tests of a file; each says what the facts are."""
    made = Program(plain)
    with made.guard:
        yield made


@pytest.fixture(scope="session")
def since() -> Callable[[str], None]:
    """Skips where Spark is older than a version."""
    import pyspark

    def check(version: str) -> None:
        if tuple(map(int, pyspark.__version__.split(".")[:2])) < tuple(map(int, version.split("."))):
            pytest.skip(f"Spark {version} brought this")

    return check

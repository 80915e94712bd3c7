"""Revenue by day and channel of the demo's web shop, computed by Spark.

The job asks Lakewarden for all its tables in one call, before Spark starts and before a row is read.  When
one is refused it stops and names every lack, who can give it and where to ask.  Each step is told on the
error output, with the seconds since the job began.

    LAKEWARDEN_URL, LAKEWARDEN_TOKEN    the console, and a token that may check
    SHOP_URL                            the shop's database, with the login of the person the job runs as

`python manage.py demo_job --as ana` sets these for the demo and runs it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # a job of your own installs the wheel

from lakewarden.client import AccessDenied, Client, ConsoleError

REALM = "demo"
CATCH_UP = 30.0  # seconds in which the database comes to know what was granted
BEGAN = time.monotonic()
SHORT_JOB = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
"""A job of seconds ends before Java has made up for compiling its code well: half the processor time."""


@dataclass(frozen=True)
class Source:
    """One table of the shop and the columns this job reads from it."""

    name: str
    columns: str

    @property
    def resource(self) -> str:
        return f"table:{REALM}/shop.{self.name}"


ORDERS = Source(
    "sales.orders", "ordered_at timestamp, channel_code string, status string, total decimal(10,2)"
)
CHANNELS = Source("sales.channels", "channel_code string, label string")
SOURCES = (ORDERS, CHANNELS)


def main() -> int:
    person = _person()
    _step(f"asking the console whether {person} may read {' and '.join(source.name for source in SOURCES)}")
    try:
        decisions = Client().require_many([(person, "read", source.resource) for source in SOURCES])
    except AccessDenied as refusal:
        return _stopped(str(refusal), 1)
    except ConsoleError as error:
        return _stopped(f"no decision, so nothing is read: {error}", 2)
    _say(f"{person} may read all {len(decisions)} tables, as of revision {decisions[0].revision}")
    try:
        _step("starting Spark")
        with _spark() as spark, _shop() as shop:
            orders, channels = (_read(spark, shop, source) for source in SOURCES)
            _step("adding up the revenue")
            daily_revenue(orders, channels).show(10, truncate=False)
    except psycopg.errors.InsufficientPrivilege as refusal:
        return _stopped(f"the database itself refuses: {refusal.diag.message_primary}", 3)
    return 0


def daily_revenue(orders: DataFrame, channels: DataFrame) -> DataFrame:
    """What was earned each day through each channel, the newest day first."""
    earned = orders.where(~f.col("status").isin("returned", "cancelled"))
    return (
        earned.join(channels, "channel_code")
        .groupBy(f.to_date("ordered_at").alias("day"), "label")
        .agg(f.sum("total").alias("revenue"), f.count("*").alias("orders"))
        .orderBy(f.col("day").desc(), "label")
    )


def _read(spark: SparkSession, shop: psycopg.Connection, source: Source) -> DataFrame:
    names = ", ".join(column.split()[0] for column in source.columns.split(", "))
    _step(f"reading {source.name} from the shop's database")
    rows = _rows(shop, f"SELECT {names} FROM {source.name}")  # noqa: S608 - both are written above
    return spark.createDataFrame(rows, source.columns)


def _rows(shop: psycopg.Connection, query: str) -> list[tuple[object, ...]]:
    """A right that was granted just now reaches the database within seconds, so a refusal is tried again."""
    deadline = time.monotonic() + CATCH_UP
    while True:
        try:
            with shop.transaction():
                return shop.execute(query.encode()).fetchall()
        except psycopg.errors.InsufficientPrivilege:
            if time.monotonic() > deadline:
                raise
            _step(
                "the database refuses still; what was granted reaches it within seconds, so it is asked again"
            )
            time.sleep(1)


def _shop() -> psycopg.Connection:
    return psycopg.connect(os.environ["SHOP_URL"], autocommit=True)


@contextmanager
def _spark() -> Iterator[SparkSession]:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = (
        SparkSession.builder.appName("daily revenue")
        .master(os.environ.get("SPARK_MASTER", "local[*]"))
        .config("spark.log.level", "ERROR")
        .config("spark.driver.extraJavaOptions", SHORT_JOB)
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    try:
        yield spark
    finally:
        spark.stop()


def _person() -> str:
    parser = argparse.ArgumentParser(description="Revenue by day and channel.")
    parser.add_argument(
        "--as", dest="person", required=True, metavar="NAME", help="whose rights the job uses"
    )
    return f"user:{parser.parse_args().person}"


def _step(text: str) -> None:
    sys.stderr.write(f"[{time.monotonic() - BEGAN:4.1f} s] {text}\n")
    sys.stderr.flush()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _stopped(text: str, code: int) -> int:
    sys.stderr.write(f"{text}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())

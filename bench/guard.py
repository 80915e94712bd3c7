"""What the guard costs: analysing a query of five tables with it and without, and beginning it.

python bench/guard.py
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from lakewarden.testing import guarded

ROUNDS = 40
LIMITS = {"five tables, ms in the guard": 25.0, "beginning, ms": 50.0, "calls for a node": 15.0}
FACTS = "allow USE_CATALOG catalog lake\nallow USE_SCHEMA schema lake.default\n" + "\n".join(
    f"allow SELECT_TABLE table lake.default.t{number}" for number in range(5)
)
QUERY = (
    "SELECT t0.a FROM t0 " + " ".join(f"JOIN t{n} ON t0.a = t{n}.a" for n in range(1, 5)) + " WHERE t0.a > 1"
)


def session(home: str) -> Any:
    from pyspark.sql import SparkSession

    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    builder = SparkSession.builder.master("local[2]").config("spark.sql.warehouse.dir", home)
    for name in ("spark.ui.enabled", "spark.ui.showConsoleProgress"):
        builder = builder.config(name, "false")
    spark = builder.config("spark.log.level", "OFF").getOrCreate()
    for number in range(5):
        spark.sql(f"CREATE TABLE t{number} (a INT, b STRING) USING parquet")
    return spark


def milliseconds(deed: Callable[[], object], rounds: int = ROUNDS) -> float:
    def once() -> float:
        start = time.perf_counter()
        deed()
        return (time.perf_counter() - start) * 1e3

    return median(once() for _ in range(rounds))


def guard(spark: Any) -> Any:
    return guarded(spark, FACTS, catalogs={"spark_catalog": "demo/lake"})


def inside(made: Any, query: Callable[[], object]) -> float:
    """Milliseconds that one plan spends in the guard.

    The time of the whole statement says less: the socket between Python and Java waits 40 ms now and then,
    with the guard and without.
    """
    spent: list[float] = []
    real = made.watching.look

    def timed(*args: Any) -> None:
        start = time.perf_counter()
        real(*args)
        spent.append((time.perf_counter() - start) * 1e3)

    made.watching.look = timed
    milliseconds(query)
    made.watching.look = real
    return median(spent)


def calls(spark: Any, made: Any) -> float:
    """Calls from Python to Java for a node of the plan."""
    plan = spark.sql(QUERY)._jdf.queryExecution().analyzed()
    nodes = len(plan.treeString().strip().splitlines())
    client, count = spark.sparkContext._gateway._gateway_client, 0
    real = client.send_command

    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal count
        count += 1
        return real(*args, **kwargs)

    client.send_command = counted
    made.watching.look(spark._jsparkSession, plan)
    client.send_command = real
    return count / nodes


def main() -> int:
    home = tempfile.mkdtemp()
    spark = session(home)
    try:
        return report(spark)
    finally:
        spark.stop()
        shutil.rmtree(home)


def report(spark: Any) -> int:
    def query() -> object:
        return spark.sql(QUERY)

    bare, watched, begun, within = [], [], [], []
    for _ in range(4):  # by turns, for Java learns and the machine is shared; the best turn of each counts
        bare.append(milliseconds(query))
        with guard(spark) as made:
            watched.append(milliseconds(query))
            within.append(inside(made, query))
            dear = calls(spark, made)
    for _ in range(10):
        made = guard(spark)
        begun.append(milliseconds(made.start, rounds=1))
        made.stop()
    figures = {
        "five tables, ms in the guard": min(within),
        "beginning, ms": median(begun),
        "calls for a node": dear,
    }
    print(f"five tables: {min(bare):.1f} ms unguarded, {min(watched):.1f} ms guarded")
    for name, value in figures.items():
        print(f"{name}: {value:.1f} (at most {LIMITS[name]:.0f})")
    return int(any(value > LIMITS[name] for name, value in figures.items()))


if __name__ == "__main__":
    sys.exit(main())

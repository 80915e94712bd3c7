"""Revenue by country and channel of the demo's lake, computed by Spark under a guard.

Nothing in this job asks for anything: the guard sees every plan before it runs, and refuses it with all that
is lacking at once.

    LAKEWARDEN_URL, LAKEWARDEN_TOKEN    the console, and the token of its user
    LAKE                                the folder of the lake's tables

`python manage.py demo_job --guarded --as ana` sets these for the demo and runs it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # a job of your own installs the wheel

from lakewarden.client import ConsoleError
from lakewarden.spark import AccessDenied, guard

TABLES = {
    "orders": (
        "order_id BIGINT, customer_id BIGINT, channel_code STRING, "
        "ordered_at TIMESTAMP, status STRING, total DOUBLE"
    ),
    "customers": "customer_id BIGINT, country STRING, registered_on DATE",
    "channels": "channel_code STRING, label STRING",
}
REVENUE = """
    SELECT country, label, round(sum(total), 2) AS revenue, count(*) AS orders
      FROM sales.orders JOIN sales.customers USING (customer_id) JOIN sales.channels USING (channel_code)
     WHERE status NOT IN ('returned', 'cancelled')
     GROUP BY country, label ORDER BY revenue DESC, country, label
"""


def main() -> int:
    spark = _spark()
    _tables(spark)
    try:
        with guard(spark, realm="demo"):
            spark.sql(REVENUE).show(10, truncate=False)
    except AccessDenied as refusal:
        return _stopped(str(refusal), 1)
    except ConsoleError as error:
        return _stopped(f"no decision, so nothing is read: {error}", 2)
    finally:
        spark.stop()
    return 0


def _tables(spark: SparkSession) -> None:
    """What a metastore would know: each table's columns and folder."""
    spark.sql("CREATE DATABASE sales")
    for table, columns in TABLES.items():
        place = Path(os.environ["LAKE"]).absolute() / "sales" / table
        spark.sql(f"CREATE TABLE sales.{table} ({columns}) USING parquet LOCATION '{place.as_uri()}'")


def _spark() -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    return (
        SparkSession.builder.appName("guarded revenue")
        .master(os.environ.get("SPARK_MASTER", "local[*]"))
        .config("spark.lakewarden.catalog.spark_catalog", "demo/lake")
        .config("spark.log.level", "OFF")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )


def _stopped(text: str, code: int) -> int:
    sys.stderr.write(f"{text}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())

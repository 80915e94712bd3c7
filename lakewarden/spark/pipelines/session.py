"""A Spark for a pipeline: on the master that is asked for, with this package on every executor."""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[2]


def session(master: str, name: str) -> Any:
    """A session on that master, or on that of spark-submit.  Raises what Spark raises when there is none."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(f"lakewarden {name}")
    submitted = bool(os.environ.get("PYSPARK_GATEWAY_PORT"))  # then spark-submit has said which
    if not submitted:
        builder = builder.master(master)
    settings = {
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.adaptive.enabled": "false",
        # parts of a range are about as long: the longest of them is what everybody waits for
        "spark.sql.execution.rangeExchange.sampleSizePerPartition": "1000",
    }
    if master.startswith("local") and not submitted:
        settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
        settings |= {"spark.ui.enabled": "false"}
    for option, value in settings.items():
        builder = builder.config(option, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    # what is shuffled is small: a task for each core, not two hundred
    spark.conf.set("spark.sql.shuffle.partitions", str(spark.sparkContext.defaultParallelism))
    where = str(spark.sparkContext.master)
    if not (where == "local" or where.startswith("local[")):
        spark.sparkContext.addPyFile(packed())
    return spark


def packed() -> str:
    """This package as a zip that executors import from; when it already is one, that one."""
    for parent in PACKAGE.parents:
        if parent.suffix == ".zip" and parent.is_file():
            return str(parent)
    target = Path(tempfile.mkdtemp(prefix="lakewarden-")) / "lakewarden.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(PACKAGE.rglob("*.py")):
            archive.write(path, path.relative_to(PACKAGE.parent))
    return str(target)

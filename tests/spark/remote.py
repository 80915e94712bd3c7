"""A client of the Connect server: says each line of its input there, and tells in JSON what came of it.

A program of its own, for a process speaks to Spark either over the wire or through py4j.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession, functions

from tests.spark.attempts import ran, state, stays


def main(address: str) -> None:
    spark = SparkSession.builder.remote(address).getOrCreate()
    for line in sys.stdin:
        verb, text = json.loads(line)
        output = state(spark.sql, Path(text)) if verb == "state" else _said(spark, text)
        if stays(text):
            spark.stop()
            spark = SparkSession.builder.remote(address).getOrCreate()
        sys.stdout.write(json.dumps(output) + "\n")
        sys.stdout.flush()


def _said(spark: Any, text: str) -> list[str]:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        shown, error = ran(spark, text, functions)
    return [shown + printed.getvalue(), f"{type(error).__name__} {error}" if error else ""]


if __name__ == "__main__":
    main(sys.argv[1])

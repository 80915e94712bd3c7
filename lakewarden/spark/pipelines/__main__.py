"""`python -m lakewarden.spark.pipelines NAME --input FOLDER --output FOLDER [--master URL]`

Runs one pipeline on Spark.  Progress is told as JSON lines on standard output; the process ends when its
standard input does, so that its parent process takes it along, unless `--alone` is given.
"""

from __future__ import annotations

import importlib
import os
import shutil
import socket
import sys
import traceback
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from pathlib import Path
from typing import Any

from lakewarden.spark.pipelines.messages import Telling, end_with_parent
from lakewarden.spark.pipelines.session import session

NAMES = ("archive", "drift", "effective_access", "unused_grants")
LONGEST = 1000  # characters
CONNECT = 10.0  # seconds for a master to take a connection


def main(words: list[str]) -> int:
    """0, or 1 and a line that tells the trouble."""
    name = words[0] if words else ""
    if name not in NAMES:
        sys.stderr.write(f"the pipelines are {', '.join(NAMES)}, not `{name}`\n")
        return 2
    program = importlib.import_module(f"lakewarden.spark.pipelines.{name}")
    given = _given(name, program, words[1:])
    telling = Telling()
    if problem := _unready(given.master):
        telling.say(trouble=problem)
        return 1
    if not given.alone:
        end_with_parent()
    try:
        with telling.step("starting Spark", 50):
            spark = session(given.master, name)
        telling.spark = spark
        program.run(spark, given, telling)
        spark.stop()
    except Exception as error:  # noqa: BLE001 - the end of this process: its starter reads a line, the log has all
        telling.say(trouble=words_of(error))
        with suppress(OSError):  # the log may lie on the disk that is full
            traceback.print_exc()
        return 1
    return 0


def _given(name: str, program: Any, words: list[str]) -> Namespace:
    parser = ArgumentParser(prog=f"lakewarden.spark.pipelines {name}", description=program.__doc__)
    parser.add_argument("--input", required=True, help="the folder of the snapshot")
    parser.add_argument("--output", required=True, help="where to write")
    parser.add_argument("--master", default=os.environ.get("SPARK_MASTER", "local[*]"))
    parser.add_argument("--alone", action="store_true", help="go on when standard input ends")
    program.arguments(parser)
    return parser.parse_args(words)


def _unready(master: str) -> str:
    """Why Spark cannot start, where that can be told before it tries; else empty.

    Spark's own errors for these speak of gateways and stopped contexts, after more than a minute.
    """
    java = os.environ.get("JAVA_HOME")
    if not (shutil.which("java") or (java and os.access(Path(java, "bin", "java"), os.X_OK))):
        return "there is no Java: install a JRE 17 or newer, or set JAVA_HOME"
    if not master.startswith("spark://"):
        return ""
    problems = [_unreachable(address) for address in master.removeprefix("spark://").split(",")]
    return "" if "" in problems else f"no Spark master answers: {'; '.join(problems)}"


def _unreachable(address: str) -> str:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT).close()
    except (OSError, ValueError) as error:
        return f"{address}: {error}"
    return ""


def words_of(error: BaseException) -> str:
    """The trouble in a line; of Java's errors the first line that says something."""
    text = " ".join(str(error).split("\n\tat ")[0].split())
    if "No space left on device" in str(error):
        text = f"the disk is full: {text}"
    return f"{type(error).__name__}: {text}"[:LONGEST]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""A Spark cluster on this machine, from the PySpark that pip installed: a master and some workers.

python scripts/cluster.py [--port 7077] [--workers 2] [--cores 1] [--memory 1g] [--folder FOLDER] [--confined]

Prints the master's address once the workers have joined, and stops everything at Ctrl-C.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

HOST = "127.0.0.1"
UP, DOWN = 120.0, 15.0  # seconds to come up and to go down
MASTER, WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
LEADS, JOINED = "I have been elected leader", "Successfully registered with master"


class NotUp(Exception):
    """The cluster did not come up; the message says what its log says."""


def main(words: Sequence[str]) -> int:
    given = _given(words)
    for number in (
        signal.SIGINT,
        signal.SIGTERM,
    ):  # a shell starts what is in the background without the first
        signal.signal(number, signal.default_int_handler)
    try:
        with tempfile.TemporaryDirectory(prefix="lakewarden-spark-") as kept:
            folder = given.folder or Path(kept)
            with cluster(folder, given) as address:
                print(f"SPARK_MASTER={address}", flush=True)
                signal.pause()
    except KeyboardInterrupt:
        return 0
    except NotUp as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _given(words: Sequence[str]) -> Namespace:
    parser = ArgumentParser(description="A Spark cluster on this machine.")
    parser.add_argument("--port", type=int, default=7077)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cores", type=int, default=1, help="of each worker")
    parser.add_argument("--memory", default="1g", help="of each worker")
    parser.add_argument("--folder", type=Path, help="for logs and what executors write")
    help_text = (
        "keep each worker, and all that it starts, on one processor of its own: its Java, Python and all"
    )
    parser.add_argument("--confined", action="store_true", help=help_text)
    return parser.parse_args(words)


@contextmanager
def cluster(folder: Path, given: Namespace) -> Iterator[str]:
    """The address of a master whose workers have joined; all of it ends with the block.  Raises NotUp."""
    address, started = f"spark://{HOST}:{given.port}", []
    folder.mkdir(parents=True, exist_ok=True)
    try:
        started.append(_start(folder, "master", MASTER, "--port", str(given.port), "--webui-port", "0"))
        _wait(folder / "master.log", LEADS, started[0])
        for number in range(given.workers):
            size = ("--cores", str(given.cores), "--memory", given.memory, "--webui-port", "0")
            work = ("--work-dir", str(folder / f"worker-{number}"))
            with _on_processor(number if given.confined else None):
                started.append(_start(folder, f"worker-{number}", WORKER, *size, *work, address))
        for number, process in enumerate(started[1:]):
            _wait(folder / f"worker-{number}.log", JOINED, process)
        yield address
    finally:
        for process in reversed(started):
            _stop(process)


@contextmanager
def _on_processor(number: int | None) -> Iterator[None]:
    """What is started meanwhile stays on one of this process's processors; None: on any."""
    if number is None:
        yield
        return
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(every)[number % len(every)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, every)


def _start(folder: Path, name: str, kind: str, *words: str) -> subprocess.Popen[bytes]:
    import pyspark

    home = Path(pyspark.__file__).parent
    # a port that is taken must be told: Spark would silently take the next one
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": HOST, "SPARK_NO_DAEMONIZE": "1"}
    environment["SPARK_MASTER_OPTS"] = "-Dspark.port.maxRetries=0 -Dspark.master.rest.enabled=false"
    environment.setdefault("PYSPARK_PYTHON", sys.executable)
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            [str(home / "bin" / "spark-class"), kind, "--host", HOST, *words],
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _wait(log: Path, words: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + UP
    while words not in (output := log.read_text(errors="replace")):
        if process.poll() is not None or time.monotonic() > end:
            raise NotUp(f"it did not come up; the end of its log:\n{output[-1000:]}")
        time.sleep(0.2)


def _stop(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(DOWN)
            return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

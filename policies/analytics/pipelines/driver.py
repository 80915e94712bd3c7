"""The process that is the Spark driver of a run: started, listened to, and ended with us.

It writes one JSON object a line: `{"done": 3, "total": 40, "step": "…"}`, and `{"trouble": "…"}` before it
ends with an exit code.  It ends by itself when our end of its standard input closes, so that a killed worker
leaves none behind.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from django.conf import settings

from policies.analytics.pipelines import folders
from policies.analytics.pipelines.definition import Pipeline, RunContext

PACKAGES = Path(__file__).resolve().parents[3]
INHERITED = (
    *(
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "LANG",
        "LC_",
        "TZ",
        "TMPDIR",
        "LD_LIBRARY_PATH",
        "KRB5",
        "SSL_CERT",
    ),
    *("JAVA_", "JDK_", "SPARK_", "PYSPARK_", "HADOOP_", "YARN_", "KUBECONFIG", "KUBERNETES_"),
)
"""How the variables begin that Spark gets of ours; those with the console's keys and addresses are none."""
STOP_WAIT = 10.0  # seconds until a driver that does not stop is killed
LAST_WORDS = 600  # characters of the log that are told of a driver that said nothing


class Trouble(Exception):
    """The driver did not bring its work to an end; the message says why."""


def drive(pipeline: Pipeline, work: RunContext) -> None:
    """Run the pipeline's program on its Spark until it ends.  Raises Trouble, OSError."""
    log = folders.log_of(work.run)
    trouble = ""
    with log.open("wb") as words, _driver(_command(pipeline, work), words) as process:
        for line in _lines(process.stdout):
            trouble = str(line.get("trouble", trouble))
            if "step" in line:
                work.tell(int(line["done"]), int(line["total"]), str(line["step"]))
        code = process.wait()
    if code:
        raise Trouble(trouble or _ending(code, log))


def _command(pipeline: Pipeline, work: RunContext) -> list[str]:
    options = {
        "input": work.input,
        "output": work.output,
        "master": work.run.master,
        **pipeline.options(work),
    }
    given = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    return [sys.executable, "-m", "lakewarden.spark.pipelines", pipeline.program, *given]


@contextmanager
def _driver(command: list[str], log: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    kept = {name: value for name, value in os.environ.items() if name.startswith(INHERITED)}
    environment = kept | {"PYTHONPATH": str(PACKAGES), "PYSPARK_PYTHON": sys.executable}
    process = subprocess.Popen(
        command,
        cwd=settings.ENVIRONMENT.var,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        # nothing of it is left behind: it is asked, then it and the Java under it are killed
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        try:
            process.wait(STOP_WAIT)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _lines(pipe: IO[bytes] | None) -> Iterator[dict[str, Any]]:
    for line in pipe or ():
        with suppress(ValueError):  # Java too may write there
            event = json.loads(line)
            if isinstance(event, dict):
                yield event


def _ending(code: int, log: Path) -> str:
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    last = log.read_text(errors="replace")[-LAST_WORDS:].strip()
    return f"the Spark driver {how}" + (f"; its last words: {last}" if last else "")

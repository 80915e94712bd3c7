"""The project's Connect server as a process, before a console that knows the facts of each user."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.client.conftest import TOKEN, answer
from tests.spark.test_guard import Console
from tests.spark.wire import wire
from tests.waiting import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.log.level": "OFF",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


class Everybody(Console):
    """Knows the people whose facts it has and the server's own account; all others are unknown."""

    def __init__(self, facts: Mapping[str, str]) -> None:
        super().__init__()
        self.facts = {f"user:{name}": text for name, text in facts.items()}

        def snapshot(handler: Any) -> None:
            asked = handler.path.partition("for=")[2].partition("&")[0].replace("%3A", ":")
            who = asked or "service:spark"
            if who in self.facts or not asked:
                facts = answer(wire(self.facts.get(who, ""), issued=time.time() - 1, principal=who))
            else:
                facts = answer({"title": "not yours to ask"}, 403)
            facts(handler)

        self.snapshot = snapshot


@contextmanager
def connect_server(
    console: Console, home: Path, settings: Mapping[str, str], catalogs: Mapping[str, str], port: int
) -> Iterator[str]:
    """The server's address, until it is told to end and does."""
    command = [sys.executable, "-m", "lakewarden", "connect-server", "--realm", "demo", "--port", str(port)]
    for name, value in {**SETTINGS, **settings}.items():
        command += ["--conf", f"{name}={value}"]
    for name, value in catalogs.items():
        command += ["--catalog", f"{name}={value}"]
    environment = {
        **os.environ,
        "LAKEWARDEN_URL": console.url,
        "LAKEWARDEN_TOKEN": TOKEN,
        "DATABASE_PASSWORD": "another-s3cret",
        "HTTPS_PROXY": "http://somebody:s3cret@127.0.0.1:9",
        "LAKEWARDEN_SPOOL": str(home / "spool"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": str(ROOT),
    }
    with (home / "log").open("w+") as log:
        running = subprocess.Popen(
            command, env=environment, cwd=home, stdout=subprocess.PIPE, stderr=log, text=True
        )
        assert running.stdout is not None
        first = running.stdout.readline()
        assert first.startswith(f"serving sc://127.0.0.1:{port}, guarded by {console.url}"), (
            home / "log"
        ).read_text()
        try:
            yield f"sc://127.0.0.1:{port}"
        finally:
            running.terminate()
            ended = running.wait(PATIENCE)
            running.stdout.close()
        assert ended == 0

"""A stand-in as a process of its own."""

from __future__ import annotations

import http.client
import subprocess
import sys
from pathlib import Path

from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]


class Process:
    """A server module of `tests.standins`, on a free port, which it prints first."""

    def __init__(self, module: str, *args: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"tests.standins.{module}", *args],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        self._line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def stop(self) -> None:
        self._line.close()
        self._process.terminate()
        self._process.wait(PATIENCE)
        if self._process.stdout is not None:
            self._process.stdout.close()

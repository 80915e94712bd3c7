"""Starting the stand-in, and calling it as somebody."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

ROOT = Path(__file__).parents[3]


class Process:
    """The stand-in as a process of its own, on a free port."""

    def __init__(self, *args: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.standins.webhdfs.server", *args],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        self._line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def stop(self) -> None:
        self._line.close()
        self._process.terminate()
        self._process.wait(10)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def set(self, **settings: Any) -> None:
        """What no call of WebHDFS could do: `forget`, `acls`, `safe`, `standby`, `page`, `groups`."""
        self._line.request("POST", "/", json.dumps(settings))
        self._line.getresponse().read()

    def ask(self, method: str, path: str, op: str, *, user: str = "hdfs", **more: str) -> tuple[int, Any]:
        query = urlencode(
            {"op": op, "user.name": user, **{name.replace("__", "."): one for name, one in more.items()}}
        )
        self._line.request(method, f"/webhdfs/v1{quote(path)}?{query}")
        answer = self._line.getresponse()
        content = answer.read()
        return answer.status, json.loads(content) if content else None

    def call(self, method: str, path: str, op: str, **more: str) -> Any:
        """The answer; fails the test when it is refused."""
        status, value = self.ask(method, path, op, **more)
        assert status == 200, value
        return value

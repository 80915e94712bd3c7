"""Starting the stand-in, and calling it as somebody."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, urlencode

from tests.standins import process


class Process(process.Process):
    """The stand-in, with what is done to it."""

    def __init__(self, *args: str) -> None:
        super().__init__("webhdfs.server", *args)

    def set(self, **settings: Any) -> None:
        """What no call of WebHDFS could do: `forget`, `acls`, `safe`, `standby`, `page`, `groups`."""
        self._line.request("POST", "/", json.dumps(settings))
        self._line.getresponse().read()

    def ask(self, method: str, path: str, op: str, *, user: str = "hdfs", **more: str) -> tuple[int, Any]:
        query = urlencode(
            {"op": op, "user.name": user, **{name.replace("__", "."): value for name, value in more.items()}}
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

"""CDAP's own Java clients in a process of their own, one release at a time."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.real.servers import Server, classpath, java

SOURCE = Path(__file__).parent / "Call.java"
JsonObject = dict[str, Any]


class Raised(Exception):
    """A client threw; `name` is the class of its exception."""

    def __init__(self, name: str, message: str | None) -> None:
        super().__init__(f"{name}: {message}")
        self.name, self.message = name, message or ""


class JavaClient(Server):
    """The clients of one release: 3.4, 3.5 or 4.3."""

    def __init__(self, release: str) -> None:
        compiler = shutil.which("javac") or pytest.skip(
            "javac is missing; on Debian: apt-get install default-jdk"
        )
        path = classpath(f"cdap-{release}")
        super().__init__("cdap")
        self.release = release
        self.called: set[tuple[str, str]] = set()
        self.calls = 0
        self.once([str(compiler), "-nowarn", "-d", str(self.home), "-cp", path, str(SOURCE)])
        self._process = self.run(java("Call", path=f"{self.home}:{path}", heap=96, classes=96), talks=True)
        self._answer()

    def methods(self, client: str) -> list[str]:
        """What a client can be asked."""
        return list(self._ask({"client": client})["value"])

    def call(self, site: JsonObject, client: str, method: str, *arguments: Any) -> Any:
        """What the method returns, as JSON.  Raises Raised."""
        self.called.add((client, method))
        self.calls += 1
        answer = self._ask({**site, "client": client, "method": method, "arguments": arguments})
        if "unfit" in answer:
            raise TypeError(answer["unfit"])
        if "raises" in answer:
            raise Raised(answer["raises"], answer["message"])
        return answer["value"]

    def _ask(self, asked: JsonObject) -> JsonObject:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> JsonObject:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().decode()
        assert line, self.log.read_text(errors="replace")[-3000:]
        return dict(json.loads(line))


@dataclass(frozen=True)
class Person:
    """Somebody at one of the clients, who comes with their token, or with a name and a password."""

    java: JavaClient
    site: JsonObject

    def __call__(self, client: str, method: str, *arguments: Any) -> Any:
        return self.java.call(self.site, f"{client}Client", method, *arguments)

    def fails(self, client: str, method: str, *arguments: Any) -> str:
        """The class of the exception that the client throws."""
        try:
            value = self(client, method, *arguments)
        except Raised as raised:
            return raised.name
        raise AssertionError(f"{client}.{method} answered {value!r}")


def entity(text: str) -> JsonObject:
    """`dataset:ns1.orders` as CDAP's own id."""
    return {"id": text}


def principal(text: str) -> JsonObject:
    """`user:ana`, `group:analysts`, `role:readers`."""
    return {"principal": text}


def role(name: str) -> JsonObject:
    return {"role": name}


def pattern(text: str) -> JsonObject:
    """`dataset:ns1.*`, which 4.3 may grant on."""
    return {"authorizable": text}

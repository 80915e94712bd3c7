"""Ranger's own policy engine in a process of its own, and a plugin that asks it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Self

import pytest

from tests.real.servers import Server, classpath, java
from tests.standins.ranger import process

SOURCE = Path(__file__).parent / "Evaluate.java"


class Engine(Server):
    """Answers who may, given all policies and roles of a service."""

    def __init__(self) -> None:
        compiler = shutil.which("javac") or pytest.skip(
            "javac is missing; on Debian: apt-get install default-jdk"
        )
        path = classpath("ranger")
        super().__init__("ranger")
        self.asked = 0
        self._known: dict[str, Any] = {}
        self.once([str(compiler), "-nowarn", "-d", str(self.home), "-cp", path, str(SOURCE)])
        self._process = self.run(java("Evaluate", path=f"{self.home}:{path}", heap=384), talks=True)
        assert self._line() == "ready"

    def allows(self, known: dict[str, Any], question: dict[str, Any]) -> bool:
        """What the engine answers; `known` are the service's type, name, policies and roles."""
        sent = {"questions": [question]} | ({} if known == self._known else known)
        self._known = known
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(sent).encode() + b"\n")
        self._process.stdin.flush()
        self.asked += 1
        [answer] = json.loads(self._line())
        return bool(answer)

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().decode()
        assert line, self.log.read_text()[-3000:]
        return line.strip()


class Plugin(process.Plugin):
    """Loads from the stand-in of Ranger Admin; the engine decides, and the stand-in has to agree."""

    engine: Engine

    def load(self) -> Self:
        super().load()
        self._known = {
            "type": self._loaded.type,
            "service": self._service,
            "policies": [dict(policy) for policy in self._loaded.policies],
            "roles": self._roles,
        }
        return self

    def allows(self, user: str, access: str, resource: dict[str, str], *groups: str) -> bool:
        question = {"user": user, "access": access, "resource": resource, "groups": groups}
        answer = self.engine.allows(self._known, question)
        assert answer == super().allows(user, access, resource, *groups), f"the stand-in differs: {question}"
        return answer

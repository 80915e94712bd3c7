"""The advice that guards Herd's services in a process of its own, with every rule that they declare."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.herd.tables import METHODS
from tests.real.servers import Server, classpath, java

SOURCE = Path(__file__).parent / "Ask.java"
CLASSES = "LAKEWARDEN_HERD_CLASSES"


class Herd(Server):
    """Answers whether users may call methods, given namespaces, entries and administrators."""

    def __init__(self) -> None:
        if CLASSES not in os.environ:
            pytest.skip(f"{CLASSES} names no compiled classes of a Herd")
        compiler = shutil.which("javac") or pytest.skip(
            "javac is missing; on Debian: apt-get install default-jdk"
        )
        path = os.pathsep.join([os.environ[CLASSES], classpath("herd")])
        super().__init__("herd")
        rules = self.home / "Methods.java"
        rules.write_text(_declared())
        command = [str(compiler), "-nowarn", "-d", str(self.home), "-cp", path, str(rules), str(SOURCE)]
        self.once(command)
        self._process = self.run(java("Ask", path=f"{self.home}:{path}", heap=128), talks=True)
        assert self._line() == "ready"

    def allows(self, world: dict[str, Any]) -> list[bool]:
        """What it answers to the `questions` of a world."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(world).encode() + b"\n")
        self._process.stdin.flush()
        answers: list[bool] = json.loads(self._line())
        return answers

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().decode()
        assert line, self.log.read_text()[-3000:]
        return line.strip()


def name_of(method: str) -> str:
    return method.replace(".", "_")


def _declared() -> str:
    """A class whose methods have the rules of Herd's; each rule looks at a parameter of its own."""
    lines = ["import org.finra.herd.model.annotation.*;", "import org.finra.herd.model.api.xml.*;"]
    lines += ["public class Methods {"]
    for method, rules in METHODS.items():
        written = [
            f'@NamespacePermission(fields = "#p{at}", permissions = {{{_listed(codes)}}})'
            for at, (_, codes) in enumerate(rules)
        ]
        several = f"@NamespacePermissions({{{', '.join(written)}}})" if len(written) > 1 else written[0]
        taken = ", ".join(f"Object p{at}" for at in range(len(rules)))
        lines.append(f"  {several} public void {name_of(method)}({taken}) {{}}")
    return "\n".join([*lines, "}", ""])


def _listed(codes: list[str]) -> str:
    return ", ".join(f"NamespacePermissionEnum.{code}" for code in codes)

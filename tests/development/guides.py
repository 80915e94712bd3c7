"""The guides of docs/development as a newcomer follows them: code blocks, written into a copy of the tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^`([\w./-]+)`\n\n```(\w+)\n(.*?)^```$", re.M | re.S)
"""A path on a line of its own, and the block below it: a whole new file, or a diff without line numbers."""


@dataclass(frozen=True)
class Step:
    """One block of a guide."""

    path: str
    language: str
    text: str

    def follow(self, tree: Path) -> None:
        """Write the file, or change it at the one place that the diff shows.  Raises ValueError."""
        target = tree / self.path
        if self.language != "diff":
            if target.exists():
                raise ValueError(f"{self.path} is there already")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(self.text)
            return
        lines = [line if line.strip() else " \n" for line in self.text.splitlines(keepends=True)]
        before = "".join(line[1:] for line in lines if not line.startswith("+"))
        after = "".join(line[1:] for line in lines if not line.startswith("-"))
        source = target.read_text()
        if source.count(before) != 1:
            raise ValueError(f"{self.path} has {source.count(before)} places that look like\n{before}")
        target.write_text(source.replace(before, after))


def steps(guide: str) -> list[Step]:
    """What a guide has its reader write, in its order."""
    text = (ROOT / "docs" / "development" / guide).read_text()
    return [Step(*block) for block in BLOCK.findall(text)]


def files() -> Iterator[str]:
    """What belongs to the project: kept by git, or not yet added."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    yield from (name for name in listed.split("\0") if name and (ROOT / name).is_file())


def copied(tree: Path) -> Path:
    """A copy of the project, without what is made from it but what Python compiled."""
    for name in files():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tree / name)  # with its time, by which Python knows what it compiled of it
    for folder in {Path(name).parent / "__pycache__" for name in files() if name.endswith(".py")}:
        (tree / folder).mkdir()
        for compiled in (ROOT / folder).glob("*.pyc"):
            shutil.copyfile(compiled, tree / folder / compiled.name)
    return tree


def followed(guide: str, tree: Path) -> set[str]:
    """Follow a guide in this copy of the tree; the files that it touched."""
    for step in steps(guide):
        step.follow(tree)
    return {step.path for step in steps(guide)}


@dataclass(frozen=True)
class TestRun:
    """What pytest said of each test."""

    __test__ = False
    output: str

    def of(self, *files: str) -> Counter[str]:
        """How many of these files' tests, or of what is called so in them, passed, failed, …"""
        lines = re.findall(r"^(tests/\S+::.*) (PASSED|FAILED|ERROR|SKIPPED)", self.output, re.M)
        return Counter(outcome for test, outcome in lines if test.startswith(files))


def run_tests(tree: Path, *tests: str) -> TestRun:
    """pytest in the copy, with servers of its own."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LAKEWARDEN_", "PYTEST_")) or name == "PYTEST_DEBUG_TEMPROOT"
    }
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    return TestRun(done.stdout)

"""docs/real.md: which server, how it was started, what was compared, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.real import results


@dataclass(frozen=True)
class About:
    """What the page says of a server besides its figures."""

    name: str
    source: str
    started: str
    compared: str


SERVERS = {
    "hdfs": About(
        "Apache Hadoop 3.4.2, HDFS",
        "Maven Central, `hadoop-hdfs` and what it depends on",
        "a NameNode (384 MB) and a DataNode (256 MB) on loopback, access lists on, batches of four names",
        "the contract suite of the backend `webhdfs` with fifty workers killed at any write; files opened, "
        "appended to and refused as other people through the DataNode; lists as they were when all is taken",
    ),
}

ABSENT: tuple[tuple[str, str], ...] = ()

INTRODUCTION = (
    "Written by `make real`, which fetches each server by pinned versions and checksums, starts it on "
    "loopback, runs the tests in `tests/real/` against it, and stops it. `make real ONLY=hdfs` takes one. "
    "What is fetched is kept in `~/.cache/lakewarden`, or where `LAKEWARDEN_CACHE` says; `LAKEWARDEN_MAVEN` "
    "names another mirror of Maven Central. `make test` and `make test-slow` run none of it."
)
HEAD = f"""# Against real servers

{INTRODUCTION}

| Server | From | Tests passed | Failed | Took | Last run |
|---|---|---|---|---|---|
"""


def page() -> str:
    rows, parts = [], []
    for server, about in SERVERS.items():
        found = results.read(server)
        rows.append(_row(about, found))
        parts.append(_part(server, about, found))
    text = HEAD + "\n".join(rows) + "\n\n" + "\n".join(parts)
    return text + _absent()


def _row(about: About, found: dict[str, Any]) -> str:
    if not found:
        return f"| {about.name} | {about.source} | never run | | | |"
    counted = f"{found['passed']} | {found['failed']} | {found['seconds']} s | {found['day']}"
    return f"| {about.name} | {about.source} | {counted} |"


def _part(server: str, about: About, found: dict[str, Any]) -> str:
    lines = [f"## {about.name}", "", f"* **Run with** `make real ONLY={server}`: {about.started}."]
    lines.append(f"* **Compared**: {about.compared}.")
    for figure in found.get("figures", ()):
        what = figure.pop("what")
        numbers = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in figure.items())
        lines.append(f"* **{what}**: {numbers}.")
    return "\n".join([*lines, ""])


def _absent() -> str:
    if not ABSENT:
        return ""
    rows = "\n".join(f"| {name} | {tried} |" for name, tried in ABSENT)
    return f"\n## What could not be run\n\n| Server | What was tried |\n|---|---|\n{rows}\n"

"""`make seeds`: runs the tests that name requirements and writes docs/seeds.md.

A row counts as shown when tests name it and all of those that ran have passed.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.seeds import Row, reasons, rows

REPORT = Path("docs/seeds.md")


class Recorder:
    """Follows one pytest run: which test names which rows, and how each test ended."""

    def __init__(self) -> None:
        self.named: dict[str, set[str]] = {}
        self.passed: set[str] = set()
        self.failed: set[str] = set()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            named = {str(row) for mark in item.iter_markers("seed") for row in mark.args}
            if named:
                self.named[item.nodeid] = named
        items[:] = [item for item in items if item.nodeid in self.named]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)
        elif report.when == "call" and report.passed:
            self.passed.add(report.nodeid)

    def shown(self) -> dict[str, list[str]]:
        """Row id to the tests that show it."""
        tests, spoilt = defaultdict(set), set()
        for nodeid, named in self.named.items():
            for row in named:
                if nodeid in self.failed:
                    spoilt.add(row)
                elif nodeid in self.passed:
                    tests[row].add(nodeid.partition("[")[0])
        return {row: sorted(found) for row, found in tests.items() if row not in spoilt}


def write(shown: dict[str, list[str]], known: Iterable[Row]) -> str:
    """The page as Markdown, grouped by law."""
    by_law = defaultdict(list)
    for row in known:
        by_law[row.law].append(row)
    every = [row for law in by_law.values() for row in law]
    count = sum(row.id in shown for row in every)
    lines = [
        "# Requirements and the tests that show them",
        "",
        "Written by `make seeds`; do not edit.  A row is shown when every test naming it passes.",
        "",
        f"**{count} of {len(every)} rows shown ({count / len(every):.1%}).**",
        "",
        "| law | shown | rows |",
        "|---|---:|---:|",
        *(f"| {law} | {sum(row.id in shown for row in of)} | {len(of)} |" for law, of in by_law.items()),
    ]
    for law, of in by_law.items():
        lines += ["", f"## {law}", "", "| row | place | requirement | tests |", "|---|---|---|---|"]
        lines += [
            f"| {row.id} | {_cell(row.place)} | {_cell(row.requirement)} | {_tests(row.id, shown)} |"
            for row in of
        ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _tests(row: str, shown: dict[str, list[str]]) -> str:
    if row in shown:
        return "<br>".join(f"`{test}`" for test in shown[row])
    return f"not shown: {_cell(reasons()[row])}" if row in reasons() else "not shown"


def main() -> int:
    recorder = Recorder()
    code = pytest.main(["-q", "-m", "seed", *sys.argv[1:]], plugins=[recorder])
    page = write(recorder.shown(), rows().values())
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(page, encoding="utf-8")
    print(next(line for line in page.splitlines() if line.startswith("**")).strip("*"), f"See {REPORT}.")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())

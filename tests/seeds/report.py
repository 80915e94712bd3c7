"""`make seeds`: runs the tests that name requirements and writes docs/seeds.md.

A row counts as shown when tests name it and all of those that ran have passed.  With JUnit files of runs that
are over (`make seeds JUNIT=var/tests.xml`) nothing is run again: the outcomes are read there.
"""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest
from defusedxml.ElementTree import parse

from tests.seeds import Row, reasons, rows
from tests.seeds.trying import trying

REPORT = Path("docs/seeds.md")
TRYING = (Path(__file__).parent / "trying.md").read_text(encoding="utf-8").splitlines()


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

    def read_junit(self, path: Path) -> None:
        """Take the outcomes from the JUnit file of another run; a later file counts before an earlier one."""
        known = {_plain(nodeid): nodeid for nodeid in self.named}
        for case in parse(path).iter("testcase"):
            nodeid = known.get(_plain(f"{case.get('classname')}.{case.get('name')}"))
            if nodeid is None:
                continue
            outcomes = {child.tag for child in case}
            self.failed.discard(nodeid)
            self.passed.discard(nodeid)
            if outcomes & {"failure", "error"}:
                self.failed.add(nodeid)
            elif "skipped" not in outcomes:
                self.passed.add(nodeid)

    def shown(self) -> dict[str, list[str]]:
        """Row id to the tests that show it."""
        tests, spoilt = defaultdict(set), set()
        for nodeid, named in self.named.items():
            for row in named:
                if nodeid in self.failed:
                    spoilt.add(row)
                elif nodeid in self.passed:
                    tests[row].add(nodeid.partition("[")[0])
        return {row: sorted(names) for row, names in tests.items() if row not in spoilt}


def _plain(nodeid: str) -> str:
    """A test's name in which files, classes and functions are parted alike, as JUnit files part them."""
    return re.sub(r"\.py::|::|/", ".", nodeid)


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
        *TRYING,
        "",
        f"**{count} of {len(every)} rows shown ({count / len(every):.1%}).**",
        "",
        "| law | shown | rows |",
        "|---|---:|---:|",
        *(f"| {law} | {sum(row.id in shown for row in of)} | {len(of)} |" for law, of in by_law.items()),
    ]
    for law, of in by_law.items():
        lines += [
            "",
            f"## {law}",
            "",
            "| row | place | requirement | try it | tests |",
            "|---|---|---|---|---|",
        ]
        lines += [
            f"| {row.id} | {_cell(row.place)} | {_cell(row.requirement)} | {_cell(trying(row))} "
            f"| {_tests(row.id, shown)} |"
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
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--junit", action="append", type=Path, default=[], metavar="FILE")
    asked, others = parser.parse_known_args()
    recorder = Recorder()
    only_names = ["--collect-only", "-qq"] if asked.junit else ["-q"]
    code = pytest.main([*only_names, "-m", "seed", *others], plugins=[recorder])
    for path in asked.junit:
        recorder.read_junit(path)
    page = write(recorder.shown(), rows().values())
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(page, encoding="utf-8")
    print(next(line for line in page.splitlines() if line.startswith("**")).strip("*"), f"See {REPORT}.")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())

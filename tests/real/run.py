"""`make real`: fetches servers, runs the tests against each, and writes docs/real.md.

`python -m tests.real.run [server …]`; without a name, every server in `SERVERS`.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

from tests.real import artifacts, results
from tests.real.page import SERVERS, page

ROOT = Path(__file__).parents[2]


def main() -> int:
    chosen = sys.argv[1:] or list(SERVERS)
    unknown = [name for name in chosen if name not in SERVERS]
    if unknown:
        print(f"No such server: {', '.join(unknown)}; there are {', '.join(SERVERS)}")
        return 2
    codes = [_run(name) for name in chosen]
    results.PAGE.write_text(page())
    print(f"written: {results.PAGE.relative_to(ROOT)}")
    return max(codes)


def _run(server: str) -> int:
    for pins in artifacts.class_paths(server):
        print(f"{server}: fetching {artifacts.version(pins)} into {artifacts.cache()}")
        try:
            for artifact in artifacts.pinned(pins):
                artifact.fetch()
        except artifacts.Absent as error:
            print(f"{server}: {pins} cannot be had, its tests are skipped: {error}")
    with tempfile.TemporaryDirectory() as folder:
        report, figures = Path(folder) / "report.xml", Path(folder) / "figures"
        figures.touch()
        command = [sys.executable, "-m", "pytest", "-m", "real", f"tests/real/{server}"]
        done = subprocess.run(
            [*command, f"--junitxml={report}", "-q", "-s", "--timeout=36000"],
            cwd=ROOT,
            env={**os.environ, results.TARGET: str(figures)},
            check=False,
        )
        if done.returncode in (0, 1):
            result = _counted(report) | {
                "figures": [json.loads(line) for line in figures.read_text().splitlines()]
            }
            if result["passed"] or result["failed"]:  # what did not run here leaves what was found elsewhere
                results.write(server, {**result, "day": f"{datetime.date.today()}"})
    return done.returncode


def _counted(report: Path) -> dict[str, Any]:
    """How many tests passed, failed and were skipped, and how long it took."""
    [suite] = ElementTree.parse(report).getroot().iter("testsuite")  # noqa: S314 - pytest wrote it just now
    failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
    skipped = int(suite.get("skipped", 0))
    return {
        "passed": int(suite.get("tests", 0)) - failed - skipped,
        "failed": failed,
        "skipped": skipped,
        "seconds": round(float(suite.get("time", 0))),
    }


if __name__ == "__main__":
    sys.exit(main())

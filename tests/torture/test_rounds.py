"""`make torture`, a few rounds of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_ten_rounds_lose_nothing(tmp_path: Path) -> None:
    report = tmp_path / "reliability.md"
    command = [
        sys.executable,
        "-m",
        "tests.torture.run",
        "--rounds",
        "10",
        "--seed",
        "3",
        "--report",
        str(report),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "| Rounds | 10 in " in report.read_text()
    assert "| Acknowledged changes lost | 0 |" in report.read_text()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_promoted_standby_has_every_change_and_backends_wait_for_a_look() -> None:
    """A primary is killed while rights change; the processes go on at its standby by themselves."""
    command = [sys.executable, "-m", "tests.torture.failover", "--seed", "5"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "changes were acknowledged again" in done.stdout

"""The guard under PySpark 3.5: the same tests, in an environment of their own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv-pyspark35" / "bin" / "python"


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(1800)
def test_the_guard_holds_under_pyspark_3_5(java: str) -> None:
    if not PYTHON.exists():
        pytest.skip("PySpark 3.5 is missing; make pyspark35 installs it")
    options = [
        "-q",
        "-c",
        "tests/spark/pyspark35.ini",
        "--rootdir=.",
        "--confcutdir=tests/spark",
        "--tb=short",
    ]
    done = subprocess.run(
        [PYTHON, "-m", "pytest", *options, "tests/spark"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=1700,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    last = done.stdout.strip().splitlines()[-1]
    assert int(last.partition(" passed")[0].rpartition(" ")[2]) > 100, last

"""Prometheus's own tool reads our alerts and plays the cases beside them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

RULES = Path(__file__).resolve().parents[3] / "deploy" / "prometheus"


@pytest.fixture(scope="session")
def promtool() -> str:
    program = os.environ.get("LAKEWARDEN_PROMTOOL") or shutil.which("promtool")
    if not program:
        pytest.skip("promtool is missing; on Debian: apt-get install prometheus")
    return program


@pytest.mark.real
@pytest.mark.parametrize("what", [("check", "rules", "alerts.yaml"), ("test", "rules", "alerts.test.yaml")])
def test_it_takes_the_alerts(promtool: str, what: tuple[str, ...]) -> None:
    done = subprocess.run([promtool, *what], cwd=RULES, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "SUCCESS" in done.stdout

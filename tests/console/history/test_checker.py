"""The checker of evidence as one file: it runs where nothing of this site is."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from django.test import Client

from catalog.nodes import Node


def test_the_checker_runs_far_from_the_site(
    shop: Node, signed_in: Callable[[str], Client], tmp_path: Path
) -> None:
    answer = signed_in("ana").get("/history/integrity/check-evidence.pyz")
    program, forged = tmp_path / "check-evidence.pyz", tmp_path / "forged.zip"
    program.write_bytes(answer.content)
    forged.write_bytes(b"no archive")
    key = signed_in("ana").get("/history/integrity").content.decode()
    key = key.rpartition('<pre class="mono small">')[2].partition("</pre>")[0]
    ran = subprocess.run(
        [sys.executable, "-I", "-S", program, forged, "--key", key],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (1, ""), ran.stderr
    assert ran.stderr.startswith("broken: ")
    assert "Traceback" not in ran.stderr


def test_it_lies_beside_the_key(shop: Node, signed_in: Callable[[str], Client]) -> None:
    page = signed_in("ada").get("/history/integrity").content.decode()
    assert 'href="/history/integrity/check-evidence.pyz"' in page

"""A copy of the tree, to break something in."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.house.checks import ROOT

LEFT_OUT = (".git", ".venv*", "var", "dist", "build", "__pycache__", ".*_cache", "*.egg-info")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The files of this checkout, with its environment."""
    copied = tmp_path / "tree"
    shutil.copytree(ROOT, copied, ignore=shutil.ignore_patterns(*LEFT_OUT))
    (copied / ".venv").symlink_to(ROOT / ".venv")
    return copied

"""Running the checks of `scripts/check.sh` by name, in this tree or in a copy with something broken in it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def check(name: str, tree: Path) -> subprocess.CompletedProcess[str]:
    """Run one check, as CI does."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DJANGO_")}
    return subprocess.run(
        ["scripts/check.sh", name],
        cwd=tree,
        env=environment | {"LAKEWARDEN_VAR": str(tree / "var")},
        capture_output=True,
        text=True,
        check=False,
    )

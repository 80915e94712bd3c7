"""A kind of backend needs what the kit gives and nothing of Django's or the console's (adr 0016)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "policies" / "sync" / "backends"
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in HERE.rglob("*.py")
)
OURS = ("accounts", "authzsite", "catalog", "django", "policies")
WITHIN = ("policies", "policies.sync", "policies.sync.backends")

PROGRAM = """
import importlib, sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        inside = name in WITHIN or name.startswith("policies.sync.backends.")
        if name.partition(".")[0] in OURS and not inside:
            raise ImportError(f"{name} is not the kit's")

sys.meta_path.insert(0, Nothing())
for module in sys.argv[1:]:
    importlib.import_module(module)
"""


def imported(*modules: str) -> subprocess.CompletedProcess[str]:
    """A process without Django and the console, in which these are imported."""
    program = PROGRAM.replace("WITHIN", repr(WITHIN)).replace("OURS", repr(OURS))
    return subprocess.run(
        [sys.executable, "-c", program, *modules], cwd=ROOT, capture_output=True, text=True, timeout=120
    )


def test_every_kind_of_ours_is_imported_without_django() -> None:
    assert len(MODULES) > 60
    done = imported(*MODULES)
    assert done.returncode == 0, done.stderr


def test_what_needs_django_would_be_seen() -> None:
    done = imported("policies.sync.desired")
    assert "is not the kit's" in done.stderr

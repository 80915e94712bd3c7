"""What the runs found, a file for each server, and docs/real.md, which is written of them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[2] / "docs" / "real.md"
TARGET = "LAKEWARDEN_REAL_FIGURES"


class Figures:
    """Numbers that a run leaves; kept only where `make real` asks for them."""

    def note(self, what: str, **numbers: Any) -> None:
        target = os.environ.get(TARGET)
        if target:
            with Path(target).open("a") as file:
                file.write(json.dumps({"what": what, **numbers}) + "\n")


def read(server: str) -> dict[str, Any]:
    path = RESULTS / f"{server}.json"
    return dict(json.loads(path.read_text())) if path.exists() else {}


def write(server: str, found: dict[str, Any]) -> None:
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{server}.json").write_text(json.dumps(found, indent=2, sort_keys=True) + "\n")

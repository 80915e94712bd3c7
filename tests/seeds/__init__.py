"""The requirements, one row each, and which tests show them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PLACE = Path(__file__).parent / "seed_rows.tsv"


@dataclass(frozen=True)
class Row:
    id: str
    law: str
    place: str
    requirement: str


@cache
def rows() -> dict[str, Row]:
    with PLACE.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["id"]: Row(**row) for row in reader}


@cache
def reasons() -> dict[str, str]:
    """Why a row is not shown by a test, where that is known."""
    with (PLACE.parent / "reasons.tsv").open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["id"]: row["reason"] for row in reader}

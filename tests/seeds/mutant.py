"""Another law in the place of the law, for as long as a test is run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Mutant:
    """A change of a law; `rows` are the requirements that it breaks.

    Tests whose names hold `word` are tried first.
    """

    told: str
    rows: tuple[str, ...]
    in_place: Callable[[], AbstractContextManager[None]]
    word: str = ""

    def __str__(self) -> str:
        return f"{self.told} ({' '.join(self.rows)})"

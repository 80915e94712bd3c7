"""Random worlds by their seeds: made in two systems and asked about, one after the other."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from tests.real.differential.compare import Call, Comparison, Difference

FIRST = int(os.environ.get("FIRST_WORLD", "0"))
QUESTIONS = 200
SECONDS = 60 * float(os.environ.get("MINUTES", "600"))
"""After so long no further world is begun, however many were asked for."""

World = tuple[Sequence[Call], Sequence[Call]]
"""The calls that make a world, and the questions about it."""


def unexplained(
    compared: Comparison,
    world_of: Callable[[int], World],
    reading: Callable[[Difference], object],
    figures: Any,
    *,
    worlds: int,
) -> list[Difference]:
    """Ask about as many worlds as `WORLDS` says, else `worlds`: the differences that no reading explains."""
    begun, tried = time.monotonic(), 0
    for seed in range(FIRST, FIRST + int(os.environ.get("WORLDS", worlds))):
        if time.monotonic() - begun > SECONDS:
            break
        made, questions = world_of(seed)
        compared.world(made, questions, f"w{seed}")
        tried += 1
        print(f"world {seed}: {len(compared.differences)} differences, {time.monotonic() - begun:.0f} s")
    left = [difference for difference in compared.differences if not reading(difference)]
    figures.note(
        "Random worlds",
        worlds=tried,
        questions=compared.asked.total(),
        allowed=compared.allowed,
        operations=len(compared.asked),
        differences_that_are_meant=len(compared.differences) - len(left),
        differences_without_a_cause=len(left),
    )
    return left

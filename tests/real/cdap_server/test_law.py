"""The law of a CDAP 4.3 here and in CDAP itself: the same worlds and questions, the same answers."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from typing import Any

import pytest

from tests.cdap.world import a_cdap
from tests.real.cdap_server.readings import reading
from tests.real.cdap_server.server import Cdap
from tests.real.cdap_server.sides import Here, There
from tests.real.cdap_server.worlds import ADMIN, questions, world
from tests.real.differential.compare import Comparison, Difference
from tests.real.differential.shrink import smallest

pytestmark = pytest.mark.django_db
WORLDS = int(os.environ.get("WORLDS", "40"))
FIRST = int(os.environ.get("FIRST_WORLD", "0"))
QUESTIONS = 200
SECONDS = 60 * float(os.environ.get("MINUTES", "600"))
"""After so long no further world is begun, however many were asked for."""


def test_random_worlds_are_answered_alike(cdap: Cdap, figures: Any) -> None:
    a_cdap("4.3", owner=ADMIN)
    ours, theirs = Here(cdap.jar), There(cdap)
    compared, begun, worlds = Comparison(ours, theirs, reading), time.monotonic(), 0
    for seed in range(FIRST, FIRST + WORLDS):
        if time.monotonic() - begun > SECONDS:
            break
        rng, worlds = random.Random(seed), worlds + 1
        compared.world(world(rng), list(questions(rng, QUESTIONS)), f"w{seed}")
        print(f"world {seed}: {len(compared.differences)} differences, {time.monotonic() - begun:.0f} s")
    named = Counter(reading(difference) for difference in compared.differences)
    unexplained = [difference for difference in compared.differences if not reading(difference)]
    figures.note(
        "Random worlds",
        worlds=worlds,
        questions=compared.asked.total(),
        allowed=compared.allowed,
        operations=len(compared.asked),
        differences_that_are_meant=named.total() - len(unexplained),
        differences_without_a_cause=len(unexplained),
    )
    print("\n".join(f"{number} × {name}" for name, number in named.most_common()))
    message = _counted(unexplained)
    if unexplained and os.environ.get("SHRINK"):
        message += f"\n\n{smallest(ours, theirs, unexplained[0])}"
    assert not unexplained, message


def _counted(differences: list[Difference]) -> str:
    """How often each operation was answered in two ways, and how."""
    counted = Counter(_kind(difference) for difference in differences)
    return "\n".join(f"{number} × {kind}" for kind, number in counted.most_common())


def _kind(difference: Difference) -> str:
    """Differences that look alike are likely one."""
    ours, theirs = difference.ours, difference.theirs
    question = f"{difference.call.operation}, {difference.call.method} {difference.call.path}"
    return f"{question}: {ours.status} {ours.shown} here, {theirs.status} {theirs.shown} there"

"""The law of a metalake here and in Apache Gravitino: the same worlds and questions, the same answers."""

from __future__ import annotations

import os
import time
from collections import Counter

import pytest

from tests.real.differential.compare import Comparison, Difference
from tests.real.differential.shrink import smallest
from tests.real.gravitino.questions import questions
from tests.real.gravitino.readings import reading
from tests.real.gravitino.worlds import world

pytestmark = pytest.mark.django_db
WORLDS = int(os.environ.get("WORLDS", "300"))
FIRST = int(os.environ.get("FIRST_WORLD", "0"))
QUESTIONS = 200
SECONDS = 60 * float(os.environ.get("MINUTES", "600"))
"""After so long no further world is begun, however many were asked for."""


def test_random_worlds_are_answered_alike(ours, theirs, figures):
    compared, begun, worlds = Comparison(ours, theirs), time.monotonic(), 0
    for seed in range(FIRST, FIRST + WORLDS):
        if time.monotonic() - begun > SECONDS:
            break
        made, worlds = world(seed), worlds + 1
        compared.world(made.calls, list(questions(made, seed, QUESTIONS)), f"w{seed}")
        print(f"world {seed}: {len(compared.differences)} differences, {time.monotonic() - begun:.0f} s")
    unexplained = [difference for difference in compared.differences if not reading(difference)]
    figures.note(
        "Random worlds",
        worlds=worlds,
        questions=compared.asked.total(),
        allowed=compared.allowed,
        operations=len(compared.asked),
        differences_that_are_meant=len(compared.differences) - len(unexplained),
        differences_without_a_cause=len(unexplained),
    )
    assert not unexplained, _told(ours, theirs, unexplained)


def _told(ours, theirs, differences: list[Difference]) -> str:
    """How often each operation was answered in two ways, and how; the smallest world for some of them."""
    counted = Counter(_kind(difference) for difference in differences)
    first = {_kind(difference): difference for difference in reversed(differences)}
    lines = [f"{number} × {kind}" for kind, number in counted.most_common()]
    return "\n\n".join(
        [
            "\n".join(lines),
            *(str(smallest(ours, theirs, difference)) for difference in list(first.values())[:4]),
        ]
    )


def _kind(difference: Difference) -> str:
    """Differences that look alike are likely one."""
    ours, theirs = difference.ours, difference.theirs
    how = f"shown {ours.shown} and {theirs.shown}" if ours.allowed and theirs.allowed else f"here {ours.text}"
    return f"{difference.call.operation}: {ours.status} here, {theirs.status} there, {how}"

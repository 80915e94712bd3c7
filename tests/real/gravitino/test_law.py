"""The law of a metalake here and in Apache Gravitino: the same worlds and questions, the same answers."""

from __future__ import annotations

import os
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


def test_random_worlds_are_answered_alike(ours, theirs, figures):
    compared = Comparison(ours, theirs)
    for seed in range(FIRST, FIRST + WORLDS):
        made = world(seed)
        compared.world(made.calls, list(questions(made, seed, QUESTIONS)), f"w{seed}")
    unexplained = [one for one in compared.differences if not reading(one)]
    figures.note(
        "Random worlds",
        worlds=WORLDS,
        questions=compared.asked.total(),
        allowed=compared.allowed,
        operations=len(compared.asked),
        differences_that_are_meant=len(compared.differences) - len(unexplained),
        differences_without_a_cause=len(unexplained),
    )
    assert not unexplained, _told(ours, theirs, unexplained)


def _told(ours, theirs, found: list[Difference]) -> str:
    """How often each operation was answered in two ways, and how; the smallest world for some of them."""
    counted = Counter(_kind(one) for one in found)
    first = {_kind(one): one for one in reversed(found)}
    lines = [f"{number} × {kind}" for kind, number in counted.most_common()]
    return "\n\n".join(
        ["\n".join(lines), *(str(smallest(ours, theirs, one)) for one in list(first.values())[:4])]
    )


def _kind(found: Difference) -> str:
    """Differences that look alike are likely one."""
    ours, theirs = found.ours, found.theirs
    how = f"shown {ours.shown} and {theirs.shown}" if ours.allowed and theirs.allowed else f"here {ours.text}"
    return f"{found.call.operation}: {ours.status} here, {theirs.status} there, {how}"

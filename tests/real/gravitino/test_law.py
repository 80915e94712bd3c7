"""The law of a metalake here and in Apache Gravitino: the same worlds and questions, the same answers."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.real.differential.compare import Comparison, Difference
from tests.real.differential.rounds import QUESTIONS, World, unexplained
from tests.real.differential.shrink import smallest
from tests.real.gravitino.questions import questions
from tests.real.gravitino.readings import reading
from tests.real.gravitino.worlds import world

pytestmark = pytest.mark.django_db


def test_random_worlds_are_answered_alike(ours, theirs, figures):
    def world_of(seed: int) -> World:
        made = world(seed)
        return made.calls, list(questions(made, seed, QUESTIONS))

    left = unexplained(Comparison(ours, theirs), world_of, reading, figures, worlds=300)
    assert not left, _told(ours, theirs, left)


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

"""The law of a CDAP 4.3 here and in CDAP itself: the same worlds and questions, the same answers."""

from __future__ import annotations

import os
import random
from collections import Counter
from contextlib import closing
from typing import Any

import pytest

from tests.cdap.world import a_cdap
from tests.real.cdap_server.readings import reading
from tests.real.cdap_server.server import Cdap
from tests.real.cdap_server.sides import Here, There
from tests.real.cdap_server.worlds import ADMIN, questions, world
from tests.real.differential.compare import Comparison, Difference
from tests.real.differential.rounds import QUESTIONS, World, unexplained
from tests.real.differential.shrink import smallest

pytestmark = pytest.mark.django_db


def test_random_worlds_are_answered_alike(cdap: Cdap, figures: Any) -> None:
    def world_of(seed: int) -> World:
        rng = random.Random(seed)
        return world(rng), list(questions(rng, QUESTIONS))

    a_cdap("4.3", owner=ADMIN)
    ours = Here(cdap.jar)
    with closing(There(cdap)) as theirs:
        compared = Comparison(ours, theirs, reading)
        left = unexplained(compared, world_of, reading, figures, worlds=40)
        named = Counter(map(reading, compared.differences))
        print("\n".join(f"{number} × {name}" for name, number in named.most_common()))
        message = _counted(left)
        if left and os.environ.get("SHRINK"):
            message += f"\n\n{smallest(ours, theirs, left[0])}"
    assert not left, message


def _counted(differences: list[Difference]) -> str:
    """How often each operation was answered in two ways, and how."""
    counted = Counter(_kind(difference) for difference in differences)
    return "\n".join(f"{number} × {kind}" for kind, number in counted.most_common())


def _kind(difference: Difference) -> str:
    """Differences that look alike are likely one."""
    ours, theirs = difference.ours, difference.theirs
    question = f"{difference.call.operation}, {difference.call.method} {difference.call.path}"
    return f"{question}: {ours.status} {ours.shown} here, {theirs.status} {theirs.shown} there"

"""How parallel workers share the tests: by file, what takes longest first, and all of Spark together."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

SECONDS = {
    "chromium": 4.0,
    "peer": 3.0,
    "plain": 2.0,
    "source": 2.0,
    "live_server": 1.0,
    "transactional_db": 0.7,
    "server_url": 0.7,
    "lake": 0.5,
    "mariadb_server": 0.5,
    "ranger_server": 0.3,
    "db": 0.15,
}
"""Roughly what a test takes that asks for a fixture; only the order of these sums counts."""
OTHERWISE = 0.03
PATIENT = 60.0
"""A test with a time limit of its own takes long, else it would not need one."""


class Scheduling(LoadFileScheduling):
    """A file goes to a worker at a time, in the order of collection; what is below tests/spark goes together.

    Each Spark is a Java of its own that makes its world first, which takes longer than most files.
    """

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        # xdist would begin with the file of the most tests, and end with the few that take minutes each
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return "tests/spark" if file.startswith("tests/spark/") else file


def longest_first(items: list[pytest.Item]) -> None:
    """Order the files: a long one at the end keeps the other workers waiting."""
    estimates: dict[Any, float] = defaultdict(float)
    for item in items:
        estimates[_scope(item)] += _seconds(item)
    items.sort(key=lambda item: -estimates[_scope(item)])


def shuffle(items: list[pytest.Item], seed: int) -> None:
    """Another order of the files and of the tests in each, the same one for the same tests and seed."""
    chance = random.Random(seed)
    files: dict[Any, list[pytest.Item]] = defaultdict(list)
    for item in items:
        files[item.path].append(item)
    order = list(files.values())
    chance.shuffle(order)
    for tests in order:
        chance.shuffle(tests)
    items[:] = [item for tests in order for item in tests]


def _scope(item: pytest.Item) -> Any:
    return "spark" if item.nodeid.startswith("tests/spark/") else item.path


def _seconds(item: pytest.Item) -> float:
    fixtures: Iterable[str] = getattr(item, "fixturenames", ())
    limit = item.get_closest_marker("timeout")
    return max((SECONDS.get(name, 0.0) for name in fixtures), default=0.0) + (PATIENT if limit else OTHERWISE)

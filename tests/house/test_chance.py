"""What looks for tests that fall by chance: another order, and another day of the week."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from tests import another_day, scheduling


@dataclass(frozen=True)
class Item:
    path: str
    number: int


def shuffled(seed: int) -> list[Item]:
    items: list[Any] = [Item(path, number) for path in "abcd" for number in range(9)]
    scheduling.shuffle(items, seed)
    return items


def test_a_seed_gives_one_order_and_another_seed_another() -> None:
    assert shuffled(7) == shuffled(7) != shuffled(8)
    assert sorted(shuffled(7), key=str) == sorted(shuffled(8), key=str)


def test_the_tests_of_a_file_stay_together() -> None:
    paths = [item.path for item in shuffled(7)]
    assert paths != sorted(paths)
    assert [path for at, path in enumerate(paths) if path != paths[at - 1]] == list(dict.fromkeys(paths))


class Worker:
    """What a scheduler knows of a worker: which tests it was sent, by their numbers."""

    shutting_down = False

    def __init__(self) -> None:
        self.gateway, self.sent = SimpleNamespace(id="gw0"), []

    def send_runtest_some(self, numbers: list[int]) -> None:
        self.sent += numbers

    def shutdown(self) -> None:
        """There are no more tests after these."""


def test_workers_get_the_files_in_their_order_however_few_tests_a_file_has() -> None:
    tests = ["tests/long.py::test_all", *(f"tests/short.py::test_{number}" for number in range(9))]
    option = SimpleNamespace(tx=["popen"], loadscopereorder=True)
    config: Any = SimpleNamespace(option=option, getvalue=partial(getattr, option))
    scheduler, worker = scheduling.Scheduling(config), Worker()
    scheduler.add_node(worker)
    scheduler.add_node_collection(worker, tests)
    scheduler.schedule()
    assert worker.sent[0] == 0


@pytest.fixture
def _real_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of the machine, to which the test's own comes back."""
    monkeypatch.setattr(time, "time", another_day._real_time)
    monkeypatch.setattr(timezone, "datetime", datetime)
    monkeypatch.setenv(another_day.AHEAD, "")  # so that what is chosen here goes with the test
    monkeypatch.delenv(another_day.AHEAD)


@pytest.mark.usefixtures("_real_clock")
def test_the_clock_says_that_moment() -> None:
    moment = datetime(2027, 1, 31, 23, 58)
    another_day.choose(None, moment.isoformat())
    assert timedelta(0) <= timezone.now() - moment.replace(tzinfo=UTC) < timedelta(minutes=1)


@pytest.mark.usefixtures("_real_clock")
@pytest.mark.parametrize("day", another_day.DAYS)
def test_the_clock_says_that_day(day: str) -> None:
    before = datetime.now(UTC)
    another_day.choose(day, None)
    now = timezone.now()
    assert another_day.DAYS[now.weekday()] == day
    assert timedelta(0) <= now - before < timedelta(days=7)
    assert abs(datetime.fromtimestamp(time.time(), UTC) - now) < timedelta(minutes=1)
    assert abs(User._meta.get_field("date_joined").get_default() - now) < timedelta(minutes=1)
    assert timezone.localtime(now) == now


def test_a_run_within_a_test_has_its_folders_below_those_of_the_test(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (tmp_path / "test_inner.py").write_text("def test_it(tmp_path): print(tmp_path.as_uri())\n")
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:django", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert f"{tmp_path_factory.getbasetemp().as_uri()}/" in done.stdout

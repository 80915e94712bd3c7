"""A real Celery worker with a real Redis: seconds to effect, and killed in the middle nothing is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import connection

from accounts import people
from policies.models import Backend, OutboxEntry
from policies.services import grants
from policies.services.grants import Wish
from policies.verify import verify
from tests.factories import acting, the
from tests.sync.conftest import Source, make_governed

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 30.0


class Worker:
    """Worker and beat in one process, as small sites run them."""

    def __init__(self, redis_url: str):
        values = connection.settings_dict
        database = f"postgresql://{values['USER']}@/{values['NAME']}?host={values['HOST']}"
        self.environment = os.environ | {"DATABASE_URL": database, "REDIS_URL": redis_url}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "celery", "-A", "authzsite", "worker", "--pool", "solo", "-B"]
        self.process = subprocess.Popen(
            [*command, "--loglevel", "ERROR"], cwd=ROOT, env=self.environment, start_new_session=True
        )

    def kill(self) -> None:
        assert self.process
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def worker(transactional_db: None, redis_url: str) -> Iterator[Worker]:
    one = Worker(redis_url)
    one.start()
    yield one
    one.kill()


def until(true: Callable[[], bool]) -> float:
    start = time.monotonic()
    while not true():
        assert time.monotonic() - start < PATIENCE, "it did not come true"
        time.sleep(0.05)
    return time.monotonic() - start


def give() -> None:
    wish = Wish(the("table", "shop.sales.orders"), (people.ensure("user", "ana"),), ("SELECT_TABLE",))
    grants.add(wish, by=acting("olivia"))


def take() -> None:
    ana = people.ensure("user", "ana")
    grants.remove(the("table", "shop.sales.orders"), [ana], ["SELECT_TABLE"], by=acting("olivia"))


def all_delivered() -> bool:
    return not OutboxEntry.objects.exists() and Backend.objects.get().state == Backend.State.IN_SYNC


def kill_in_the_middle(worker: Worker, source: Source, chance: random.Random) -> None:
    for change, readable in ((give, True), (take, False)):
        change()
        time.sleep(chance.uniform(0, 0.4))
        worker.kill()
        worker.start()
        until(all_delivered)
        assert source.reads("ana") is readable
        assert source.reads("legacy")


def test_a_grant_is_true_in_the_database_within_seconds_and_a_killed_worker_loses_nothing(
    worker: Worker, source: Source
) -> None:
    make_governed(source)
    until(all_delivered)
    give()
    until(lambda: source.reads("ana"))
    take()
    until(lambda: not source.reads("ana"))
    kill_in_the_middle(worker, source, random.Random(1))
    assert verify()


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_twenty_rounds_of_killing(worker: Worker, source: Source) -> None:
    make_governed(source)
    until(all_delivered)
    chance = random.Random(2)
    for _ in range(20):
        kill_in_the_middle(worker, source, chance)
    assert verify()

"""A real Celery worker with a real Redis: seconds to effect, and killed in the middle nothing is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from accounts import people
from policies.calculations import asking
from policies.calculations.asking import LargeEffect
from policies.calculations.results import effect_of
from policies.models import Backend, Calculation, OutboxEntry
from policies.record.verify import verify
from policies.services import grants, roles
from policies.services.grants import GrantRequest
from policies.simulation.changes import UnassignRole
from policies.simulation.difference import Difference
from policies.simulation.simulation import Simulation
from tests.factories import AUTHORITY, BY, a_role, a_shop, a_use, acting, admit, the
from tests.sync.conftest import Source, make_governed
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]


class Worker:
    """Worker and beat in one process, as small sites run them; further ones without a beat."""

    def __init__(self, redis_url: str, *, beat: bool = True):
        self.beat = ["-B"] if beat else []
        values = connection.settings_dict
        database = f"postgresql://{values['USER']}@/{values['NAME']}?host={values['HOST']}"
        self.environment = os.environ | {"DATABASE_URL": database, "REDIS_URL": redis_url}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "celery", "-A", "authzsite", "worker", "--pool", "solo", *self.beat]
        self.process = subprocess.Popen(
            [*command, "--loglevel", "ERROR"], cwd=ROOT, env=self.environment, start_new_session=True
        )

    def kill(self) -> None:
        assert self.process
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def worker(transactional_db: None, redis_url: str) -> Iterator[Worker]:
    process = Worker(redis_url)
    process.start()
    yield process
    process.kill()


def give() -> None:
    wish = GrantRequest(the("table", "shop.sales.orders"), (people.ensure("user", "ana"),), ("SELECT_TABLE",))
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


OURS = """
    SELECT coalesce(string_agg(r.rolname, ' ' ORDER BY r.rolname), '')
      FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid JOIN pg_roles p ON p.oid = m.member
     WHERE p.rolname = 'mia' AND r.rolname LIKE 'lw%'
"""


def deny(*, lifted: bool) -> None:
    """Have Mia denied what analysts may, or no more: from the analysts' roles to an own one, or back."""
    mia, role = people.ensure("user", "mia"), the("role", "no_contractors")
    (roles.unassign if lifted else roles.assign)(role, mia, by=BY, authority=AUTHORITY)


def test_two_workers_on_one_person_never_leave_two_sets(
    worker: Worker, source: Source, redis_url: str
) -> None:
    make_governed(source)
    other = Worker(redis_url, beat=False)
    other.start()
    done, seen = Event(), list[str]()

    def watch() -> None:
        with psycopg.connect(source.url(), autocommit=True) as connection:
            while not done.is_set():
                seen.append(connection.execute(OURS).fetchone()[0])  # type: ignore[index]

    try:
        until(all_delivered)
        settled = {source.run(OURS)[0][0]}
        deny(lifted=False)
        until(all_delivered)
        settled.add(source.run(OURS)[0][0])
        with ThreadPoolExecutor(1) as pool:
            watcher = pool.submit(watch)
            for turn in range(12):
                deny(lifted=turn % 2 == 0)
                if turn in (0, 5):  # changes that follow each other quickly are carried out as one
                    until(all_delivered)
                    before = len(seen)
                    until(lambda before=before: len(seen) > before + 1)
            until(all_delivered)
            done.set()
            watcher.result()
    finally:
        done.set()
        other.kill()
    assert len(settled) == 2
    assert set(seen) == settled


def test_a_large_effect_whose_worker_is_killed_is_worked_out_by_the_next(worker: Worker) -> None:
    root = a_shop()
    admit(root, "ana")
    above = ("allow USE_CATALOG on catalog shop", "allow USE_SCHEMA on schema shop.sales")
    a_role(root, "reading", *above, "allow SELECT_TABLE on schema shop.sales", held_by=("ana",))
    a_use("ana", the("table", "shop.sales.orders"))
    changes = [UnassignRole(the("role", "reading"), people.ensure("user", "ana"))]
    effect = LargeEffect(root, changes, timezone.now(), 30)
    at_once = Difference(Simulation(root, changes, at=effect.at))
    values = connection.settings_dict
    address = f"postgresql://{values['USER']}@/{values['NAME']}?host={values['HOST']}"
    with psycopg.connect(address) as other:
        other.execute("LOCK TABLE policies_use IN ACCESS EXCLUSIVE MODE")  # the replay waits for it
        row = asking.ask(effect, by=people.ensure("user", "marek"))
        rows = Calculation.objects.filter(pk=row.pk)
        until(lambda: rows.filter(started__isnull=False, total__gt=0).exists())
        worker.kill()
        assert (rows.get().state, rows.get().attempts) == ("running", 1)
    worker.start()
    until(lambda: rows.get().state == "done")
    assert rows.get().attempts == 2
    found = effect_of(rows.get())
    assert found.totals == at_once.totals
    assert found.replay is not None and found.replay.refused.count == 1


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_twenty_rounds_of_killing(worker: Worker, source: Source) -> None:
    make_governed(source)
    until(all_delivered)
    chance = random.Random(2)
    for _ in range(20):
        kill_in_the_middle(worker, source, chance)
    assert verify()

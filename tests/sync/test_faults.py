"""Rounds of faults and killing: after each, pages, answers and the database's own catalog say the same."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Iterator

import pytest
from django.db import ConnectionHandler, DatabaseError, connection
from django.test import Client

from accounts import people
from authzsite import embedded
from policies.decisions import ask
from policies.models import Backend, OutboxEntry
from policies.record.verify import verify
from policies.secrets import encrypt
from policies.services import grants
from policies.services.grants import GrantRequest
from policies.sync.safeguards import restored
from tests.conftest import VAR
from tests.factories import acting, owned, rewritten, the
from tests.metrics import read_metrics
from tests.standins.faults import Proxy
from tests.sync.conftest import Source, make_governed
from tests.sync.test_worker_process import Worker

PEOPLE = ("ana", "mia", "carl")
ORDERS = "shop.sales.orders"
PATIENCE = 150.0
MODES = ("refuse", "cut", "freeze", "drip", "lose")


@pytest.fixture
def line(transactional_db: None, source: Source) -> Iterator[Proxy]:
    with Proxy(str(source.server.socket_dir / ".s.PGSQL.5432")) as proxy:
        row = make_governed(source)
        url = source.url().partition("?")[0].replace("@/", f"@127.0.0.1:{proxy.port}/")
        place = f"127.0.0.1:{proxy.port}/{source.database}"
        rewritten(Backend.objects.filter(pk=row.pk), sealed_url=encrypt(url), place=place, source="")
        owned(the("catalog", "shop"), "olivia")
        yield proxy


@pytest.fixture
def workers(line: Proxy, redis_url: str) -> Iterator[list[Worker]]:
    """One with a beat, and one more, as one may be killed or waiting."""
    both = [Worker(redis_url), Worker(redis_url, beat=False)]
    for item in both:
        item.start()
    yield both
    for item in both:
        item.kill()


@pytest.fixture
def olivia(line: Proxy) -> Client:
    client = Client()
    client.force_login(people.make_account("olivia"), backend="django.contrib.auth.backends.ModelBackend")
    return client


def change(chance: random.Random) -> None:
    person = people.ensure("user", chance.choice(PEOPLE))
    orders = the("table", ORDERS)
    if chance.random() < 0.5:
        grants.add(GrantRequest(orders, (person,), ("SELECT_TABLE",)), by=acting("olivia"))
    else:
        grants.remove(orders, [person], ["SELECT_TABLE"], by=acting("olivia"))


def decided() -> dict[str, bool]:
    orders = the("table", ORDERS)
    return {name: bool(ask.ask(people.ensure("user", name), "Table.loadTable", orders)) for name in PEOPLE}


def out_there(source: Source) -> dict[str, bool]:
    return {name: source.reads(name) for name in PEOPLE}


def says_in_sync(olivia: Client, row: Backend) -> bool:
    """Whether anything that people or programs read calls the backend equal to what is decided."""
    page = olivia.get(f"/sync/{row.pk}").content.decode()
    ready = olivia.get("/health/ready").content.decode()
    state = read_metrics(olivia)[f'lakewarden_backend_state{{backend="{row.pk}",state="in_sync"}}'] == 1
    return state and ">In sync<" in page and "nothing waits" in ready


def never_false(olivia: Client, source: Source) -> None:
    """What is said to be in sync is: nothing was decided between the two readings, so it must be equal."""
    row = Backend.objects.get()
    if says_in_sync(olivia, row) and not OutboxEntry.objects.exists():
        assert out_there(source) == decided(), "called in sync, and it is not"


def converged(olivia: Client, source: Source) -> None:
    deadline = time.monotonic() + PATIENCE
    while out_there(source) != decided() or not says_in_sync(olivia, Backend.objects.get()):
        never_false(olivia, source)
        assert time.monotonic() < deadline, f"{out_there(source)} {decided()} {Backend.objects.get().state}"
        time.sleep(0.5)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_after_each_fault_everybody_says_the_same_and_nothing_false_meanwhile(
    line: Proxy, workers: list[Worker], source: Source, olivia: Client
) -> None:
    chance = random.Random(11)
    converged(olivia, source)
    for turn in range(15):
        mode, old_only = MODES[turn % len(MODES)], turn % 2 == 0
        change(chance)
        time.sleep(chance.uniform(0, 0.3))
        line.become(mode, old_only=old_only)
        for _ in range(4):
            change(chance)
            time.sleep(chance.uniform(0, 1))
            never_false(olivia, source)
        if turn % 3 == 0:
            victim = chance.choice(workers)
            victim.kill()
            victim.start()
        time.sleep(2)
        never_false(olivia, source)
        line.become("pass")
        converged(olivia, source)
        assert Backend.objects.get().policy == "repair"
    assert verify()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_line_frozen_for_good_is_told_within_a_minute(
    line: Proxy, workers: list[Worker], source: Source, olivia: Client
) -> None:
    grants.add(
        GrantRequest(the("table", ORDERS), (people.ensure("user", "ana"),), ("SELECT_TABLE",)),
        by=acting("olivia"),
    )
    converged(olivia, source)
    line.become("freeze")
    grants.remove(the("table", ORDERS), [people.ensure("user", "ana")], ["SELECT_TABLE"], by=acting("olivia"))
    began = time.monotonic()
    while Backend.objects.get().state != "silent":
        assert time.monotonic() - began < 75
        never_false(olivia, source)
        time.sleep(0.5)
    while "revocations overdue" not in olivia.get("/health/ready").content.decode():
        assert time.monotonic() - began < 100
        time.sleep(0.5)
    assert "Not answering" in olivia.get(f"/sync/{Backend.objects.get().pk}").content.decode()
    line.become("pass")
    converged(olivia, source)


@pytest.fixture
def crashing() -> Iterator[embedded.PostgreSQL]:
    """A durable PostgreSQL of its own, to be killed."""
    server = embedded.PostgreSQL(VAR / "crashing")
    server.start()
    yield server
    server.stop()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_killed_database_is_never_one_put_back(
    db: None, crashing: embedded.PostgreSQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked while it is killed, it gives its identity or an error, and nothing between."""
    whole = set()
    chance = random.Random(3)
    for _ in range(4):
        until = time.monotonic() + chance.uniform(0.3, 1.5)
        killed = False
        while time.monotonic() < until + 3:
            if not killed and time.monotonic() > until:
                pid = int((crashing.cluster / "postmaster.pid").read_text().split()[0])
                os.kill(pid, signal.SIGKILL)
                killed = True
            with contextlib.suppress(DatabaseError):
                whole.add(identity_of(crashing, monkeypatch))
    assert len(whole) == 1


def identity_of(server: embedded.PostgreSQL, monkeypatch: pytest.MonkeyPatch) -> str:
    values = {
        **connection.settings_dict,
        "HOST": str(server.socket_dir),
        "USER": "postgres",
        "NAME": "postgres",
    }
    values["ENGINE"] = "authzsite.bounded_database"
    other = ConnectionHandler({"default": values})["default"]
    with monkeypatch.context() as patch:
        patch.setattr(restored, "connection", other)
        patch.setattr(restored.transaction, "atomic", lambda: contextlib.nullcontext())
        try:
            return restored.identity()
        finally:
            other.close()

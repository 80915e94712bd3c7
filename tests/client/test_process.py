"""A console that is killed and started again: what is held serves, is given up, and comes back by itself."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from django.conf import settings

from accounts import tokens
from lakewarden.client import Client, ConsoleError, Unavailable
from lakewarden.client.fresh_snapshot import FreshSnapshot
from lakewarden.law.objects import ObjectRef
from tests.api.test_two_processes import database_url
from tests.api.world import Shop, make_shop, user
from tests.ports import free_port
from tests.waiting import PATIENCE

from .site import Clock

ORDERS = ObjectRef("table", "demo", ("shop", "sales", "orders"))


class Process:
    """One gunicorn worker of the site, over the database of these tests."""

    def __init__(self) -> None:
        self.port = free_port()
        self._running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        environment = {
            **os.environ,
            "DATABASE_URL": database_url(),
            "DJANGO_SETTINGS_MODULE": settings.SETTINGS_MODULE,
            "PYTHONPATH": os.pathsep.join([str(settings.BASE_DIR), os.environ.get("PYTHONPATH", "")]),
            "ALLOWED_HOSTS": "127.0.0.1",
        }
        command = [sys.executable, "-m", "gunicorn", "authzsite.wsgi", "--bind", f"127.0.0.1:{self.port}"]
        # the first call imports all routes, which takes longer on a busy machine than gunicorn would wait
        command += ["--timeout", f"{PATIENCE:.0f}", "--log-level", "error"]
        self._running = subprocess.Popen(command, env=environment)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self._running.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return
            time.sleep(0.1)
        raise AssertionError("gunicorn did not start")

    def kill(self) -> None:
        if self._running is not None:
            self._running.terminate()
            try:
                self._running.wait(120)
            except subprocess.TimeoutExpired:
                self._running.kill()
                self._running.wait(120)
            self._running = None


@pytest.fixture
def process(transactional_db: None) -> Iterator[Process]:
    process = Process()
    yield process
    process.kill()


@pytest.mark.django_db(transaction=True)
@pytest.mark.seed("S2-036", "S2-037", "S2-038")
def test_it_goes_away_and_comes_back(process: Process) -> None:
    shop: Shop = make_shop()
    shop.allow(shop.sales, "SELECT_TABLE")
    client = Client(
        f"http://127.0.0.1:{process.port}", tokens.create(user("ana")), attempts=1, timeout=PATIENCE
    )
    clock = Clock()
    held = FreshSnapshot(client, "demo", refresh=10, failures=2, clock=clock)
    with pytest.raises(Unavailable):
        held.current()
    process.start()
    clock.ahead += 2
    assert held.current().decide("read", ORDERS, now=clock())
    process.kill()
    clock.ahead += 11
    assert held.current().decide("read", ORDERS, now=clock())
    clock.ahead += 11
    with pytest.raises(ConsoleError):
        held.current()
    shop.take(shop.sales, "SELECT_TABLE")
    process.start()
    clock.ahead += 2
    assert not held.current().decide("read", ORDERS, now=clock())

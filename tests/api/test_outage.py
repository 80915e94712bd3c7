"""The console's database is away or hangs: 503 in each surface's form, soon, and clients that come again."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.db.backends.postgresql import base as postgresql
from psycopg.waiting import READY_W, WAIT_W

from authzsite.api import health
from authzsite.bounded_database import base as bounded
from lakewarden.client import Client, ConsoleError
from policies.record import outbox, wakeups
from policies.sync.backends.shared.bounded_connection import TookTooLong, WatchedConnection, patience
from tests.api.world import make_shop, token
from tests.ports import free_port
from tests.standins.faults import Proxy
from tests.waiting import PATIENCE, until

CALLS = {
    "/access/v1/evaluation": "application/json",
    "/authz/v1/grants": "application/problem+json",
    "/herd-app/rest/currentUser": "application/json",
    "/v3/security/authorization/roles": "text/plain; charset=utf-8",
    "/v1/execute/enforce": "text/plain; charset=utf-8",
    "/api/metalakes": "application/json",
    "/metrics": "application/problem+json",
    "/catalog": "text/html; charset=utf-8",
}
ASK = """
import json, sys, time
import django; django.setup()
from django.test import Client
for path in sys.argv[1:]:
    client = Client(SERVER_NAME="localhost", raise_request_exception=False)
    client.cookies["lakewarden_session"] = "x" * 32
    headers = {} if path in ("/catalog", "/metrics") else {"Authorization": "Bearer lw_" + "x" * 43}
    began = time.monotonic()
    post = path.startswith(("/access", "/v1"))
    body = {"data": "{}", "content_type": "application/json"} if post else {}
    answer = (client.post if post else client.get)(path, headers=headers, **body)
    print(json.dumps({
        "path": path, "status": answer.status_code, "type": answer.headers.get("Content-Type"),
        "after": answer.headers.get("Retry-After"), "seconds": time.monotonic() - began,
        "body": answer.content.decode(),
    }), flush=True)
"""


@pytest.fixture
def nobody_answers() -> Iterator[int]:
    """A port where calls are taken and never answered."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield taken.getsockname()[1]


def asked(database: str, *paths: str) -> list[dict[str, Any]]:
    environment = {**os.environ, "DATABASE_URL": database, "DJANGO_SETTINGS_MODULE": settings.SETTINGS_MODULE}
    done = subprocess.run(
        [sys.executable, "-c", ASK, *paths], env=environment, capture_output=True, text=True, check=True
    )
    assert "s3cret" not in done.stdout
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def test_without_its_database_every_surface_says_when_to_come_again(redis_url: str) -> None:
    answers = asked("postgresql://console:s3cret@127.0.0.1:9/lakewarden", *CALLS)
    assert {answer["path"]: (answer["status"], answer["type"], answer["after"]) for answer in answers} == {
        path: (503, form, "2") for path, form in CALLS.items()
    }
    bodies = {answer["path"]: answer["body"] for answer in answers}
    assert json.loads(bodies["/api/metalakes"])["code"] == 1002
    assert json.loads(bodies["/herd-app/rest/currentUser"])["statusCode"] == 503
    assert json.loads(bodies["/authz/v1/grants"])["status"] == 503
    assert "no decision was made" in json.loads(bodies["/access/v1/evaluation"])
    assert "The console cannot answer now" in bodies["/catalog"]


def test_a_database_that_hangs_is_answered_for_within_seconds(redis_url: str, nobody_answers: int) -> None:
    database = f"postgresql://console:s3cret@127.0.0.1:{nobody_answers}/lakewarden"
    paths = ("/health/live", "/access/v1/evaluation", "/api/metalakes", "/catalog", "/health/ready")
    _, *calls, ready = asked(database, *paths)  # the first reads the program in
    assert [call["status"] for call in calls] == [503, 503, 503]
    assert all(call["seconds"] < 60 for call in calls)
    assert (ready["status"], ready["seconds"] < 60) == (503, True)
    assert "database: FAILED - no answer within 1.2 s" in ready["body"]


def test_a_redis_that_hangs_costs_readiness_two_seconds_and_a_change_nothing(
    db: None, client: Any, nobody_answers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.get("/health/ready")  # reads once which migrations there are
    monkeypatch.setattr(settings, "REDIS_URL", f"redis://127.0.0.1:{nobody_answers}/0")
    monkeypatch.setattr(health, "WITHIN", 4.0)
    began = time.monotonic()
    answer = client.get("/health/ready")
    assert (answer.status_code, time.monotonic() - began < 60) == (200, True)
    assert "redis: late" in answer.content.decode()
    monkeypatch.setattr(wakeups.current_app, "send_task", lambda *_, **__: time.sleep(3))
    began = time.monotonic()
    for number in range(wakeups.MOST + 10):
        outbox._nudge(number, "work")
    assert time.monotonic() - began < 60  # each waited for would be three seconds


def database_url(proxy: Proxy) -> str:
    values = connection.settings_dict
    return f"postgresql://{values['USER']}@127.0.0.1:{proxy.port}/{values['NAME']}"


@pytest.fixture
def console_line(db: None) -> Iterator[Proxy]:
    with Proxy(f"{connection.settings_dict['HOST']}/.s.PGSQL.5432") as proxy:
        yield proxy


class Hasty(WatchedConnection):
    """Looks soon whether the server is at work; the test's own connection to it stays patient."""

    looks_after = 0.3
    asks_for = 1.0
    hears_within = 0.5


def test_a_slow_statement_is_waited_for_and_a_lost_answer_is_not(
    console_line: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Hasty.connect(database_url(console_line), autocommit=True) as line:
        monkeypatch.setattr(line, "asks_for", 60.0)
        assert line.execute("SELECT 1 FROM pg_sleep(2)").fetchone() == (1,)
        console_line.become("lose", old_only=True)  # whoever asks anew is answered
        began = time.monotonic()
        with pytest.raises(TookTooLong):
            line.execute("SELECT 1")
        assert time.monotonic() - began < 60
        assert line.closed


def sending(answers: int) -> Generator[int, int, str]:
    """A statement that is sent in so many parts, each of which takes longer than one look."""
    for _ in range(answers):
        ready = yield WAIT_W
        assert ready == READY_W
        time.sleep(0.02)
    return "sent"


def test_a_wait_goes_on_where_it_was_while_something_comes_through(
    console_line: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Hasty.connect(database_url(console_line), autocommit=True) as line:
        monkeypatch.setattr(line, "looks_after", 0.01)
        assert line.wait(sending(4)) == "sent"


def test_an_answer_that_comes_while_the_server_is_asked_is_heard(
    console_line: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Hasty.connect(database_url(console_line), autocommit=True) as line:
        monkeypatch.setattr(line, "looks_after", 0.0)
        monkeypatch.setattr(line, "hears_within", 60.0)
        monkeypatch.setattr(line, "_is_worked_on", lambda: time.sleep(0.5))
        assert line.execute("SELECT 1 FROM pg_sleep(0.2)").fetchone() == (1,)


def test_a_database_that_freezes_under_a_statement_is_noticed(console_line: Proxy) -> None:
    line = Hasty.connect(database_url(console_line), autocommit=True)
    console_line.become("freeze")
    began = time.monotonic()
    with pytest.raises(TookTooLong):
        line.execute("SELECT 1")
    assert time.monotonic() - began < 60


def test_patience_bounds_one_answer(console_line: Proxy) -> None:
    with WatchedConnection.connect(database_url(console_line), autocommit=True) as line:
        with patience(0.3), pytest.raises(TookTooLong):
            line.execute("SELECT pg_sleep(5)")
        assert line.closed


def test_a_line_that_just_answered_is_asked_nothing_and_a_dead_one_is_heard(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def no(self: object) -> bool:
        asked.append(1)
        return False

    monkeypatch.setattr(postgresql.DatabaseWrapper, "is_usable", no)
    monkeypatch.setattr(bounded, "HEARD_WITHIN", 3600.0)
    line: Any = connection.copy()
    with line.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (number,) = cursor.fetchone()
    try:
        assert (line.is_usable(), asked) == (True, [])
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 30000)", [number])
        assert (line.is_usable(), asked) == (False, [1])
        monkeypatch.setattr(bounded, "HEARD_WITHIN", -1.0)
        assert (line.is_usable(), asked) == (False, [1, 1])
    finally:
        line.close()


@pytest.fixture
def console(transactional_db: None, redis_url: str) -> Iterator[tuple[str, Proxy]]:
    """A web server of its own whose database is behind a line that can fail."""
    port = free_port()
    with Proxy(f"{connection.settings_dict['HOST']}/.s.PGSQL.5432") as proxy:
        environment = os.environ | {"DATABASE_URL": database_url(proxy), "REDIS_URL": redis_url}
        command = [sys.executable, "-m", "gunicorn", "authzsite.wsgi", f"--bind=127.0.0.1:{port}"]
        options = ["--worker-class=gthread", "--threads=4", "--log-level=warning", "--no-control-socket"]
        server = subprocess.Popen([*command, *options], env=environment)
        try:
            yield f"http://127.0.0.1:{port}", proxy
        finally:
            server.terminate()
            server.wait(PATIENCE)


def answered(client: Client, question: tuple[str, str, str]) -> bool:
    try:
        return bool(client.check(*question))
    except ConsoleError:
        return False


def test_a_failover_of_two_seconds_fails_no_job(console: tuple[str, Proxy]) -> None:
    url, proxy = console
    shop = make_shop()
    shop.allow(shop.sales, "USE_SCHEMA", "SELECT_TABLE")
    shop.allow(shop.catalog, "USE_CATALOG")
    client = Client(url, token("user", "ana"), timeout=60.0, attempts=4)
    question = ("user:ana", "Table.loadTable", "table:demo/shop.sales.orders")
    until(lambda: answered(client, question))  # once the server listens
    proxy.become("refuse")
    threading.Timer(2.0, proxy.become, ["pass"]).start()
    began = time.monotonic()
    assert client.check(*question)
    assert time.monotonic() - began > 1

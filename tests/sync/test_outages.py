"""Backends that hang, drip or are cut off: no worker is kept, the state says so, nothing is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from accounts import people
from lakewarden.backends.errors import BackendError, NotAnswering, Transient
from policies import tasks
from policies.models import Backend, Notice, OutboxEntry
from policies.secrets import encrypt
from policies.services import grants
from policies.services.grants import GrantRequest
from policies.sync import worker
from policies.sync.backends.mariadb import client as mariadb_client
from policies.sync.backends.mariadb import kind as mariadb
from policies.sync.backends.posix import kind as posix
from policies.sync.backends.postgresql import client as postgresql_client
from policies.sync.backends.shared import rest, supervised
from policies.sync.backends.shared.rest import Address, Rest, by_password
from policies.sync.connections.destinations import network
from policies.sync.runs import lease, worker_limit
from policies.sync.safeguards import alerts
from tests.factories import acting, owned, rewritten, the
from tests.standins.faults import Proxy
from tests.sync.conftest import Source
from tests.waiting import PATIENCE, until

ORDERS = "shop.sales.orders"
SOON = 1.0
LONGEST = 35.0
"""Seconds; whoever waits for what hangs as long as elsewhere takes longer."""


@contextmanager
def hasty(mode: str) -> Iterator[None]:
    """While something hangs, what takes 40 seconds elsewhere takes one; a line that is cut is not waited for.

    What works may take its time on a busy machine.
    """
    with pytest.MonkeyPatch.context() as patch:
        if mode != "cut":
            patch.setattr(postgresql_client.Connection, "limit", SOON)
            patch.setattr(mariadb_client, "LONGEST", SOON)
            patch.setattr(rest, "TIMEOUT", SOON)
            patch.setattr(rest, "GRACE", SOON / 2)
        yield


@pytest.fixture
def line(governed: Backend, source: Source) -> Iterator[Proxy]:
    """The shop's database behind a line that can fail; all that was decided is there, and Ana reads."""
    with Proxy(str(source.server.socket_dir / ".s.PGSQL.5432")) as proxy:
        url = source.url().partition("?")[0].replace("@/", f"@127.0.0.1:{proxy.port}/")
        place = f"127.0.0.1:{proxy.port}/{source.database}"
        rewritten(Backend.objects.all(), sealed_url=encrypt(url), place=place, source="")
        wish = GrantRequest(the("table", ORDERS), (people.ensure("user", "ana"),), ("SELECT_TABLE",))
        grants.add(wish, by=acting("olivia"))
        tasks.deliver(governed.pk)
        assert source.reads("ana"), Backend.objects.get().error
        yield proxy


def revoke() -> None:
    grants.remove(the("table", ORDERS), [people.ensure("user", "ana")], ["SELECT_TABLE"], by=acting("olivia"))


def during_revoke(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], None]) -> None:
    """Have something happen when the revocation is sent to the backend."""
    run = postgresql_client.Transaction.run

    def sent(self: Any, statement: Any) -> None:
        if "REVOKE" in statement.as_string(None):
            happens()
        run(self, statement)

    monkeypatch.setattr(postgresql_client.Transaction, "run", sent)


@pytest.mark.parametrize(
    ("mode", "state"), [("freeze", "silent"), ("lose", "silent"), ("drip", "silent"), ("cut", "behind")]
)
def test_a_line_that_fails_at_its_revocation_is_told_and_keeps_no_worker(
    line: Proxy, source: Source, monkeypatch: pytest.MonkeyPatch, mode: str, state: str
) -> None:
    revoke()
    with hasty(mode), monkeypatch.context() as patch:
        during_revoke(patch, lambda: line.become(mode, old_only=True))
        started = time.monotonic()
        worker.deliver(Backend.objects.get())
        assert time.monotonic() - started < LONGEST
    row = Backend.objects.get()
    assert row.state == state
    assert row.error
    assert OutboxEntry.objects.exists()
    line.become("pass")
    line.cut()
    OutboxEntry.objects.update(due=timezone.now())
    tasks.deliver(row.pk)
    assert Backend.objects.get().state == "in_sync"
    assert not source.reads("ana")


def test_a_server_that_answers_nobody_is_not_answering_everywhere(
    line: Proxy, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    owned(the("catalog", "shop"), "olivia")
    client.force_login(people.make_account("olivia"), backend="django.contrib.auth.backends.ModelBackend")
    row = Backend.objects.get()
    with hasty("freeze"), monkeypatch.context() as patch:
        line.become("freeze")
        patch.setattr(postgresql_client, "_CONNECT_SECONDS", 2)
        tasks.look(row.pk)
    assert Backend.objects.get().state == "silent"
    notices = Notice.objects.filter(kind="sync.silent", recipient__name="olivia")
    assert notices.get().done is None
    assert "does not answer" in client.get("/").content.decode()
    assert "Not answering" in client.get(f"/sync/{row.pk}").content.decode()
    line.become("pass")
    tasks.look(row.pk)
    assert Backend.objects.get().state == "in_sync"
    assert notices.get().done is not None


def test_a_revocation_that_is_overdue_is_told_until_it_is_applied(line: Proxy, source: Source) -> None:
    owned(the("catalog", "shop"), "olivia")
    people.make_account("olivia")
    line.become("refuse")
    revoke()
    worker.deliver(Backend.objects.get())
    notices = Notice.objects.filter(kind="sync.overdue", recipient__name="olivia")
    alerts.look_at_overdue(timezone.now())
    assert not notices.exists()
    alerts.look_at_overdue(timezone.now() + timedelta(seconds=90))
    assert notices.get().done is None
    line.become("pass")
    OutboxEntry.objects.update(due=timezone.now())
    tasks.deliver(Backend.objects.get().pk)
    alerts.look_at_overdue(timezone.now() + timedelta(seconds=90))
    assert notices.get().done is not None
    assert not source.reads("ana")


@pytest.mark.parametrize("mode", ["freeze", "lose", "drip", "cut"])
def test_a_mariadb_that_hangs_is_left_in_time(mariadb_server: Any, mode: str) -> None:
    with Proxy(str(mariadb_server.socket)) as proxy:
        there = mariadb.open(
            f"mariadb://root@127.0.0.1:{proxy.port}/", realm="demo", mark="backend-1", network=network()
        )
        assert there.observe().complete
        started = time.monotonic()
        proxy.become(mode)
        with hasty(mode), pytest.raises(Transient if mode == "cut" else NotAnswering):
            there.observe()
        there.close()
        assert time.monotonic() - started < LONGEST


@pytest.mark.parametrize("mode", ["freeze", "lose", "drip", "cut"])
def test_an_api_that_hangs_is_left_in_time(mode: str) -> None:
    with http_server() as port, Proxy(("127.0.0.1", port)) as proxy:
        at = Address(False, "127.0.0.1", proxy.port, ())
        with hasty(mode):
            there = Rest(at, by_password(at), network=network(), explain=lambda body, plain: plain)
        until(lambda: answers(there))
        started = time.monotonic()
        proxy.become(mode)
        with hasty(mode), pytest.raises(Transient if mode == "cut" else NotAnswering):
            there.get("x")
        there.close()
        assert time.monotonic() - started < LONGEST


def answers(there: Rest) -> bool:
    try:
        return there.get("x") == {}
    except NotAnswering:
        return False


def http_server() -> Any:
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: Any) -> None:
            pass

    @contextmanager
    def served() -> Iterator[int]:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()
        server.server_close()

    return served()


def test_a_mounted_tree_that_hangs_is_left_behind_and_changes_nothing_when_it_wakes(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = posix.open(f"posix://{tmp_path}", realm="demo", mark="backend-1")
    monkeypatch.setattr(there, "_longest", SOON)
    wakes, went_on = threading.Event(), threading.Event()

    def hangs() -> None:
        wakes.wait(PATIENCE)
        supervised.comes_further()
        went_on.set()

    monkeypatch.setattr(there._inner, "observe", hangs)
    with pytest.raises(NotAnswering, match="gave no answer"):
        there.observe()
    with pytest.raises(NotAnswering, match="an earlier call"):
        list(there.apply(None))
    wakes.set()
    monkeypatch.undo()
    until(supervised._left_behind[there._place].done.is_set)
    assert not went_on.is_set()
    assert there.observe().complete in (True, False)


def test_a_call_that_comes_further_may_take_its_time(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    there = posix.open(f"posix://{tmp_path}", realm="demo", mark="backend-1")
    monkeypatch.setattr(there, "_longest", 10.0)
    clock = [0.0]
    monkeypatch.setattr(supervised, "time", SimpleNamespace(monotonic=lambda: clock[0]))

    def slow() -> str:
        for _ in range(6):
            clock[0] += 9.0
            supervised.comes_further()
            time.sleep(0.4)  # it is looked at each second
        return "read"

    monkeypatch.setattr(there._inner, "observe", slow)
    assert there.observe() == "read"


def test_a_worker_that_says_nothing_loses_its_backend(governed: Backend, source: Source) -> None:
    values = connection.settings_dict
    info = {"host": values["HOST"], "user": values["USER"], "dbname": values["NAME"]}
    with psycopg.connect(**info, autocommit=True) as frozen:
        frozen.execute("SELECT pg_advisory_lock(%s, %s)", [lease.LOCKS, governed.pk])
        assert worker.deliver(governed) is None
        assert lease.take_from_the_silent() == []
        time.sleep(0.3)
        assert lease.take_from_the_silent(after=0.2) == [governed.pk]
        with pytest.raises(psycopg.OperationalError):
            frozen.execute("SELECT 1")
        frozen.close()
    report = worker.now(governed)
    assert report.settled
    assert source.reads("mia")


def test_a_worker_asks_whether_it_still_has_its_backend_before_each_call(
    governed: Backend, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    def taken() -> None:
        raise BackendError("the session is gone")

    monkeypatch.setattr(lease, "still_ours", taken)
    with pytest.raises(BackendError, match="the session is gone"):
        worker.now(governed)
    assert not source.reads("mia")


def test_one_server_does_not_get_all_hands(governed: Backend) -> None:
    other = Backend.objects.get()
    values = connection.settings_dict
    info = {"host": values["HOST"], "user": values["USER"], "dbname": values["NAME"]}
    for urgent, many in ((True, worker_limit.URGENT), (False, worker_limit.OTHERS)):
        with psycopg.connect(**info, autocommit=True) as elsewhere:
            for place in worker_limit._places(other, urgent=urgent):
                with worker_limit.at_server(other, urgent=urgent) as free:
                    assert free
                assert elsewhere.execute(
                    "SELECT pg_try_advisory_lock(%s, %s)", [worker_limit._LOCKS, worker_limit._number(place)]
                ).fetchone() == (True,)
            assert len(worker_limit._places(other, urgent=urgent)) == many
            with worker_limit.at_server(other, urgent=urgent) as free:
                assert not free
    Backend.objects.update(state="silent")
    assert (
        worker_limit._places(other, urgent=True)
        == worker_limit._places(other, urgent=False)
        == ["silent 0", "silent 1"]
    )

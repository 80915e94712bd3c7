"""Embedded servers live as long as somebody uses them, and nobody's death wedges them."""

from __future__ import annotations

import fcntl
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from authzsite import embedded
from authzsite.embedded import keeper
from authzsite.embedded.server import LONGEST_SOCKET
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]
USER = """
import sys, time
from pathlib import Path
from authzsite import embedded
from authzsite.embedded import keeper
embedded.PostgreSQL(Path(sys.argv[1]), durable=False).start()
print("ready", flush=True)
time.sleep(600)
"""


def keeper_of(server: embedded.Server) -> int:
    return int((server.home / "keeper.lock").read_text())


def postmaster_of(server: embedded.PostgreSQL) -> int:
    return int((server.cluster / "postmaster.pid").read_text().split()[0])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[embedded.PostgreSQL]:
    server = embedded.PostgreSQL(tmp_path_factory.mktemp("kept") / "postgresql", durable=False)
    yield server
    server.stop()


@pytest.fixture
def other_user(server: embedded.PostgreSQL) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", USER, str(server.home)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def test_the_console_has_a_database_and_no_superuser(server: embedded.PostgreSQL) -> None:
    server.start()
    with psycopg.connect(server.url(embedded.CONSOLE, embedded.CONSOLE)) as connection:
        role = connection.execute(
            "SELECT rolsuper, rolcreatedb FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
    assert role == (False, True)


def test_it_listens_on_no_network(server: embedded.PostgreSQL) -> None:
    server.start()
    with psycopg.connect(server.url()) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
    assert server.socket_dir.stat().st_mode & 0o077 == 0


def test_it_stays_while_another_uses_it(
    server: embedded.PostgreSQL, other_user: subprocess.Popen[str]
) -> None:
    server.start()
    assert not server.stop()
    assert server.answers()


def test_it_goes_when_the_last_user_is_killed(
    server: embedded.PostgreSQL, other_user: subprocess.Popen[str]
) -> None:
    server.release()
    assert server.running
    other_user.kill()
    until(lambda: not server.running)
    assert not server.accepts()


def test_a_killed_postmaster_comes_back(server: embedded.PostgreSQL) -> None:
    server.start()
    first = postmaster_of(server)
    os.kill(first, signal.SIGKILL)
    # nobody need see the moment in which it does not answer
    until(lambda: server.answers() and postmaster_of(server) != first)


def test_a_killed_keeper_leaves_nothing_in_the_way(server: embedded.PostgreSQL) -> None:
    server.start()
    os.kill(keeper_of(server), signal.SIGKILL)
    until(lambda: not server.accepts())
    server.start()
    assert server.answers()


def test_the_pid_file_of_a_lost_server_does_not_stop_a_start(server: embedded.PostgreSQL) -> None:
    assert server.stop()
    (server.cluster / "postmaster.pid").write_text(f"{os.getpid()}\n{server.cluster}\n")
    server.start()
    assert server.answers()


def test_a_half_made_cluster_is_made_anew(tmp_path: Path) -> None:
    server = embedded.PostgreSQL(tmp_path / "postgresql", version=16, durable=False)
    (server.home / "cluster.new").mkdir(parents=True)
    server.start()
    try:
        assert server.answers()
    finally:
        server.stop()


def test_a_long_path_has_its_socket_elsewhere(tmp_path: Path) -> None:
    server = embedded.PostgreSQL(tmp_path / ("long" * 30))
    assert len(os.fsencode(server.socket)) <= LONGEST_SOCKET
    assert server.socket.parent.name.startswith("lakewarden-")


def test_a_socket_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "socket").symlink_to(tmp_path / "real")
    with pytest.raises(embedded.CannotStart, match="somebody else"):
        embedded.Redis(tmp_path).prepare()


def test_redis_answers_and_goes(tmp_path: Path) -> None:
    server = embedded.Redis(tmp_path / "redis")
    server.start()
    assert server.answers()
    assert server.stop()
    assert not server.accepts()


def test_a_user_who_is_just_leaving_does_not_keep_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("authzsite.embedded.server.USER_WAIT", 60.0)  # a moment, on a busy machine
    server = embedded.Redis(tmp_path / "redis")
    server.start()
    user = keeper.open_lock(str(server.home), "users.lock")
    fcntl.flock(user, fcntl.LOCK_SH)
    threading.Timer(0.3, os.close, [user]).start()
    assert server.stop()


def test_whoever_comes_while_the_server_is_leaving_gets_it_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("authzsite.embedded.server.GRACE", 0.1)
    chance = random.Random(3)
    server = embedded.Redis(tmp_path / "redis")
    for _ in range(12):
        server.start()
        assert server.answers()
        server.release()
        time.sleep(chance.uniform(0.2, 0.9))
    server.stop()


# who comes in

TRUST = "local all all trust\n"


def own(folder: Path, *, passwords: bool) -> embedded.PostgreSQL:
    return embedded.PostgreSQL(folder / "own", version=16, passwords=passwords, durable=False)


def enters(server: embedded.PostgreSQL, password: str = "") -> bool:
    try:
        psycopg.connect(server.url("postgres", password=password)).close()
    except psycopg.OperationalError:
        return False
    return True


@pytest.mark.parametrize("passwords", [True, False], ids=["the shop's", "the console's"])
def test_nobody_is_trusted_by_name(tmp_path: Path, passwords: bool) -> None:
    server = own(tmp_path, passwords=passwords)
    server.start()
    try:
        rules = (server.cluster / "pg_hba.conf").read_text()
        assert "trust" not in rules
        # the console connects where and as whom somebody else says, so it must not come in by itself
        assert enters(server) is not passwords
        assert not (passwords and enters(server, "wrong"))
        with psycopg.connect(server.url()) as connection:
            assert connection.execute("SELECT current_user").fetchone() == ("postgres",)
        kept = server.kept_password
        assert kept.exists() is passwords
        assert not passwords or kept.stat().st_mode & 0o777 == 0o600
        for place in (server.home, server.socket_dir, server.cluster, server.log):
            assert place.stat().st_mode & 0o067 == 0, place
    finally:
        server.stop()


@pytest.mark.parametrize("runs", [True, False], ids=["while it runs", "at its start"])
@pytest.mark.parametrize("passwords", [True, False], ids=["the shop's", "the console's"])
def test_one_that_trusted_everybody_no_longer_does(tmp_path: Path, passwords: bool, runs: bool) -> None:
    before = own(tmp_path, passwords=passwords)
    before.start()
    (before.cluster / "pg_hba.conf").write_text(TRUST)
    with psycopg.connect(before.url(), autocommit=True) as connection:
        connection.execute("ALTER ROLE postgres PASSWORD NULL")
        connection.execute("SELECT pg_reload_conf()")
    before.kept_password.unlink(missing_ok=True)
    if not runs:
        before.stop()
    now = own(tmp_path, passwords=passwords)
    now.start()
    try:
        assert "trust" not in (now.cluster / "pg_hba.conf").read_text()
        until(lambda: enters(now) is not passwords)
        psycopg.connect(now.url()).close()
    finally:
        before.release()
        now.stop()


def test_what_make_run_finds_open_it_closes(tmp_path: Path) -> None:
    from authzsite.runtime.processes import _make_private

    umask = os.umask(0o022)
    try:
        var = tmp_path / "var"
        var.mkdir(mode=0o755)
        (var / "checkpoints.txt").write_text("1\n")
        _make_private(var)
        (var / "log").write_text("")
        assert [place.stat().st_mode & 0o067 for place in (var, *var.iterdir())] == [0, 0, 0]
    finally:
        os.umask(umask)

"""What is done to a site: each fault begins, and ends before the site is looked at."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

import psutil
import psycopg
import redis
from django.conf import settings

from tests.torture.site import Site, end

Fault = Callable[[Site, random.Random], Iterator[None]]


def _killed(part: str) -> Fault:
    def fault(site: Site, chance: random.Random) -> Iterator[None]:
        end(site.pid_of(f"{part} {chance.choice((1, 2))}"))
        yield

    return fault


def _both_killed(part: str) -> Fault:
    def fault(site: Site, _: random.Random) -> Iterator[None]:
        for number in (1, 2):
            end(site.pid_of(f"{part} {number}"))
        yield

    return fault


def _a_web_child_killed(site: Site, chance: random.Random) -> Iterator[None]:
    for child in site.web_children(f"web {chance.choice((1, 2))}")[: chance.choice((1, 2))]:
        end(child)
    yield


def _stopped(part: str) -> Fault:
    """A process that hangs with all it holds, and goes on later."""

    def fault(site: Site, chance: random.Random) -> Iterator[None]:
        pid = site.pid_of(f"{part} {chance.choice((1, 2))}")
        end(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            end(pid, signal.SIGCONT)

    return fault


def _redis_killed(site: Site, _: random.Random) -> Iterator[None]:
    end(site.redis_itself())
    yield


def _redis_keeper_killed(site: Site, _: random.Random) -> Iterator[None]:
    end(site.keeper_of(site.redis))
    yield


def _redis_hangs(site: Site, _: random.Random) -> Iterator[None]:
    pid = site.redis_itself()
    end(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        end(pid, signal.SIGCONT)


def _database_killed(site: Site, _: random.Random) -> Iterator[None]:
    end(site.postmaster_of(site.database))
    yield


def _database_keeper_killed(site: Site, _: random.Random) -> Iterator[None]:
    end(site.keeper_of(site.database))
    yield


def _database_session_killed(site: Site, chance: random.Random) -> Iterator[None]:
    """One process of the server, which then ends all sessions and recovers."""
    with suppress(psutil.NoSuchProcess):
        sessions = psutil.Process(site.postmaster_of(site.database)).children()
        end(chance.choice(sessions).pid if sessions else 0)
    yield


def _sessions_ended(site: Site, _: random.Random) -> Iterator[None]:
    """Every connection to the console's database is cut, as by a failing network."""
    with suppress(psycopg.Error), psycopg.connect(site.database.url(), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
    yield


def _governed_killed(site: Site, _: random.Random) -> Iterator[None]:
    end(site.postmaster_of(site.governed))
    yield


def _link(mode: str) -> Fault:
    def fault(site: Site, chance: random.Random) -> Iterator[None]:
        site.line.become(mode, old_only=chance.random() < 0.3)
        try:
            yield
        finally:
            site.line.become("pass")
            site.line.cut()

    return fault


def _disk_full(site: Site, chance: random.Random) -> Iterator[None]:
    """Nothing more can be written where the console's database lies, at times not even its log."""
    if not site.has_disk:
        yield
        return
    ballast = site.database.home / "ballast"
    with suppress(OSError), ballast.open("wb") as file:
        while True:
            file.write(bytes(1 << 20))
            file.flush()
    try:
        if chance.random() < 0.5:  # a new segment, for which there is no room
            with suppress(psycopg.Error), psycopg.connect(site.database.url(), autocommit=True) as connection:
                connection.execute("SELECT pg_switch_wal()")
        yield
    finally:
        ballast.unlink()


def _nudges_lost(site: Site, _: random.Random) -> Iterator[None]:
    yield
    with suppress(redis.RedisError):
        redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2).flushall()


def _nudges_doubled(site: Site, _: random.Random) -> Iterator[None]:
    from policies.record import wakeups

    for queue in ("urgent", None, "urgent", None):
        wakeups.send("policies.tasks.deliver", site.backend, queue=queue)
    yield


FAULTS: Mapping[str, Fault] = {
    "a web process killed": _a_web_child_killed,
    "a web server killed": _killed("web"),
    "a worker killed": _killed("worker"),
    "a worker for what is urgent killed": _killed("urgent"),
    "both workers for what is urgent killed": _both_killed("urgent"),
    "a beat killed": _killed("beat"),
    "a worker hangs": _stopped("worker"),
    "a worker for what is urgent hangs": _stopped("urgent"),
    "Redis killed": _redis_killed,
    "Redis killed with its keeper": _redis_keeper_killed,
    "Redis hangs": _redis_hangs,
    "the console's PostgreSQL killed": _database_killed,
    "the console's PostgreSQL killed with its keeper": _database_keeper_killed,
    "a session of the console's PostgreSQL killed": _database_session_killed,
    "all sessions of the console's PostgreSQL cut": _sessions_ended,
    "the governed database killed": _governed_killed,
    "link to the governed database refused": _link("refuse"),
    "link cut at each word": _link("cut"),
    "link frozen": _link("freeze"),
    "link a byte at a time": _link("drip"),
    "link loses answers": _link("lose"),
    "the disk of the console's database full": _disk_full,
    "nudges lost": _nudges_lost,
    "nudges doubled": _nudges_doubled,
}


@contextmanager
def suffered(site: Site, names: list[str], chance: random.Random) -> Iterator[None]:
    """These faults, one after the other; they end in the same order."""
    under_way = [FAULTS[name](site, chance) for name in names]
    for fault in under_way:
        next(fault)
    try:
        yield
    finally:
        for fault in under_way:
            for _ in fault:
                raise RuntimeError("a fault has one beginning and one end")

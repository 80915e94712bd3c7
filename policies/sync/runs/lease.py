"""Who works on a backend: one worker at a time, and not for longer than it makes progress.

The lock is one of the worker's session in the console's database, so it goes with the session, however the
worker ends.  While it works it says so there by asking now and then; from one that says nothing (it is
stopped, its machine is frozen, the network between is cut) the session is taken, and the lock with it.  It
asks before each call to the backend too, so one that wakes up later does nothing more: its session is gone.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.db import connection

from lakewarden.backends.deadline import asking_before
from policies.models import Backend
from policies.record import session_locks

log = logging.getLogger(__name__)

LOCKS = 0x6F75_7462
LOST_AFTER = 150.0
"""Seconds without a word after which a worker has lost its backend."""
EVERY = 5.0
"""Seconds between two words."""

_last_word: ContextVar[float | None] = ContextVar("last_word", default=None)


@contextmanager
def only_worker(backend: Backend, *, wait: bool = False) -> Iterator[bool]:
    """Be the only worker on a backend; False when there is one, unless one is to `wait` for it."""
    with session_locks.held(LOCKS, backend.pk, wait=wait) as alone:
        token = _last_word.set(_now() if alone else None)
        try:
            with asking_before(still_ours):
                yield alone
        finally:
            _last_word.reset(token)


def still_ours() -> None:
    """Renew the lease, before a call to the backend.  Raises OperationalError once it was taken."""
    last = _last_word.get()
    if last is not None and _now() - last > EVERY:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        _last_word.set(_now())


def take_from_the_silent(after: float = LOST_AFTER) -> list[int]:
    """End the sessions of workers that said nothing for so many seconds; answers whose backends are free."""
    with connection.cursor() as cursor:
        cursor.execute(_SILENT, {"locks": LOCKS, "after": after})
        freed = [backend for backend, ended in cursor.fetchall() if ended]
    for backend in freed:
        log.warning("the worker of backend %s said nothing for %.0f s; another goes on", backend, after)
    return freed


_SILENT = """
    SELECT lock.objid::bigint, pg_terminate_backend(lock.pid)
      FROM pg_locks lock
      JOIN pg_database here ON here.oid = lock.database AND here.datname = current_database()
      JOIN pg_stat_activity session ON session.pid = lock.pid AND session.usename = current_user
     WHERE lock.locktype = 'advisory' AND lock.classid = %(locks)s AND lock.objsubid = 2 AND lock.granted
       AND lock.pid <> pg_backend_pid() AND session.state LIKE 'idle%%'
       AND session.state_change < clock_timestamp() - make_interval(secs => %(after)s)
"""


def _now() -> float:
    # goes on while the machine sleeps
    return time.clock_gettime(time.CLOCK_BOOTTIME)

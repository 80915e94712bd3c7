"""Jobs that one process does at a time: whoever holds the lock of a job does it.

It is a lock of the session of the process in the console's database.  So it needs no renewal, goes with the
process however that ends, and a job that takes long is never begun a second time while somebody is at it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet
from django.utils import timezone

AGAIN = timedelta(minutes=5)
"""So much later what was begun and not ended is begun again: what fails at once must not fail all day."""


@contextmanager
def held(jobs: int, job: int | str, *, wait: bool = False) -> Iterator[bool]:
    """Be the only process at a job; False when there is one, unless it is to `wait` for it."""
    mine = take(jobs, job, wait=wait)
    try:
        yield mine
    finally:
        if mine:
            give_back(jobs, job)


def take(jobs: int, job: int | str, *, wait: bool = False) -> bool:
    """Take the lock of a job, a number or a name among its kind; False when another process has it."""
    function = "pg_advisory_lock" if wait else "pg_try_advisory_lock"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s, {_number(job)})", [jobs, job])
        (acquired,) = cursor.fetchone() or (False,)
    return wait or bool(acquired)


def give_back(jobs: int, job: int | str) -> None:
    """Let others have it."""
    if connection.is_usable():
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT pg_advisory_unlock(%s, {_number(job)})", [jobs, job])
    elif not connection.in_atomic_block:
        connection.close()  # and the lock with it


def run_each(rows: QuerySet[Any], jobs: int, run: Callable[[Any], None]) -> None:
    """Run what waits, and what a process that is gone began and did not end; each row by one process.

    The rows say when they were `started` and `finished`; who runs one sets the second.
    """
    left = Q(started__isnull=True) | Q(started__lt=timezone.now() - AGAIN)
    for row in rows.filter(left, finished__isnull=True).order_by("pk"):
        with held(jobs, row.pk) as mine:
            # another may have begun it, or ended it, since it was read
            still = rows.filter(left, pk=row.pk, finished__isnull=True)
            if mine and still.update(started=timezone.now()):
                run(row)


def _number(job: int | str) -> str:
    return "hashtext(%s)" if isinstance(job, str) else "%s"

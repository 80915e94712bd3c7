"""A job is done by one process at a time, and taken up again when that one is gone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from policies.models import Verification
from policies.record import session_locks
from policies.record.verifications import LOCKS
from tests.waiting import until

pytestmark = pytest.mark.django_db


@pytest.fixture
def elsewhere() -> Iterator[psycopg.Connection]:
    """Another process's session."""
    values = connection.settings_dict
    info = {"host": values["HOST"], "user": values["USER"], "dbname": values["NAME"]}
    with psycopg.connect(**info, autocommit=True) as session:
        yield session


def begun(**ago: float) -> Verification:
    return Verification.objects.create(by="", total=0, started=timezone.now() - timedelta(**ago))


def run() -> list[int]:
    ran: list[int] = []
    session_locks.run_each(Verification.objects.all(), LOCKS, lambda row: ran.append(row.pk))
    return ran


def test_what_takes_long_is_not_begun_a_second_time(elsewhere: psycopg.Connection) -> None:
    row = begun(hours=2)
    elsewhere.execute("SELECT pg_advisory_lock(%s, %s)", [LOCKS, row.pk])
    assert run() == []
    elsewhere.close()  # killed: its lock goes with it, as soon as the server has noticed
    until(lambda: run() == [row.pk])


def test_what_ended_without_a_result_waits_and_what_has_one_stays() -> None:
    begun(seconds=1)
    late, done = begun(minutes=6), begun(minutes=6)
    Verification.objects.filter(pk=done.pk).update(finished=timezone.now())
    assert run() == [late.pk]
    assert run() == []  # it was begun just now


@pytest.mark.parametrize("job", [7, "file:/var/log/audit"])
def test_a_job_that_fails_is_free_for_others(job: int | str, elsewhere: psycopg.Connection) -> None:
    number = "hashtext(%s)" if isinstance(job, str) else "%s"

    def is_free() -> bool:
        answer = elsewhere.execute(f"SELECT pg_try_advisory_lock(%s, {number})", [LOCKS, job]).fetchone()
        elsewhere.execute("SELECT pg_advisory_unlock_all()")
        return answer == (True,)

    with pytest.raises(ValueError, match="broken"), session_locks.held(LOCKS, job) as mine:
        assert mine and not is_free()
        raise ValueError("broken")
    assert is_free()

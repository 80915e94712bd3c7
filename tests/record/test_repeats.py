"""The access log while many are refused: the record before the answer, how often soon after it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import replace
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import people
from accounts.models import Principal
from lakewarden.law.facts import Level
from policies.models import AccessCounter, AccessRecord, AccessRepeat
from policies.record import access_log, repeats
from policies.record.repeats import repeats as counted
from policies.record.verify import verify
from tests.api.test_two_processes import database_url
from tests.factories import the
from tests.policies.conftest import make_shop
from tests.waiting import PATIENCE, until


def refuse(who: Principal, what: str = "read", name: str = "demo/none") -> None:
    access_log.refused(who, what, None, name=name, via="test")


@pytest.fixture
def ana(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Principal:
    monkeypatch.setattr(repeats, "WRITTEN_EVERY", 3600.0)
    return people.ensure("user", "ana")


def test_the_first_is_committed_at_once_and_a_repeat_is_counted_without_a_query(ana: Principal) -> None:
    refuse(ana)
    assert AccessRecord.objects.count() == 1
    with CaptureQueriesContext(connection) as asked:
        for _ in range(5):
            refuse(ana)
    assert len(asked) == 0
    counted.write()
    assert AccessRepeat.objects.get().count == 6
    assert AccessRecord.objects.count() == 1


def test_another_processs_record_is_repeated_not_doubled(ana: Principal) -> None:
    refuse(ana)
    counted.forget()  # as in a process that never saw it
    refuse(ana)
    counted.write()
    assert [row.count for row in AccessRepeat.objects.all()] == [2]


def test_a_table_and_a_fileset_of_one_name_are_two(db: None) -> None:
    make_shop()
    ana, table = people.ensure("user", "ana"), the("table", "shop.sales.orders")
    fileset = replace(table, id=10**9, levels=(*table.levels[:-1], Level("fileset", 10**9)))
    for node in (table, fileset, table):
        access_log.looked(ana, "access", node, via="test")
    assert fileset.ref.id == table.ref.id
    assert list(AccessRecord.objects.order_by("pk").values_list("object_type", "repeat__count")) == [
        ("table", 2),
        ("fileset", 1),
    ]


def test_after_an_hour_the_same_is_a_record_again(ana: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(ana)
    later = timezone.now() + timedelta(hours=1, seconds=1)
    monkeypatch.setattr(timezone, "now", lambda: later)
    refuse(ana)
    assert AccessRecord.objects.count() == 2


def test_what_was_rolled_back_is_not_known(ana: Principal) -> None:
    with transaction.atomic():
        refuse(ana)
        transaction.set_rollback(True)
    refuse(ana)
    assert AccessRecord.objects.count() == 1


def test_counts_that_could_not_be_written_are_kept(ana: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(counts: object) -> None:
        raise DatabaseError("away")

    refuse(ana)
    refuse(ana)
    with monkeypatch.context() as broken:
        broken.setattr(repeats, "write", fails)
        with pytest.raises(DatabaseError):
            counted.write()
    refuse(ana)
    counted.write()
    assert AccessRepeat.objects.get().count == 3


def test_counts_are_written_soon_by_themselves(ana: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "WRITTEN_EVERY", 0.05)
    refuse(ana)
    refuse(ana)
    until(lambda: AccessRepeat.objects.get().count == 2)


def test_who_writes_waits_for_the_counts_that_another_thread_is_writing(
    ana: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a process that ends while its timer writes."""
    begun, goes_on, real = threading.Event(), threading.Event(), repeats.write

    def slow(counts: dict[int, int]) -> None:
        begun.set()
        goes_on.wait(PATIENCE)
        real(counts)

    monkeypatch.setattr(repeats, "write", slow)
    refuse(ana)
    refuse(ana)
    timer = threading.Thread(target=counted._write_soon)
    timer.start()
    assert begun.wait(PATIENCE)
    threading.Timer(0.3, goes_on.set).start()
    counted.write()
    assert AccessRepeat.objects.get().count == 2
    timer.join()


def test_a_process_that_ends_in_order_writes_what_it_counted(ana: Principal) -> None:
    code = (
        "import django; django.setup()\n"
        "from accounts import people\n"
        "from policies.record import access_log, repeats\n"
        "repeats.WRITTEN_EVERY = 3600.0\n"
        "for _ in range(4):\n"
        "    access_log.refused(people.ensure('user', 'ana'), 'read', None, name='demo/none', via='test')\n"
    )
    here = {"DATABASE_URL": database_url(), "DJANGO_SETTINGS_MODULE": settings.SETTINGS_MODULE}
    subprocess.run([sys.executable, "-c", code], env={**os.environ, **here}, check=True)
    assert AccessRepeat.objects.get().count == 4


def test_many_at_once_make_one_whole_chain(ana: Principal) -> None:
    def work(number: int) -> None:
        try:
            for at in range(10):
                batch = [access_log.Refusal(ana, "read", None, f"x{number}.{at}.{each}") for each in range(3)]
                access_log.refused_all(batch, via="test")
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert AccessRecord.objects.count() == AccessCounter.objects.get().size == 120
    assert AccessRepeat.objects.filter(count=1).count() == 120
    assert verify()

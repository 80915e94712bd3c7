"""Threads that refuse at once write one piece of the chain; each answers only when its own is committed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from accounts import people
from policies.models import AccessCounter, AccessRecord
from policies.record import access_log
from tests.factories import a_shop, the

THREADS = 6


class Waiting(list[Any]):
    """The waiting ones, with a sign when so many wait."""

    def __init__(self, many: int) -> None:
        super().__init__()
        self.many, self.there = many, threading.Event()

    def append(self, item: Any) -> None:
        super().append(item)
        if len(self) == self.many:
            self.there.set()


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Waiting:
    found = Waiting(THREADS)
    monkeypatch.setattr(access_log, "_waiting", found)
    return found


def together(work: Callable[[int], Any]) -> list[Future[Any]]:
    with ThreadPoolExecutor(THREADS) as threads:
        return [threads.submit(work, number) for number in range(THREADS)]


def rows(number: int) -> list[AccessRecord]:
    return [AccessRecord(operation=f"{number}.{at}") for at in range(number + 1)]


def test_who_waits_is_written_by_who_has_the_turn(monkeypatch: pytest.MonkeyPatch, waiting: Waiting) -> None:
    written: list[list[str]] = []

    def append(rows: Sequence[AccessRecord], counts: Sequence[int]) -> list[int]:
        assert waiting.there.wait(60) or written, "while the first is at the disk all others come"
        before = sum(map(len, written))
        written.append([row.operation for row in rows])
        assert len(rows) == len(counts)
        return list(range(before, before + len(rows)))

    monkeypatch.setattr(access_log, "_append", append)
    found = together(lambda number: access_log._append_together(rows(number), [1] * (number + 1)))
    everything = [name for part in written for name in part]
    for number, each in enumerate(found):
        assert [everything[at] for at in each.result()] == [row.operation for row in rows(number)]
    assert len(written) <= 2 and not waiting


def test_who_fails_fails_alone(monkeypatch: pytest.MonkeyPatch, waiting: Waiting) -> None:
    failed = []

    def append(rows: Sequence[AccessRecord], counts: Sequence[int]) -> list[int]:
        if not failed:
            assert waiting.there.wait(60), "all others wait"
            failed.append(rows[0].operation)
            raise ConnectionError
        return list(range(len(rows)))

    monkeypatch.setattr(access_log, "_append", append)
    found = together(lambda number: access_log._append_together(rows(number), [1] * (number + 1)))
    assert [isinstance(each.exception(), ConnectionError) for each in found].count(True) == 1
    assert not waiting


def test_the_chain_of_what_was_refused_at_once_is_whole(transactional_db: None) -> None:
    a_shop()
    orders, asked = the("table", "shop.sales.orders"), [f"p{number}" for number in range(THREADS)]
    persons = [people.ensure("user", name) for name in asked]
    size, ready = AccessCounter.objects.get().size, threading.Barrier(THREADS)

    def refuse(number: int) -> bool:
        try:
            ready.wait(60)
            access_log.refused(persons[number], "Table.loadTable", orders, via="authzen")
            with connection.cursor() as cursor:  # as anybody else sees it
                cursor.execute(
                    "SELECT count(*) FROM policies_accessrecord WHERE actor = %s", [persons[number].pseudonym]
                )
                return bool(cursor.fetchone() == (1,))
        finally:
            connection.close()

    assert all(each.result() for each in together(refuse))
    digest = ""
    for row in AccessRecord.objects.order_by("pk"):
        assert row.previous == digest or not digest
        digest = row.digest
        assert access_log.digest_of(row) == digest
    counter = AccessCounter.objects.get()
    assert (counter.size, counter.digest) == (size + THREADS, digest)

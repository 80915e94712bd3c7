"""Looking in turn, comparing at night, keeping to a rate, forgetting runs, telling who must do something."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts import people
from lakewarden.backends.base import Right, Step
from lakewarden.backends.errors import Rejected
from policies.models import Backend, Notice, OutboxEntry, SyncItem, SyncRun
from policies.models.sync import STUCK_AFTER
from policies.record import outbox
from policies.sync import reconcile, worker
from policies.sync.actions import operations
from policies.sync.runs import nightly, pruning
from policies.sync.safeguards import rate_limit
from tests.factories import acting, the
from tests.sync.conftest import Source
from tests.sync.test_delivery import grant_ana, revoke_ana


@pytest.fixture
def settled(governed: Backend) -> Backend:
    assert worker.deliver(governed).settled
    return Backend.objects.get()


def again() -> Backend:
    return Backend.objects.get()


# a look is cheap while nothing changes


def test_what_did_not_change_is_not_worked_out_again(settled: Backend, monkeypatch: Any) -> None:
    monkeypatch.setattr(worker, "reconcile", None)
    before = again()
    assert worker.look(settled) is None
    after = again()
    assert after.looked_at > before.looked_at
    assert after.proved_at > before.proved_at
    assert after.compared_at == before.compared_at


def test_what_others_change_is_seen_by_the_next_look(settled: Backend, source: Source) -> None:
    for statement in (
        "GRANT SELECT ON stock.items TO legacy",
        "REVOKE SELECT ON stock.items FROM legacy",
        "CREATE TABLE sales.new (id int)",
        "CREATE ROLE olivia2 LOGIN",
        "DROP ROLE olivia2",
        "ALTER ROLE legacy SUPERUSER",
        "ALTER ROLE legacy NOSUPERUSER",
    ):
        source.run(statement)
        assert worker.look(again()), statement
        assert worker.look(again()) is None


def test_what_was_decided_is_worked_out_by_the_next_look(settled: Backend, source: Source) -> None:
    grant_ana()
    assert worker.look(again()).settled
    assert source.reads("ana")


def test_a_backend_that_is_not_equal_is_compared_at_every_look(settled: Backend) -> None:
    Backend.objects.update(state="failed", error="away")
    assert worker.look(again()).settled
    assert again().error == ""


def test_at_night_all_is_worked_out_whether_it_changed_or_not(settled: Backend) -> None:
    assert worker.look(settled, whole=True).settled


def test_each_backend_has_its_turn_in_the_night_and_one_that_was_missed_comes_later(settled: Backend) -> None:
    first, second = (nightly.turn(at, 2, datetime(2026, 5, 5, 12, tzinfo=UTC)) for at in (0, 1))
    assert (first.hour, second.hour) == (1, 3)
    assert nightly.turn(1, 2, datetime(2026, 5, 5, 2, tzinfo=UTC)).day == 4
    noon = timezone.now().replace(hour=12)
    Backend.objects.update(compared_at=noon - timedelta(hours=4))
    assert nightly.due(noon) == []
    for compared in (None, noon - timedelta(hours=14)):
        Backend.objects.update(compared_at=compared)
        assert nightly.due(noon) == [settled.pk]
    Backend.objects.update(state="paused")
    assert nightly.due(noon) == []


# revocations first


def test_what_takes_access_away_has_a_queue_of_its_own(
    settled: Backend, monkeypatch: Any, django_capture_on_commit_callbacks: Any
) -> None:
    sent: list[str] = []
    monkeypatch.setattr(outbox, "_nudge", lambda _, queue: sent.append(queue))
    with django_capture_on_commit_callbacks(execute=True):
        grant_ana(valid_until=timezone.now() + timedelta(days=1))
    assert sent == ["work"]
    with django_capture_on_commit_callbacks(execute=True):
        revoke_ana()
    assert sent == ["work", "urgent"]
    assert outbox.due_backends(timezone.now()) == {settled.pk: True}


# the rate


RIGHTS = tuple(Right("table", ("s", f"t{number}"), "SELECT") for number in range(25))


@pytest.mark.parametrize(("rate", "sizes"), [(0, [25]), (1000, [25]), (100, [10, 10, 5]), (5, [1] * 25)])
def test_steps_are_cut_to_the_rate(rate: int, sizes: list[int]) -> None:
    parts = list(rate_limit.cut([Step("give", role="r", rights=RIGHTS)], rate))
    assert [len(part.rights) for part in parts] == sizes
    assert tuple(right for part in parts for right in part.rights) == RIGHTS


def test_a_run_keeps_to_the_rate_and_the_next_worker_waits_for_what_the_last_one_used(
    settled: Backend, source: Source
) -> None:
    Backend.objects.update(rate=10)
    grant_ana()
    begun = time.monotonic()
    assert worker.deliver(again()).settled
    run = SyncRun.objects.order_by("-pk")[0]
    changed = sum(rate_limit.weight(_step(item)) for item in run.items.all())
    # the clock is the thing that is tested here; it can only be late
    assert changed > 2
    assert time.monotonic() - begun >= changed / 10
    until = timezone.now() + timedelta(seconds=0.5)
    Backend.objects.update(paced_until=until)
    revoke_ana()
    worker.deliver(again())
    assert timezone.now() >= until
    assert not source.reads("ana")


def _step(item: SyncItem) -> Step:
    what = item.what
    rights = tuple(Right(kind, (path,), right) for kind, path, right in what["rights"])
    return Step(item.step, rights=rights, joins=tuple(what["joins"]), leaves=tuple(what["leaves"]))


def test_a_pause_ends_the_waiting_for_the_rate(settled: Backend, monkeypatch: Any) -> None:
    Backend.objects.update(rate=1, paced_until=timezone.now() + timedelta(days=1))
    monkeypatch.setattr(rate_limit, "NAP", 0.01)
    monkeypatch.setattr("policies.sync.runs.progress.EVERY", -1.0)
    grant_ana()
    row = again()
    operations.pause(row, by=acting("marek"))
    assert worker.deliver(row).missing
    assert SyncRun.objects.order_by("-pk")[0].done == 0


# what is kept of runs


def a_run(row: Backend, days: float, state: str = "proved", **more: Any) -> SyncRun:
    at = timezone.now() - timedelta(days=days)
    run = SyncRun.objects.create(backend=row, started=at, ended=at, state=state, **more)
    SyncItem.objects.create(run=run, number=0, step="give")
    return run


def test_runs_are_kept_as_long_as_they_serve_somebody(settled: Backend, settings: Any) -> None:
    settings.LAKEWARDEN_RUNS_KEPT = 30
    SyncRun.objects.all().delete()
    kept = {
        "did something lately": a_run(settled, 29, "unproved", done=2, applied=2),
        "failed lately": a_run(settled, 29, "failed", errors=["away"]),
        "the last that was proved": a_run(settled, 90, done=1, applied=1),
        "nothing, an hour ago": a_run(settled, 0.04, "shown"),
        "goes on": a_run(settled, 40, "running"),
        "the latest": a_run(settled, 50, "shown"),
    }
    gone = SyncRun.objects.bulk_create(
        SyncRun(backend=settled, started=at, ended=at, state=state, done=done, applied=done)
        for at, state, done in (
            (timezone.now() - timedelta(days=91), "unproved", 3),
            (timezone.now() - timedelta(days=31), "held", 0),
            (timezone.now() - timedelta(days=2), "shown", 0),
        )
    )
    latest = a_run(settled, 60, "shown")
    kept["the latest"] = latest
    pruned = pruning.forget_old(timezone.now())
    left = set(SyncRun.objects.values_list("pk", flat=True))
    assert {name for name, run in kept.items() if run.pk not in left} == set()
    assert left.isdisjoint(run.pk for run in gone)
    assert pruned == 4
    assert again().forgotten == {"unproved": 1, "unproved_steps": 3, "held": 1, "shown": 2}
    assert SyncItem.objects.count() == len(kept)


# telling


@pytest.fixture
def refused(settled: Backend, monkeypatch: Any) -> Backend:
    """Something that the backend refuses for good, tried until it is parked."""

    def fails(*_: Any, **__: Any) -> None:
        raise Rejected("row is too big")

    grant_ana()
    monkeypatch.setattr(worker, "reconcile", fails)
    for _ in range(STUCK_AFTER + 1):
        OutboxEntry.objects.update(due=timezone.now())
        worker.deliver(again())
    return again()


def told() -> list[tuple[str, bool]]:
    rows = Notice.objects.filter(kind="sync.parked").order_by("pk").select_related("recipient")
    return [(row.recipient.name, row.done is None) for row in rows]


def test_who_owns_the_catalog_is_told_once_of_what_is_parked(refused: Backend) -> None:
    assert OutboxEntry.objects.filter(parked=True).exists()
    people.make_account("marek")
    operations.retry(refused, by=acting("marek"))
    Notice.objects.all().delete()
    for _ in range(2 * STUCK_AFTER):
        OutboxEntry.objects.update(due=timezone.now())
        worker.deliver(again())
    assert told() == [("marek", True)]
    [notice] = Notice.objects.filter(kind="sync.parked")
    assert "PostgreSQL shop refused a decision several times" in notice.text
    assert notice.link == f"/sync/{refused.pk}"


def test_the_notice_is_settled_when_it_went_through_after_all(refused: Backend, monkeypatch: Any) -> None:
    monkeypatch.undo()
    people.make_account("marek")
    Notice.objects.all().delete()
    worker.alerts.look(refused)
    assert told() == [("marek", True)]
    assert worker.look(again(), whole=True).settled
    assert told() == [("marek", False)]
    assert the("table", "shop.sales.orders")
    assert reconcile.reconcile(again()).settled

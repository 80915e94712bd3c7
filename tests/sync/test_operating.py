"""Running a sync: pausing, only reporting, holding a plan that takes too much, parking what will not work."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from accounts import people
from lakewarden.backends.base import Outcome
from lakewarden.backends.errors import Gone, Misconfigured, Rejected, Transient
from policies import tasks
from policies.errors import Conflict, Invalid, Refused
from policies.models import Backend, BackendFinding, BackendLogins, Event, OutboxEntry, SyncItem, SyncRun
from policies.models.sync import STUCK_AFTER
from policies.services import duties, grants, members, roles
from policies.services.grants import GrantRequest
from policies.sync import reconcile, worker
from policies.sync.actions import operations
from policies.sync.safeguards import loss_limit
from tests.factories import AUTHORITY, BY, acting, rewritten, the
from tests.sync.conftest import Source

ORDERS = "shop.sales.orders"


def grant_ana() -> None:
    wish = GrantRequest(the("table", ORDERS), (people.ensure("user", "ana"),), ("SELECT_TABLE",))
    grants.add(wish, by=acting("olivia"))


def revoke_ana() -> None:
    grants.remove(the("table", ORDERS), [people.ensure("user", "ana")], ["SELECT_TABLE"], by=acting("olivia"))


@pytest.fixture
def settled(governed: Backend) -> Backend:
    worker.deliver(governed)
    return governed


def test_a_run_tells_its_steps_and_what_became_of_each(settled: Backend) -> None:
    grant_ana()
    worker.deliver(settled)
    run = SyncRun.objects.filter(applied__gt=0).order_by("-pk")[0]
    assert run.state == SyncRun.State.PROVED
    assert run.done == run.total == run.items.count() > 0
    assert {item.state for item in run.items.all()} == {SyncItem.State.DONE}
    assert "ana" in {item.person for item in run.items.all()}
    assert "ana" in BackendLogins.objects.get().names


def test_looking_again_at_the_same_adds_no_run(settled: Backend) -> None:
    worker.look(settled)
    before = SyncRun.objects.count()
    for _ in range(3):
        worker.look(settled)
    assert SyncRun.objects.count() == before


def test_while_it_is_paused_nothing_is_changed_and_afterwards_all_is(
    settled: Backend, source: Source
) -> None:
    operations.pause(settled, by=acting("marek"), reason="maintenance")
    grant_ana()
    tasks.deliver(settled.pk)
    tasks.look(settled.pk)
    assert not source.reads("ana")
    row = Backend.objects.get()
    assert (row.state, row.paused_by) == ("paused", people.ensure("user", "marek"))
    operations.resume(row, by=acting("marek"))
    tasks.deliver(settled.pk)
    assert source.reads("ana")
    assert Backend.objects.get().state == "in_sync"


def test_the_command_only_looks_at_what_is_paused(
    settled: Backend, source: Source, capsys: pytest.CaptureFixture[str]
) -> None:
    operations.pause(settled, by=acting("marek"))
    grant_ana()
    with pytest.raises(SystemExit):
        call_command("sync", "demo/shop")
    assert json.loads(capsys.readouterr().out)["missing"] > 0
    assert not source.reads("ana")
    assert Backend.objects.get().state == "paused"


def test_a_pause_ends_by_itself(settled: Backend, source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    until = timezone.now() + timedelta(hours=2)
    operations.pause(settled, by=acting("marek"), until=until)
    grant_ana()
    monkeypatch.setattr(timezone, "now", lambda: until - timedelta(seconds=1))
    tasks.look(settled.pk)
    assert not source.reads("ana")
    monkeypatch.setattr(timezone, "now", lambda: until)
    tasks.look(settled.pk)
    assert source.reads("ana")


def test_only_owners_and_who_has_the_duty_run_a_sync(settled: Backend) -> None:
    with pytest.raises(Refused, match="only its owner or a holder of the duty"):
        operations.pause(settled, by=acting("olivia"))
    assert Backend.objects.get().state == "in_sync"
    people.make_account("olivia")
    duties.give(
        the("catalog", "shop"), "operate_sync", people.ensure("user", "olivia"), by=BY, authority=AUTHORITY
    )
    operations.pause(settled, by=acting("olivia"))
    assert Event.objects.filter(kind="backend.paused").count() == 1
    with pytest.raises(Invalid):
        operations.pause(settled, by=acting("olivia"), until=timezone.now())


def test_reporting_shows_the_plan_and_repairing_carries_it_out(settled: Backend, source: Source) -> None:
    operations.set_policy(settled, "report", by=acting("marek"))
    grant_ana()
    worker.deliver(Backend.objects.get())
    run = SyncRun.objects.order_by("-pk")[0]
    assert run.state == SyncRun.State.SHOWN
    assert {item.state for item in run.items.all()} == {SyncItem.State.PLANNED}
    assert not source.reads("ana")
    operations.set_policy(Backend.objects.get(), "repair", by=acting("marek"))
    worker.deliver(Backend.objects.get())
    assert source.reads("ana")
    with pytest.raises(Invalid):
        operations.set_policy(settled, "guess", by=acting("marek"))


# the guard


@pytest.mark.parametrize(
    ("losers", "holders", "share", "held"),
    [
        (26, 50, 50, True),
        (26, 52, 50, False),
        (25, 25, 50, False),
        (26, 26, 100, False),
        (400, 401, 99, True),
    ],
)
def test_many_and_a_great_share_together_are_too_much(
    losers: int, holders: int, share: int, held: bool
) -> None:
    assert loss_limit.too_much(losers, holders, share) is held


@pytest.fixture
def wary(settled: Backend, monkeypatch: pytest.MonkeyPatch) -> Backend:
    """The same, where one person of few is too much already."""
    monkeypatch.setattr(loss_limit, "FEW", 0)
    rewritten(Backend.objects.all(), share=10)
    return Backend.objects.get()


def leave() -> None:
    members.leave_group(
        people.ensure("group", "analysts"), people.ensure("user", "mia"), by=BY, authority=AUTHORITY
    )


def test_a_plan_that_takes_too_much_is_held_until_somebody_lets_it_go_on(
    wary: Backend, source: Source
) -> None:
    leave()
    worker.deliver(wary)
    run = SyncRun.objects.order_by("-pk")[0]
    assert (Backend.objects.get().state, run.state, run.losing) == ("held", "held", 1)
    assert source.reads("mia")
    assert OutboxEntry.objects.filter(backend=wary).exists()
    with pytest.raises(Conflict):
        operations.confirm(wary, "another plan", by=acting("marek"))
    with pytest.raises(Refused):
        operations.confirm(wary, run.digest, by=acting("olivia"))
    operations.confirm(wary, run.digest, by=acting("marek"), reason="they left")
    worker.deliver(Backend.objects.get())
    assert not source.reads("mia")
    assert (Backend.objects.get().state, Backend.objects.get().confirmed) == ("in_sync", "")


@pytest.mark.parametrize("policy", ["repair", "report"])
def test_a_look_in_between_does_not_use_up_the_word_that_lets_a_plan_through(
    wary: Backend, source: Source, policy: str
) -> None:
    leave()
    worker.deliver(wary)
    operations.confirm(wary, SyncRun.objects.order_by("-pk")[0].digest, by=acting("marek"))
    operations.set_policy(Backend.objects.get(), policy, by=BY)
    reconcile.reconcile(Backend.objects.get(), dry_run=policy == "repair")
    assert Backend.objects.get().confirmed
    assert not Event.objects.filter(kind="backend.done").exists()
    operations.set_policy(Backend.objects.get(), "repair", by=BY)
    worker.deliver(Backend.objects.get())
    assert not source.reads("mia")


def test_what_was_let_through_is_that_plan_and_no_larger_one(wary: Backend, source: Source) -> None:
    leave()
    worker.look(wary)
    digest = SyncRun.objects.order_by("-pk")[0].digest
    operations.confirm(wary, digest, by=acting("marek"))
    members.remove(the("metalake"), people.ensure("user", "olivia"), by=BY, authority=AUTHORITY)
    worker.look(Backend.objects.get())
    assert Backend.objects.get().state == "held"
    assert source.reads("olivia")


def test_giving_is_never_held(wary: Backend, source: Source) -> None:
    grant_ana()
    worker.deliver(wary)
    assert source.reads("ana")


# what will not work


def failing(error: Exception) -> Any:
    def apply(_: Any, plan: Any) -> Iterator[Outcome]:
        yield from (Outcome(step, error) for step in plan.steps)

    return apply


@pytest.mark.parametrize("error", [Rejected("row is too big"), Misconfigured("permission denied")])
def test_what_fails_for_good_is_parked_with_its_reason(
    settled: Backend, source: Source, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    from policies.sync.backends.postgresql.kind import PostgreSQL

    grant_ana()
    monkeypatch.setattr(PostgreSQL, "apply", failing(error))
    for attempt in range(1, STUCK_AFTER + 1):
        OutboxEntry.objects.update(due=timezone.now())
        worker.deliver(settled)
        missing = BackendFinding.objects.filter(backend=settled, kind="missing")
        assert set(missing.values_list("attempts", "error", "error_kind")) == {
            (attempt, str(error), type(error).__name__.lower())
        }
    assert all(row.is_stuck for row in missing)
    assert worker.deliver(settled) is None
    assert Backend.objects.get().error_kind == type(error).__name__.lower()
    failed = SyncItem.objects.filter(state=SyncItem.State.FAILED).order_by("-pk")[0]
    assert failed.error == str(error)
    monkeypatch.undo()
    operations.retry(settled, by=acting("marek"))
    worker.deliver(settled)
    assert source.reads("ana")
    assert not OutboxEntry.objects.exists()


@pytest.mark.parametrize("error", [Transient("a lock is held"), Gone("no such table")])
def test_what_may_work_later_is_tried_again_and_never_parked(
    settled: Backend, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    from policies.sync.backends.postgresql.kind import PostgreSQL

    grant_ana()
    monkeypatch.setattr(PostgreSQL, "apply", failing(error))
    delays = []
    for _ in range(6):
        OutboxEntry.objects.update(due=timezone.now())
        worker.deliver(settled)
        delays.append(OutboxEntry.objects.all()[0].due - timezone.now())
    assert delays == sorted(delays)
    assert not OutboxEntry.objects.filter(parked=True).exists()


def test_what_was_parked_is_done_when_all_is_equal_after_all(settled: Backend, source: Source) -> None:
    grant_ana()
    OutboxEntry.objects.update(parked=True)
    worker.look(settled)
    assert source.reads("ana")
    assert not OutboxEntry.objects.exists()


def test_one_item_is_tried_again_alone(
    settled: Backend, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    from policies.sync.backends.postgresql.kind import PostgreSQL

    grant_ana()
    roles.unassign(the("role", "no_contractors"), people.ensure("user", "carl"), by=BY, authority=AUTHORITY)
    monkeypatch.setattr(PostgreSQL, "apply", failing(Transient("busy")))
    worker.deliver(settled)
    monkeypatch.undo()
    OutboxEntry.objects.update(due=timezone.now() + timedelta(hours=1))
    item = SyncItem.objects.get(person="carl", state=SyncItem.State.FAILED)
    operations.retry(settled, by=acting("marek"), item=item)
    worker.deliver(settled)
    assert source.reads("carl")
    assert not source.reads("ana")
    assert OutboxEntry.objects.exists()


def test_a_run_whose_worker_died_is_told_as_failed(settled: Backend) -> None:
    SyncRun.objects.create(backend=settled, started=timezone.now(), total=42, done=41)
    worker.look(settled)
    run = SyncRun.objects.get(total=42)
    assert (run.state, run.errors) == ("failed", ["The worker stopped halfway."])


def test_a_pause_stops_a_run_between_two_steps(
    settled: Backend, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    from policies.sync.runs import progress

    monkeypatch.setattr(progress, "EVERY", -1.0)
    grant_ana()
    real = reconcile.Run.follow

    def paused(run: Any, outcomes: Any) -> Any:
        operations.pause(settled, by=acting("marek"))
        return real(run, outcomes)

    monkeypatch.setattr(reconcile.Run, "follow", paused)
    worker.deliver(settled)
    run = SyncRun.objects.order_by("-pk")[0]
    assert run.done == 1 < run.total
    assert Backend.objects.get().state == "paused"
    assert not source.reads("ana")

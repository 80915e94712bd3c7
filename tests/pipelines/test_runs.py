"""A run: asked for once, alone in its realm; what fails says why, and the last result stays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts import people
from catalog.nodes import Node
from policies.analytics.pipelines import control, known, running
from policies.analytics.pipelines.definition import Pipeline, RunContext
from policies.analytics.pipelines.driver import Trouble
from policies.authority import OPERATOR, SYSTEM
from policies.errors import Conflict, Invalid, Refused
from policies.models import Figure, PipelineRun
from tests.factories import acting, the
from tests.policies.conftest import shop

__all__ = ["shop"]
NAME = "effective_access"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """A pipeline that does what is put into the list: raise it, or be called with the work."""
    plan: list[Any] = []

    def here(work: RunContext) -> Any:
        step = plan.pop(0) if plan else None
        if isinstance(step, Exception):
            raise step
        if step is not None:
            step(work)
        return lambda: {"fine": True}

    pipeline = Pipeline("made", "Made", "For a test.", here=here, nightly=False)
    monkeypatch.setitem(known._PIPELINES, "made", pipeline)
    yield plan


def test_it_is_run_and_told(shop: Node) -> None:
    row = control.ask(NAME, shop, by=acting("marek"))
    assert (row.state, row.trouble) == ("waiting", "")
    assert running.run(row)
    assert (row.state, row.master, row.done == row.total > 0) == ("done", "", True)
    assert row.result["pairs"]["table"]["read"] == 10
    exposed = Figure.objects.filter(realm=shop.realm_id, kind="object").order_by("place")
    assert [line.weight for line in exposed] == [3, 3, 3, 2, 1]  # marek, olivia and mia read what is for sale


def test_asked_for_twice_it_is_one_run(shop: Node) -> None:
    first = control.ask(NAME, shop, by=OPERATOR)
    assert control.ask(NAME, shop, by=OPERATOR).pk == first.pk
    running.run(first)
    again = control.ask(NAME, shop, by=OPERATOR)
    assert (again.pk, again.state, again.attempts) == (first.pk, "done", 1)
    later = timezone.now() - control.FRESH - timedelta(minutes=1)
    PipelineRun.objects.update(ended=later)
    assert control.ask(NAME, shop, by=OPERATOR).state == "waiting"


def test_a_spark_that_is_asked_for_is_the_one_that_is_used(shop: Node) -> None:
    """A result from elsewhere is no answer; what waits goes there; what is under way elsewhere stops it."""
    here, there = "spark://one:7077", "spark://two:7077"
    first = control.ask(NAME, shop, by=OPERATOR)
    assert control.ask(NAME, shop, by=OPERATOR, master=here).wished == here
    assert control.ask(NAME, shop, by=OPERATOR).wished == here
    PipelineRun.objects.update(state="done", ended=timezone.now(), master=here)
    assert control.ask(NAME, shop, by=OPERATOR, master=here).state == "done"
    again = control.ask(NAME, shop, by=OPERATOR, master=there)
    assert (again.pk, again.state, again.wished) == (first.pk, "waiting", there)
    PipelineRun.objects.update(state="running", master=there)
    assert control.ask(NAME, shop, by=OPERATOR).state == "running"
    with pytest.raises(Conflict, match="under way on spark://two:7077; stop it, or wait"):
        control.ask(NAME, shop, by=OPERATOR, master=here)


@pytest.mark.parametrize(
    ("name", "may"), [("marek", True), ("ana", False), ("olivia", False), ("nobody", False)]
)
def test_its_owner_may_start_it(shop: Node, name: str, *, may: bool) -> None:
    if may:
        assert control.ask(NAME, shop, by=acting(name)).by == people.ensure("user", name).pseudonym
        return
    with pytest.raises(Refused):
        control.ask(NAME, shop, by=acting(name))
    assert not PipelineRun.objects.exists()


def test_an_unknown_one_is_refused(shop: Node) -> None:
    with pytest.raises(Invalid, match="no pipeline `dreams`"):
        control.ask("dreams", shop, by=OPERATOR)
    with pytest.raises(Invalid, match="about one realm"):
        control.ask(NAME, None, by=OPERATOR)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Trouble("the Spark driver was killed by SIGKILL"), "killed by SIGKILL"),
        (OSError(28, "No space left on device", "/var/x"), "the disk is full"),
        (OSError(13, "Permission denied", "/var/x"), "Permission denied: /var/x"),
    ],
)
def test_what_fails_says_why_and_goes_on_when_started_again(
    shop: Node, made: list[Any], error: Exception, told: str
) -> None:
    made.append(error)
    row = control.ask("made", shop, by=OPERATOR)
    running.run(row)
    assert row.state == "failed"
    assert told in row.trouble
    again = control.ask("made", shop, by=OPERATOR)
    assert (again.pk, again.state, again.trouble) == (row.pk, "waiting", "")
    running.run(again)
    assert (again.state, again.attempts, again.result) == ("done", 2, {"fine": True})


def test_the_last_good_result_stays(shop: Node, made: list[Any]) -> None:
    row = control.ask("made", shop, by=OPERATOR)
    running.run(row)
    the("table", "shop.sales.orders")
    PipelineRun.objects.filter(pk=row.pk).update(revision=row.revision - 1)  # as if much had changed since
    made.append(Trouble("no"))
    failed = control.ask("made", shop, by=OPERATOR)
    running.run(failed)
    last = control.latest("made", shop.realm_id)
    assert (failed.state, last and last.pk) == ("failed", row.pk)


def test_a_realm_has_one_run_at_a_time(shop: Node, made: list[Any]) -> None:
    other = control.ask(NAME, shop, by=OPERATOR)
    seen = []

    def meanwhile(work: RunContext) -> None:
        seen.append(PipelineRun.objects.filter(state="running").count())
        with pytest.raises(IntegrityError, match="one_pipeline_at_a_time"), transaction.atomic():
            PipelineRun.objects.filter(pk=other.pk).update(state="running")

    made.append(meanwhile)
    running.run(control.ask("made", shop, by=OPERATOR))
    assert seen == [1]


def test_a_stopped_run_ends_and_keeps_nothing(shop: Node, made: list[Any]) -> None:
    row = control.ask("made", shop, by=OPERATOR)

    def stopped(work: RunContext) -> None:
        control.stop(row.pk, by=acting("marek"))
        work.tell(1, 2, "going on")

    made.append(stopped)
    running.run(row)
    row.refresh_from_db()
    assert (row.state, row.result) == ("stopped", {})
    with pytest.raises(Conflict, match="now stopped"):
        control.stop(row.pk, by=acting("marek"))


def test_a_killed_worker_is_noticed(shop: Node, made: list[Any]) -> None:
    row = control.ask("made", shop, by=OPERATOR)
    PipelineRun.objects.filter(pk=row.pk).update(state="running", step="adding up", started=timezone.now())
    running.bury()
    row.refresh_from_db()
    assert row.state == "failed"
    assert "the worker that ran it ended while adding up" in row.trouble


def test_time_left_is_what_it_took_so_far(shop: Node) -> None:
    now = timezone.now()
    row = PipelineRun(state="running", started=now - timedelta(minutes=3), done=75, total=100)
    assert control.left(row, now=now) == timedelta(minutes=1)
    assert control.left(PipelineRun(state="running", started=now, total=0), now=now) is None
    row.done = 10  # the start of Spark tells nothing of the rest
    assert control.left(row, now=now) is None
    assert control.left(row, timedelta(minutes=5), now=now) == timedelta(minutes=2)
    row.done = 75  # it takes longer than the last time
    assert control.left(row, timedelta(minutes=2), now=now) == timedelta(minutes=1)


def test_every_realm_is_looked_at_each_night(shop: Node) -> None:
    asked = {(row.name, row.realm_id) for row in control.ask_nightly()}
    assert (NAME, shop.realm_id) in asked
    running.run_waiting()
    assert not PipelineRun.objects.filter(state__in=("waiting", "running")).exists()
    assert all(row.by == SYSTEM.pseudonym for row in PipelineRun.objects.all())


def test_the_command_runs_it_and_prints_a_line(shop: Node, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("pipeline", NAME, realm="demo")
    line = json.loads(capsys.readouterr().out)
    assert (line["pipeline"], line["realm"], line["state"]) == (NAME, "demo", "done")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--realm", "nowhere"), "there is no realm `nowhere`"),
        (("--master", "mesos://old"), "--master mesos://old is not"),
    ],
)
def test_a_wrong_word_is_one_line(
    shop: Node, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    with pytest.raises(SystemExit):
        call_command("pipeline", NAME, *words)
    assert said in capsys.readouterr().err

"""Pipeline `archive`: Spark reads the whole chain, live and archived; only what it finds good is moved."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("django", reason="the console is not in this environment")

from django.core.management import call_command
from django.utils import timezone

from catalog.nodes import Node
from lakewarden.spark.pipelines import archive as program
from lakewarden.spark.pipelines.messages import Telling
from policies.analytics.pipelines import archive
from policies.analytics.pipelines.definition import RunContext
from policies.errors import Conflict
from policies.models import Archive, Change, Counter, Event, PipelineRun
from policies.record.archive import files as archive_files
from policies.record.archive import removal
from policies.record.change import digest_of
from policies.record.verify import verify, with_events
from policies.services import objects
from tests.factories import AUTHORITY, BY, the
from tests.policies.test_archiving import age, realm, shop, spoil, superuser, top

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]
__all__ = ["shop", "top"]  # fixtures


@pytest.fixture
def work(shop: Node, tmp_path: Path) -> RunContext:
    revision = Counter.objects.get().revision
    row = PipelineRun.objects.create(
        name="archive", realm=realm(shop), revision=revision, asked=timezone.now(), by="operator"
    )
    return RunContext(row, shop, timezone.now(), tmp_path / "input", tmp_path / "output", lambda *told: None)


def carried(plain: Any, work: RunContext, between: Callable[[], Any] = bool) -> None:
    archive._prepare(work)
    between()
    options = {**archive._options(work), "output": str(work.output)}
    program.run(plain, Namespace(**options), Telling())
    archive._carry(work, work.output)


def finished(work: RunContext) -> dict[str, Any]:
    """The run's end as the worker notes it."""
    result = dict(archive._load(work, work.output))
    rows = PipelineRun.objects.filter(pk=work.run.pk)
    rows.update(state="done", ended=timezone.now(), result=result)
    return result


def test_what_is_old_is_moved_once_the_chain_was_read(plain: Any, work: RunContext, shop: Node) -> None:
    before = verify()
    carried(plain, work)
    [row] = Archive.objects.all()
    assert (row.state, row.facts) == ("removed", 4)
    assert not Event.objects.filter(change__lte=row.upto, change__realm=shop.realm_id).exists()
    result = finished(work)
    assert (result["changes"], result["events"]) == (before.changes, before.events)
    assert (result["moved"], result["events_moved"], result["retention_days"]) == (1, row.events, 400)
    assert verify() and not (work.output / "chain").exists()
    # and again, when there is nothing more to move: the one change that said so is read
    carried(plain, work)
    again = finished(work)
    assert (again["changes"], again["events"], again["whole"]) == (1, 1, result["whole"])
    assert Archive.objects.count() == 1 and verify()


def older(shop: Node) -> int:
    """Something more goes beyond the retention; up to which revision."""
    objects.drop(the("view", "shop.sales.top"), by=BY, authority=AUTHORITY)
    age(timedelta(days=500))
    # what an earlier run noted is true again of the changes whose times were changed
    for row in PipelineRun.objects.filter(state="done"):
        digest = Change.objects.get(revision=row.result["verified"]).digest
        PipelineRun.objects.filter(pk=row.pk).update(result={**row.result, "digest": digest})
    return Counter.objects.get().revision


def test_a_later_run_reads_what_is_new_and_what_it_moves(plain: Any, work: RunContext, shop: Node) -> None:
    carried(plain, work)
    first = finished(work)
    last = older(shop)
    carried(plain, work)
    first_result, second = finished(work), Archive.objects.latest("pk")
    assert first_result["moved"] == 2 and second.first < second.upto
    assert first_result["verified"] == last and first["changes"] + 2 < last + first_result["changes"]
    assert first_result["changes"] <= last - second.first
    assert verify()
    with_old = replace(work, now=work.now + timedelta(days=31))
    carried(plain, with_old)
    assert finished(with_old)["changes"] == Counter.objects.get().revision


def tampered_live() -> None:
    rewrite(Archive.objects.latest("pk").upto)


def tampered_link() -> None:
    """Written anew from a change that was read before, with digests that follow, to the end."""
    with superuser():
        Change.objects.filter(revision=Archive.objects.latest("pk").first + 1).update(reason="another")
    relinked()


LATER = [
    ("an event that moves", tampered_live, "was changed after it was written"),
    ("all that follows, with digests that fit", tampered_link, "has not the digest that the site knows"),
    ("its end cut off", lambda: cut(), "the record has"),
]


@pytest.mark.parametrize(("deed", "words"), [row[1:] for row in LATER], ids=[row[0] for row in LATER])
def test_what_was_read_before_and_changed_since_is_not_moved(
    plain: Any, work: RunContext, shop: Node, deed: Callable[[], None], words: str
) -> None:
    carried(plain, work)
    finished(work)
    older(shop)
    removal.write(realm(shop), timezone.now())
    deed()
    with pytest.raises(Conflict, match=words):
        carried(plain, work)
    assert Archive.objects.latest("pk").state == "written"


def relinked() -> None:
    """Give every change the digest that follows from the one before."""
    last, previous = Counter.objects.get().revision, ""
    with superuser():
        for change, events in list(with_events(last)):
            change.previous = previous
            previous = change.digest = digest_of(change, events)
            Change.objects.filter(pk=change.pk).update(previous=change.previous, digest=previous)
        Counter.objects.update(digest=previous)


def rewrite(revision: int) -> None:
    with superuser():
        Event.objects.filter(change=revision).update(object_name="demo/elsewhere")


def relink(revision: int) -> None:
    with superuser():
        Change.objects.filter(revision=revision).update(previous="0" * 64)


def cut() -> None:
    with superuser():
        last = Counter.objects.get().revision
        Event.objects.filter(change=last).delete()
        Change.objects.filter(revision=last).delete()


BROKEN = [
    ("an event rewritten", lambda: rewrite(5), "revision 5 was changed after it was written"),
    ("an order changed", lambda: relink(9), "revision 9 was changed after it was written"),
    ("its end cut off", cut, "the record has"),
]


@pytest.mark.parametrize(("deed", "words"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_a_broken_record_is_not_moved(
    plain: Any, work: RunContext, deed: Callable[[], None], words: str
) -> None:
    deed()
    count = Event.objects.count()
    with pytest.raises(Conflict, match=words):
        carried(plain, work)
    assert Event.objects.count() == count and Archive.objects.get().state == "written"


def test_an_archive_spoiled_meanwhile_is_not_recorded(plain: Any, work: RunContext, top: Path) -> None:
    def deed() -> None:
        spoil(top / Archive.objects.get().folder / archive_files.FACTS)

    with pytest.raises(archive_files.ArchiveBroken, match=r"facts\.parquet"):
        carried(plain, work, deed)
    assert Archive.objects.get().state == "written"


@pytest.mark.slow
def test_the_command(
    shop: Node, transactional_db: None, top: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("pipeline", "archive", realm="demo", master="local[1]")
    assert '"state": "done"' in capsys.readouterr().out
    assert Archive.objects.get().state == "removed" and verify()

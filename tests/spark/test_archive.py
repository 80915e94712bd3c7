"""Pipeline `archive`: Spark reads the whole chain, live and archived; only what it finds good is moved."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("django", reason="the console is not in this environment")

from django.core.management import call_command
from django.utils import timezone

from catalog.nodes import Node
from lakewarden.spark.pipelines import archive as program
from lakewarden.spark.pipelines.telling import Telling
from policies.archiving import files
from policies.errors import Conflict
from policies.models import Archive, Change, Counter, Event, PipelineRun
from policies.pipelines import archive
from policies.pipelines.known import Work
from policies.verify import verify
from tests.policies.test_archiving import realm, shop, spoil, superuser, top

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]
__all__ = ["shop", "top"]  # fixtures


@pytest.fixture
def work(shop: Node, tmp_path: Path) -> Work:
    revision = Counter.objects.get().revision
    row = PipelineRun.objects.create(
        name="archive", realm=realm(shop), revision=revision, asked=timezone.now(), by="operator"
    )
    return Work(row, shop, timezone.now(), tmp_path / "input", tmp_path / "output", lambda *told: None)


def carried(plain: Any, work: Work, between: Callable[[], Any] = bool) -> None:
    archive._prepare(work)
    between()
    options = {**archive._options(work), "output": str(work.output)}
    given = Namespace(**{**options, "last": int(options["last"])})
    program.run(plain, given, Telling())
    archive._carry(work, work.output)


def test_what_is_old_is_moved_once_the_chain_was_read(plain: Any, work: Work, shop: Node) -> None:
    before = verify()
    carried(plain, work)
    [row] = Archive.objects.all()
    assert (row.state, row.facts) == ("removed", 4)
    assert not Event.objects.filter(change__lte=row.upto, change__realm=shop.realm_id).exists()
    told = archive._load(work, work.output)
    assert (told["changes"], told["events"]) == (before.changes, before.events)
    assert (told["moved"], told["events_moved"], told["retention_days"]) == (1, row.events, 400)
    assert verify() and not (work.output / "chain").exists()
    # and again, when there is nothing more to move
    carried(plain, work)
    assert Archive.objects.count() == 1 and verify()


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
def test_a_broken_record_is_not_moved(plain: Any, work: Work, deed: Callable[[], None], words: str) -> None:
    deed()
    count = Event.objects.count()
    with pytest.raises(Conflict, match=words):
        carried(plain, work)
    assert Event.objects.count() == count and Archive.objects.get().state == "written"


def test_an_archive_spoiled_meanwhile_is_not_recorded(plain: Any, work: Work, top: Path) -> None:
    def deed() -> None:
        spoil(top / Archive.objects.get().folder / files.FACTS)

    with pytest.raises(files.ArchiveBroken, match=r"facts\.parquet"):
        carried(plain, work, deed)
    assert Archive.objects.get().state == "written"


@pytest.mark.slow
def test_the_command(
    shop: Node, transactional_db: None, top: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("pipeline", "archive", realm="demo", master="local[1]")
    assert '"state": "done"' in capsys.readouterr().out
    assert Archive.objects.get().state == "removed" and verify()

"""A run from start to end: alone in its realm, told as it goes, and published only when it is whole."""

from __future__ import annotations

import errno
import logging
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import F
from django.utils import timezone

from catalog.queries import root as root_of
from policies.analytics.pipelines import driver, folders, known
from policies.analytics.pipelines.definition import Pipeline, Result, RunContext
from policies.analytics.pipelines.driver import Trouble
from policies.errors import Conflict, PolicyError
from policies.models import PipelineRun
from policies.models.pipelines import RUNS
from policies.record import session_locks
from policies.record.archive.files import ArchiveBroken
from policies.record.exports import parquet

SITE, WORKERS = 0, -1
"""Stand for the whole site, and for the one worker that runs what waits, among the numbers of realms."""
_LOCKS = 0x7069_7065
KILLED = "the worker that ran it ended"

logger = logging.getLogger(__name__)


class Stopped(Exception):
    """Somebody stopped the run while it went on."""


def run_waiting() -> None:
    """Run what waits, oldest first and one after the other, so that a worker keeps hands for what is urgent.

    A realm that is busy keeps its own waiting for the next look.
    """
    bury()
    with session_locks.held(_LOCKS, WORKERS) as mine:
        for row in PipelineRun.objects.filter(state="waiting").order_by("asked", "pk") if mine else ():
            run(row)


def run(row: PipelineRun) -> bool:
    """Run one that waits, in this process; False when another run has the realm, or somebody else took it.

    What goes wrong is told by the row, and the files and figures of the last good result stay.
    """
    with _only_run(row.realm_id) as mine:
        if not mine:
            return False
        _bury(row.realm_id)
        try:
            _start(row)
        except Conflict:
            return False
        try:
            _work(row)
        except Stopped:
            logger.info("%s was stopped", row)
        except (Trouble, PolicyError, OSError, DatabaseError, parquet.NoSnapshot, ArchiveBroken) as error:
            _fail(row, words_of(error))
        except Exception as error:
            # a mistake of ours is raised on, but no run may stay as if it were still at work
            _fail(row, f"{type(error).__name__}: {error}")
            raise
    return True


def _start(row: PipelineRun) -> None:
    now = timezone.now()
    values = {"started": now, "told": now, "ended": None, "trouble": "", "step": "starting"}
    mine = PipelineRun.objects.filter(pk=row.pk)
    RUNS.move(mine, "start", done=0, total=0, attempts=F("attempts") + 1, **values)
    row.refresh_from_db()


def _work(row: PipelineRun) -> None:
    pipeline = known.get(row.name)
    root = root_of(row.realm) if row.realm else None
    work = RunContext(row, root, timezone.now(), folders.input_of(row), folders.aside(row), _teller(row))
    if pipeline.here and (not pipeline.program or (not row.wished and pipeline.small(work))):
        _finish(row, pipeline.here(work))
        return
    place = _on_spark(pipeline, work)
    pipeline.carry(work, place)
    _finish(row, lambda: pipeline.load(work, place), folder=place)


def _on_spark(pipeline: Pipeline, work: RunContext) -> Path:
    """Have the files made, and put them in their place."""
    row = work.run
    row.master = row.wished or settings.SPARK_MASTER
    PipelineRun.objects.filter(pk=row.pk).update(master=row.master)
    if pipeline.snapshot and work.root is not None:
        work.tell(0, 0, "reading the facts")
        parquet.export(work.root, row.revision, work.input)
    work.output.mkdir(mode=0o700, parents=True, exist_ok=True)
    pipeline.prepare(work)
    driver.drive(pipeline, work)
    work.tell(row.total, row.total, "publishing")
    return folders.publish(row)


def _finish(row: PipelineRun, load: Callable[[], Result], *, folder: Path | None = None) -> None:
    """Bring what was found into the console's tables; all of it is there, or nothing is."""
    with transaction.atomic():
        result = dict(load())
        shown = str(folder.relative_to(folders.top())) if folder else ""
        mine = PipelineRun.objects.filter(pk=row.pk)
        try:
            RUNS.move(
                mine, "finish", ended=timezone.now(), result=result, folder=shown, done=F("total"), step=""
            )
        except Conflict as late:
            raise Stopped from late
    folders.forget_old(row)
    row.refresh_from_db()


def _fail(row: PipelineRun, trouble: str) -> None:
    mine = PipelineRun.objects.filter(pk=row.pk)
    try:
        RUNS.move(mine, "fail", ended=timezone.now(), trouble=trouble[:4000])
    except Conflict:
        logger.info("%s failed after it was stopped: %s", row, trouble)
    row.refresh_from_db()


def words_of(error: Exception) -> str:
    """Why it ended, for readers of the run."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        free = shutil.disk_usage(settings.ENVIRONMENT.var).free // 2**20
        return f"the disk is full ({free} MB free): {error.filename or folders.top()}"
    if isinstance(error, OSError):
        return f"{error.strerror or error}: {error.filename}" if error.filename else str(error)
    return str(error)


def _teller(row: PipelineRun) -> Callable[[int, int, str], None]:
    def tell(done: int, total: int, step: str) -> None:
        row.done, row.total, row.step = done, total, step[:200]
        mine = PipelineRun.objects.filter(pk=row.pk, state="running")
        if not mine.update(done=done, total=total, step=row.step, told=timezone.now()):
            raise Stopped

    return tell


def bury() -> None:
    """Say of every run whose worker was killed that it ended, so that it can be started again."""
    for realm in PipelineRun.objects.filter(state="running").values_list("realm", flat=True).distinct():
        with _only_run(realm) as mine:
            if mine:
                _bury(realm)


def _bury(realm: int | None) -> None:
    # we hold the realm's lock: the process that said it runs is gone, and its lock with it
    for row in PipelineRun.objects.filter(realm=realm, state="running"):
        _fail(row, f"{KILLED} while {row.step or 'it began'}; start it again and it goes on from there")


def _only_run(realm: int | None) -> AbstractContextManager[bool]:
    """Whether no other process runs a pipeline there."""
    return session_locks.held(_LOCKS, SITE if realm is None else realm)

"""Starting, stopping and watching runs: what the console's pages, `manage.py pipeline` and the beat call."""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from catalog.models import Realm
from catalog.nodes import Node
from catalog.queries import root as root_of
from policies.analytics.pipelines import known
from policies.authority import Actor, Authority, of_duty, of_operator
from policies.decisions.facts import is_service_admin
from policies.errors import Conflict, Invalid
from policies.models import Counter, PipelineRun
from policies.models.pipelines import RUNS
from policies.record import wakeups
from policies.sync.actions import operations

TELLING = 0.2
"""From this share of the work on, the pace so far tells how long the rest will take."""
FRESH = timedelta(hours=12)
"""A result of the same revision is not worked out again before it is so old."""

logger = logging.getLogger(__name__)


def may_run(actor: Actor, root: Node | None) -> bool:
    """Whether somebody may start and stop pipelines over a realm, or over the site (`root` None).

    Its owner may, who has the duty to operate its sync, and a site admin.
    """
    if actor.via in ("operator", "system") and actor.principal is None:
        return True
    who = actor.decides_as
    if who is not None and is_service_admin(who):
        return True
    return root is not None and operations.may_operate(actor, root)


def authority_to_run(actor: Actor, root: Node | None) -> Authority:
    """The right to start and stop pipelines.  Raises Refused."""
    if actor.via == "operator" and actor.principal is None:
        return of_operator(actor)
    otherwise = gettext(
        "You may not run pipelines here: only the realm's owner and the operators of its sync may."
    )
    return of_duty(actor, operations.DUTY, held=may_run(actor, root), otherwise=otherwise)


def ask(name: str, root: Node | None, *, by: Actor, master: str = "") -> PipelineRun:
    """A run of the realm as it is now: a new one, the one that waits or is under way, or a fresh result.

    One that failed at this revision waits again and goes on where it ended.  A worker is told.  `master` is a
    Spark to run on, instead of the site's own: a result from elsewhere is no answer then.  Raises Refused,
    Invalid, and Conflict when a run is under way on another Spark than the one asked for.
    """
    pipeline = known.get(name)
    if pipeline.of_site != (root is None):
        text = (
            gettext("The pipeline %(name)s is about the whole site: name no realm.")
            if pipeline.of_site
            else gettext("The pipeline %(name)s is about one realm: name it.")
        )
        raise Invalid(text % {"name": name})
    authority_to_run(by, root)
    row = _row(name, root, by, master)
    if row.state in ("failed", "stopped"):
        _again(row, "resume", by, master)
    elif row.state == "done" and (pipeline.outside or not is_fresh(row) or _elsewhere(row, master)):
        _again(row, "repeat", by, master)
    elif row.state == "waiting" and master:
        PipelineRun.objects.filter(pk=row.pk, state="waiting").update(wished=master)
    elif row.state == "running" and _elsewhere(row, master):
        where = row.master or row.wished or gettext("the site's own Spark")
        raise Conflict(
            gettext("This pipeline is under way on %(where)s; stop it, or wait until it has ended.")
            % {"where": where}
        )
    row.refresh_from_db()
    if row.state == "waiting":
        tell_worker()
    return row


def _elsewhere(row: PipelineRun, master: str) -> bool:
    """Whether a Spark was asked for that is not the one that a run was or is carried out on."""
    return bool(master) and master != row.master


def _row(name: str, root: Node | None, by: Actor, master: str) -> PipelineRun:
    realm = root.realm_id if root else None
    revision = Counter.objects.get().revision
    wanted = PipelineRun.objects.filter(name=name, realm=realm, revision=revision)
    waiting = PipelineRun.objects.filter(name=name, realm=realm, state__in=("waiting", "running"))
    run = wanted.first() or waiting.order_by("-revision").first()
    if run is not None:
        return run
    try:
        with transaction.atomic():
            return PipelineRun.objects.create(
                name=name,
                realm_id=realm,
                revision=revision,
                asked=timezone.now(),
                by=by.pseudonym,
                wished=master,
            )
    except IntegrityError:  # somebody asked for the same at the same moment
        return wanted.get()


def _again(row: PipelineRun, move: str, by: Actor, master: str) -> None:
    values = {"asked": timezone.now(), "by": by.pseudonym, "wished": master, "trouble": "", "step": ""}
    try:
        RUNS.move(PipelineRun.objects.filter(pk=row.pk), move, ended=None, done=0, total=0, **values)
    except Conflict:
        logger.info("%s was asked for twice at once", row)


def is_fresh(row: PipelineRun) -> bool:
    """Whether a finished run is worth no second one."""
    return row.ended is not None and timezone.now() - row.ended < FRESH


def tell_worker() -> None:
    wakeups.send("policies.tasks.pipelines")


def stop(run: int, *, by: Actor) -> PipelineRun:
    """Stop a run that waits or is under way; its process ends within seconds.  Raises Refused, Conflict."""
    row = PipelineRun.objects.select_related("realm").filter(pk=run).first()
    if row is None:
        raise Conflict(RUNS.too_late(None))
    authority_to_run(by, root_of(row.realm) if row.realm else None)
    RUNS.move(PipelineRun.objects.filter(pk=run), "stop", ended=timezone.now())
    row.refresh_from_db()
    return row


def runs(realms: QuerySet[Realm] | list[int], *, site: bool = False) -> QuerySet[PipelineRun]:
    """The runs of some realms, and of the whole site too, newest first."""
    about = Q(realm__in=realms) | Q(realm__isnull=True) if site else Q(realm__in=realms)
    return PipelineRun.objects.filter(about).select_related("realm").order_by("-asked", "-pk")


def latest(name: str, realm_id: int | None) -> PipelineRun | None:
    """The last good result, if there is one.  One query."""
    rows = PipelineRun.objects.filter(name=name, realm=realm_id, state="done")
    return rows.order_by("-revision").first()


def left(run: PipelineRun, last: timedelta | None = None, *, now: datetime | None = None) -> timedelta | None:
    """How long a run will go on: as long as the `last` one, or else as it did so far; None: not known yet.

    Its beginning tells nothing: Spark takes as long to start for a small realm as for a large one.
    """
    if run.state != "running" or run.started is None or not 0 < run.done < run.total:
        return None
    elapsed, share = (now or timezone.now()) - run.started, run.done / run.total
    if last is not None and elapsed < last:
        return last - elapsed
    return elapsed * (1 / share - 1) if share >= TELLING else None


def lasted(runs: Collection[PipelineRun]) -> dict[tuple[str, int | None], timedelta]:
    """How long the last good run of the same pipeline over the same realm took, by both.  One query."""
    going = [run for run in runs if run.state == "running"]
    if not going:
        return {}
    rows = PipelineRun.objects.filter(
        name__in={run.name for run in going}, state="done", started__isnull=False
    )
    latest = rows.order_by("name", "realm", "-ended").distinct("name", "realm")
    return {(row.name, row.realm_id): row.ended - row.started for row in latest if row.ended and row.started}


def ask_nightly() -> list[PipelineRun]:
    """Ask for every nightly pipeline of every realm; each is worth one try a night."""
    system = Actor(None, "system")
    asked_runs = []
    for pipeline in known.every():
        if pipeline.nightly:
            roots = [None] if pipeline.of_site else [root_of(realm) for realm in open_realms()]
            asked_runs += [ask(pipeline.name, root, by=system) for root in roots]
    return asked_runs


def open_realms() -> QuerySet[Realm]:
    """Every realm that there is."""
    return Realm.objects.filter(closed__isnull=True).order_by("pk")

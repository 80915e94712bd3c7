"""One comparison of a backend with what was decided, repaired and proved by reading again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from catalog.nodes import Node, last, node
from lakewarden.backends import base, kinds, planning
from lakewarden.backends.base import Desired, Observation, Outcome, Plan, Step
from lakewarden.backends.decisions import Target
from lakewarden.backends.errors import BackendError, Misconfigured, NotAnswering, Transient, kind_of
from lakewarden.backends.planning.ordering import alone
from policies.authority import SYSTEM, of_system
from policies.decisions import switches
from policies.decisions.seals import unsealed
from policies.events import BACKEND_DONE
from policies.models import Backend, SyncRun
from policies.models.sync import LASTING
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.services import realm_of
from policies.services.grants import revision_now
from policies.sync import change_detection
from policies.sync.connections.sources import opened
from policies.sync.desired import Decided, Wanted, targets_below
from policies.sync.differences import findings, items, orders
from policies.sync.differences.items import TRIED_AGAIN
from policies.sync.runs.progress import Run
from policies.sync.safeguards import loss_limit, rate_limit
from policies.sync.safeguards.report_only import only_reports


@dataclass(frozen=True)
class Report:
    """What a reconciliation found and did.  `settled`: read again, nothing was missing or extra."""

    backend: str
    applied: int
    in_sync: int
    missing: int
    extra: int
    foreign: int
    unknown: int
    bypass: int
    complete: bool
    revision: int = 0
    error: str = ""
    error_kind: str = ""
    held: bool = False
    plan: Plan | None = None
    stuck: int = 0
    open: int = 0
    """Of what differs or is ordered: what waits for somebody, and what is tried again by itself."""

    @property
    def settled(self) -> bool:
        return not (self.missing or self.extra or self.error or self.stuck) and self.complete

    @property
    def accounted(self) -> bool:
        """Whether all was read back, but for what is stuck and stands as an item of its own."""
        return self.settled or (self.complete and not self.held and not self.open)

    @classmethod
    def unread(cls, backend: str) -> Report:
        """What can be said of a backend that could not be read: nothing is known to be in sync."""
        return cls(backend, 0, 0, 0, 0, 0, 0, 0, complete=False)

    def line(self) -> dict[str, object]:
        """The public answer: what `manage.py sync` prints."""
        names = (
            "backend",
            "applied",
            "in_sync",
            "missing",
            "extra",
            "foreign",
            "unknown",
            "bypass",
            "complete",
        )
        return {name: getattr(self, name) for name in names}


Picks = Callable[[Step], bool]
"""Which steps of a plan are to be done, with what they wait for; the others stay."""


def reconcile(
    row: Backend, *, dry_run: bool = False, only: Picks | None = None, patient: bool = False
) -> Report:
    """Compare, repair unless it is a dry run or only to be reported on, read again.  Raises BackendError.

    `patient`: what just failed in a way that lasts is shown and not tried again.
    """
    catalog = last(row.catalog_id)
    if catalog is None:
        raise Misconfigured("its catalog is no longer there")
    with opened(row, catalog) as out_there:
        comparison = None
        try:
            comparison = Comparison(row, catalog, out_there, timezone.now())
            if not (dry_run or only_reports(row) or (patient and comparison.tried_in_vain())):
                comparison.repair(only, patient=patient)
            report = comparison.report()
            _close_what_is_done(comparison)
            _remember(comparison, report)
            return report
        except BackendError as error:
            if comparison is not None:
                comparison.run.fail(error)
            raise


@dataclass
class Comparison:
    """One comparison while it goes on."""

    row: Backend
    catalog: Node
    out_there: base.Backend
    started: datetime
    outcomes: list[Outcome] = field(default_factory=list)
    left: list[Outcome] = field(default_factory=list)
    held: bool = False
    tried: bool = False
    """Whether the plan was let through; a dry run and a backend that only reports try nothing."""
    in_vain: bool = False

    def __post_init__(self) -> None:
        self.run = Run(self.row, self.started)
        self.orders = orders.open_orders(self.row)
        unsealed.sweep(self.catalog.realm_id)
        self.known = items.Known.of(self.row, self.started)
        self.seen = self.out_there.observe()
        self.wanted, self.absent = self._wanted()
        # nothing is given or taken in the backend by facts that were written outside the console
        many = unsealed.standing(self.catalog.realm_id).count()
        if many:
            raise Transient(
                f"{many} of the facts here were written outside the console. Nothing is granted or revoked "
                "until a site admin has corrected them."
            )
        self.losing, self.holders = loss_limit.losing(self.wanted, self.seen)
        self._compare()

    def _wanted(self) -> tuple[Desired, list[str]]:
        """What should be there, narrowed to objects the backend still has; the rest is named as unknown."""
        # read first: what is read after it is at least as new, so no later change passes for delivered
        revision = revision_now()
        kind = kinds.get(self.row.kind)
        if node(self.catalog.id) is None:
            return Desired({}, {}, revision=revision), []
        if kind.wanted is not None:
            wanted, absent = kind.wanted(self.out_there, Decided(kind, self.catalog, self.started), self.seen)
            return replace(wanted, revision=revision), list(absent)
        present, absent = parted(targets_below(self.catalog, kind), self.seen)
        wanted = Wanted(self.out_there, kind, self.catalog, present, now=self.started, seen=self.seen)
        desired = wanted.desired(self.seen.people)
        return replace(desired, revision=revision), [*absent, *wanted.withheld()]

    def _compare(self) -> None:
        self.plan = planning.plan(self.wanted, self.seen, self.orders.values())

    def tried_in_vain(self) -> bool:
        """Whether this very plan was tried within the hour, and all of it failed in a way that lasts."""
        rows = SyncRun.objects.filter(backend=self.row, done__gt=0, ended__gt=self.started - TRIED_AGAIN)
        last_ = rows.order_by("-pk").first()
        if last_ is not None and not last_.applied and self.row.error_kind in LASTING:
            same = last_.counts.get("plan") == loss_limit.digest(self.plan, removals_only=False)
            self.in_vain = bool(self.plan.steps) and same
        return self.in_vain

    def repair(self, only: Picks | None, *, patient: bool = False) -> None:
        """Apply the plan, read again, and apply what only then could be planned; unless it takes too much.

        What is stuck is left alone, and what waits for it; nothing else is.
        """
        if self._takes_too_much():
            self.held = True
            return
        self.tried = True
        if only is None:
            steps, self.left = items.parted(self.plan.steps, self.known, patient=patient)
        else:
            steps = alone(self.plan.steps, only)
        self._apply(steps)
        # what was adopted is taken from its holder only when our own was read back
        tried = {
            items.order_of(outcome.step) for outcome in self.outcomes if outcome.step.kind == "take_foreign"
        }
        later = [step for step in self.plan.steps if step.kind == "take_foreign"]
        later = [step for step in later if items.order_of(step) not in tried]
        if only is None:
            self._apply(items.parted(later, self.known, patient=patient)[0])

    def _apply(self, steps: Sequence[Step]) -> None:
        if not steps:
            return
        plan = replace(self.plan, steps=tuple(rate_limit.cut(steps, self.row.rate)))
        self.run.plan(plan, self.wanted.labels, self.losing)
        self.outcomes += self.run.follow(self.out_there.apply(plan))
        self.seen = self.out_there.observe()
        self._compare()

    def _takes_too_much(self) -> bool:
        confirmed = bool(self.row.confirmed) and self.row.confirmed == loss_limit.digest(self.plan)
        if confirmed or not loss_limit.too_much(self.losing, self.holders, self.row.share):
            return False
        return not switches.is_off(self.catalog.levels, switches.now())  # whose owner decided to take it all

    def report(self) -> Report:
        failed = [outcome for outcome in self.outcomes if outcome.error]
        error = failed[0].error if failed else None
        error_fields = (self.row.error, self.row.error_kind) if self.in_vain else ("", "")
        self.fates = items.fates(self.plan, self.outcomes, self.left, self.known)
        return Report(
            backend="/".join(self.catalog.names),
            applied=len(self.outcomes) - len(failed),
            in_sync=self.plan.in_sync,
            missing=self.plan.missing,
            extra=self.plan.extra,
            foreign=len(self.seen.foreign),
            unknown=len(self.seen.unknown) + len(self.absent),
            bypass=len(self.seen.bypasses),
            complete=self.seen.complete,
            revision=self.wanted.revision,
            error=str(error) if error else error_fields[0],
            error_kind=kind_of(error) if error else error_fields[1],
            held=self.held,
            plan=self.plan,
            stuck=self.fates.stuck,
            open=self.fates.open,
        )


def parted(targets: list[Target], seen: Observation) -> tuple[list[Target], list[str]]:
    """The targets that the backend has, always with the connected node, and the names of the others."""
    there = {(source_object.kind, source_object.path) for source_object in seen.objects}
    present = [target for target in targets if not target.path or (target.kind, target.path) in there]
    absent = [
        ".".join(target.path) for target in targets if target.path and (target.kind, target.path) not in there
    ]
    return present, absent


def _close_what_is_done(comparison: Comparison) -> None:
    """Orders whose right is gone, and the word that let a plan through: in the record, so that neither comes
    back to life with an earlier state of its row."""
    row, done = comparison.row, orders.carried_out(comparison.orders, comparison.seen)
    used_up = bool(row.confirmed) and comparison.tried
    if not done and not used_up:
        return
    with change(BACKEND_DONE, realm=realm_of(comparison.catalog), by=SYSTEM) as current:
        orders.close(done, current.at)
        if used_up:
            Backend.objects.filter(pk=row.pk).update(confirmed="")
        event = make_event(BACKEND_DONE, comparison.catalog, backend=str(row))
        current.say(event, by=of_system("what is there was read again"))


@transaction.atomic
def _remember(comparison: Comparison, report: Report) -> None:
    now = timezone.now()
    state, ended = _states(comparison, report)
    proved = {"proved_revision": report.revision, "proved_at": now} if report.accounted else {}
    if comparison.seen.complete:
        proved["compared_revision"] = report.revision
    mine = Backend.objects.filter(pk=comparison.row.pk)
    looked = {
        "looked_at": now,
        "compared_at": now,
        "whole_at": now,
        "seen": change_detection.digest(comparison.seen),
    }
    looked["position"] = comparison.seen.position if hasattr(comparison.out_there, "position") else ""
    counts = {**report.line(), "in_force": comparison.seen.in_force}
    mine.update(error=report.error, error_kind=report.error_kind, counts=counts, **looked, **proved)
    mine.exclude(state=Backend.State.PAUSED).update(state=state)
    _remember_run(comparison, report, ended)
    absent, out_there = comparison.absent, comparison.out_there
    findings.remember(
        comparison.row,
        comparison.catalog,
        comparison.seen,
        comparison.plan,
        comparison.wanted,
        now,
        absent,
        out_there=out_there,
    )
    items.remember(comparison.row, comparison.fates, now)


def _states(comparison: Comparison, report: Report) -> tuple[str, SyncRun.State]:
    if comparison.held:
        return Backend.State.HELD, SyncRun.State.HELD
    if report.settled:
        return Backend.State.IN_SYNC, SyncRun.State.PROVED
    silent = any(isinstance(outcome.error, NotAnswering) for outcome in comparison.outcomes)
    state = Backend.State.SILENT if silent else Backend.State.BEHIND
    return state, SyncRun.State.UNPROVED if comparison.outcomes else SyncRun.State.SHOWN


def _remember_run(comparison: Comparison, report: Report, ended: SyncRun.State) -> None:
    """Keep what was done, or else the plan that was looked at; the same plan seen again is one run."""
    row = comparison.run.row
    row.revision = report.revision
    row.counts = {**report.line(), "plan": loss_limit.digest(comparison.plan, removals_only=False)}
    row.errors = [report.error] if report.error else []
    if comparison.outcomes:
        comparison.run.end(ended)
        return
    before = SyncRun.objects.filter(backend=comparison.row).order_by("-pk").first()
    if before and not before.done and (before.state, before.counts) == (ended, row.counts):
        SyncRun.objects.filter(pk=before.pk).update(ended=timezone.now(), revision=report.revision)
        return
    comparison.run.plan(comparison.plan, comparison.wanted.labels, comparison.losing)
    comparison.run.end(ended)

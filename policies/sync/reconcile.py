"""One comparison of a backend with what was decided, repaired and proved by reading again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from catalog.models import Mode
from catalog.nodes import Node, last, node
from catalog.queries import mode_of
from policies.models import Backend, BackendFinding, SyncRun
from policies.services.grants import revision_now
from policies.sync import planning
from policies.sync.backends import base
from policies.sync.backends.base import Desired, Observation, Outcome, Plan
from policies.sync.connections import open_backend
from policies.sync.desired import Wanted, targets_below
from policies.sync.errors import Misconfigured


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
    plan: Plan | None = None

    @property
    def settled(self) -> bool:
        return not (self.missing or self.extra or self.error) and self.complete

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


def reconcile(row: Backend, *, dry_run: bool = False) -> Report:
    """Compare, repair unless it is a dry run or only to be reported on, read again.  Raises BackendError."""
    catalog = last(row.catalog_id)
    if catalog is None:
        raise Misconfigured("its catalog is no longer there")
    out_there = open_backend(row, catalog.realm)
    try:
        return _reconcile(row, catalog, out_there, dry_run or only_reports(row))
    finally:
        out_there.close()


def only_reports(row: Backend) -> bool:
    """Whether nothing may be changed out there: in report mode, and while the realm's law is not enforced.

    With authorization off everything is allowed; written out, that would open the database to everybody.
    """
    return row.policy == Backend.Policy.REPORT or mode_of(row.realm_id) != Mode.Choice.ON


def _reconcile(row: Backend, catalog: Node, out_there: base.Backend, only_look: bool) -> Report:
    started = timezone.now()
    seen = out_there.observe()
    wanted, unknown = _wanted(out_there, catalog, seen, started)
    plan = planning.plan(wanted, seen)
    outcomes = [] if only_look else list(out_there.apply(plan))
    if outcomes:
        seen = out_there.observe()
        plan = planning.plan(wanted, seen)
    report = _report(row, catalog, seen, plan, wanted, outcomes, unknown)
    _remember(row, catalog, seen, report, started)
    return report


def _wanted(
    out_there: base.Backend, catalog: Node, seen: Observation, now: datetime
) -> tuple[Desired, list[str]]:
    """What should be there, narrowed to objects the backend still has; the rest is named as unknown."""
    # read first: what is read after it is at least as new, so no later change passes for delivered
    revision = revision_now()
    if node(catalog.id) is None:
        return Desired({}, {}, revision=revision), []
    there = {(one.kind, one.path) for one in seen.objects} | {("catalog", ())}
    targets = targets_below(catalog)
    present = [target for target in targets if (target.kind, target.path) in there]
    absent = [".".join(target.path) for target in targets if (target.kind, target.path) not in there]
    wanted = Wanted(out_there, catalog, present, now=now).desired(seen.people)
    return replace(wanted, revision=revision), absent


def _report(
    row: Backend,
    catalog: Node,
    seen: Observation,
    plan: Plan,
    wanted: Desired,
    outcomes: Iterable[Outcome],
    unknown: list[str],
) -> Report:
    done = list(outcomes)
    failed = [outcome for outcome in done if outcome.error]
    return Report(
        backend=f"{catalog.realm}/{catalog.name}",
        applied=len(done) - len(failed),
        in_sync=plan.in_sync,
        missing=plan.missing,
        extra=plan.extra,
        foreign=len(seen.foreign),
        unknown=len(seen.unknown) + len(unknown),
        bypass=len(seen.bypasses),
        complete=seen.complete,
        revision=wanted.revision,
        error=str(failed[0].error) if failed else "",
        plan=plan,
    )


@transaction.atomic
def _remember(row: Backend, catalog: Node, seen: Observation, report: Report, started: datetime) -> None:
    now = timezone.now()
    state = Backend.State.IN_SYNC if report.settled else Backend.State.BEHIND
    proved = {"proved_revision": report.revision, "proved_at": now} if report.settled else {}
    Backend.objects.filter(pk=row.pk).update(state=state, error=report.error, counts=report.line(), **proved)
    SyncRun.objects.create(
        backend=row,
        started=started,
        ended=now,
        revision=report.revision,
        applied=report.applied,
        counts=report.line(),
        errors=[report.error] if report.error else [],
    )
    _remember_findings(row, catalog, seen, report.plan, now)


def _remember_findings(
    row: Backend, catalog: Node, seen: Observation, plan: Plan | None, now: datetime
) -> None:
    by_path = {target.path: target.id for target in targets_below(catalog)}
    found = [*_foreign(seen), *_bypasses(seen), *_unknown(seen), *_differences(plan)]
    rows = [
        BackendFinding(
            backend=row,
            kind=kind,
            securable_id=by_path.get(path) if path is not None else None,
            place=".".join(path or ()),
            holder=holder,
            what=what,
            grantor=grantor,
            first_seen=now,
            last_seen=now,
        )
        for kind, path, holder, what, grantor in sorted(set(found), key=repr)
    ]
    BackendFinding.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["backend", "kind", "place", "holder", "what", "grantor"],
        update_fields=["last_seen", "securable"],
    )
    BackendFinding.objects.filter(backend=row, last_seen__lt=now).delete()


Line = tuple[str, tuple[str, ...] | None, str, str, str]


def _foreign(seen: Observation) -> Iterable[Line]:
    for one in seen.foreign:
        yield "foreign", one.right.path, one.holder, one.right.right, one.grantor


def _bypasses(seen: Observation) -> Iterable[Line]:
    for one in seen.bypasses:
        yield "bypass", one.path, one.holder, one.what, ""


def _unknown(seen: Observation) -> Iterable[Line]:
    for text in seen.unknown:
        yield "unknown", None, "", text, ""


def _differences(plan: Plan | None) -> Iterable[Line]:
    for step in plan.steps if plan else ():
        kind = "extra" if step.kind == "take" else "missing"
        for right in step.rights:
            yield kind, right.path, step.role, right.right, ""
        for role in step.joins:
            yield "missing", None, step.person, f"member of {role}", ""
        for role in step.leaves:
            yield "extra", None, step.person, f"member of {role}", ""

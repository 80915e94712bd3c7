"""Running a sync: pausing, repairing or only reporting, letting a held plan go on, trying again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from catalog.nodes import Node, last
from policies.authority import Actor, Authority, of_duty, of_operator
from policies.decisions import ask, duties, site_permissions
from policies.errors import Conflict, Invalid, NotFound
from policies.events import (
    BACKEND_AGREED,
    BACKEND_CONFIRMED,
    BACKEND_LEFT,
    BACKEND_PAUSED,
    BACKEND_POLICY,
    BACKEND_RATE,
    BACKEND_RESUMED,
    BACKEND_RETRIED,
    BACKEND_SHARE,
)
from policies.models import Backend, BackendFinding, OutboxEntry, SyncItem, SyncRun
from policies.record import newest_editions, outbox
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.services import connected_objects, realm_of
from policies.sync.differences import items
from policies.sync.worker import RESUMED

DUTY = "operate_sync"
FASTEST = 1_000_000


def may_operate(actor: Actor, catalog: Node) -> bool:
    """Whether somebody may run the sync of a catalog: by duty, or as an owner of it or of what is above."""
    who = actor.decides_as
    if who is None:
        return actor.via == "operator"
    return duties.has(who, DUTY, catalog) or bool(ask.ask(who, "set_owner", catalog))


def operated(actor: Actor, catalogs: Iterable[Node]) -> frozenset[int]:
    """The catalogs whose sync somebody may run: there they see errors whole, with the names in them."""
    who = actor.decides_as
    if who is None:
        return frozenset(catalog.id for catalog in catalogs if actor.via == "operator")
    given = duties.held(who, DUTY)
    return frozenset(
        catalog.id
        for catalog in catalogs
        if not given.isdisjoint(catalog.lineage) or bool(ask.ask(who, "set_owner", catalog))
    )


def authority_to_operate(actor: Actor, catalog: Node) -> Authority:
    """The right to run a sync.  Raises Refused."""
    if actor.principal is None and actor.via == "operator":
        return of_operator(actor)
    otherwise = gettext(
        "You may not run the sync of %(name)s: only its owner or a holder of the duty may."
    ) % {"name": catalog.name}
    return of_duty(actor, DUTY, held=may_operate(actor, catalog), otherwise=otherwise)


def pause(row: Backend, *, by: Actor, reason: str = "", until: datetime | None = None) -> None:
    """Leave a backend alone: it is neither changed nor looked at until it is resumed."""
    if until is not None and until <= timezone.now():
        raise Invalid(gettext("The date is in the past."))
    state = {
        "state": Backend.State.PAUSED,
        "paused_by": by.decides_as,
        "paused_at": timezone.now(),
        "paused_until": until,
    }
    _set(row, BACKEND_PAUSED, state, by=by, reason=reason)


def resume(row: Backend, *, by: Actor, reason: str = "") -> None:
    """Take it up again, with what was decided meanwhile."""
    _set(row, BACKEND_RESUMED, RESUMED, by=by, reason=reason, look=True)


def set_policy(row: Backend, policy: str, *, by: Actor, reason: str = "") -> None:
    """Repair what differs, or only report it."""
    if policy not in Backend.Policy.values:
        raise Invalid(gettext("A sync repairs or reports; it does not `%(policy)s`.") % {"policy": policy})
    state = {"policy": policy, "restored": False}
    _set(row, BACKEND_POLICY, state, by=by, reason=reason, look=True, policy=Backend.Policy(policy).label)


def set_rate(row: Backend, rate: int, *, by: Actor, reason: str = "") -> None:
    """How many rights and memberships are changed in the backend each second at most; 0 for no limit."""
    if not 0 <= rate <= FASTEST:
        raise Invalid(
            gettext("Enter a number of changes a second up to %(fastest)s, or 0 for no limit.")
            % {"fastest": f"{FASTEST:,}"}
        )
    setting = f"at most {rate:,} a second" if rate else "without a limit"
    _set(row, BACKEND_RATE, {"rate": rate, "paced_until": None}, by=by, reason=reason, rate=setting)


def set_share(row: Backend, share: int, *, by: Actor, reason: str = "") -> None:
    """A plan that takes something from more than so many of a hundred people is held; 100 holds none."""
    if not 0 <= share <= 100:
        raise Invalid(gettext("Enter a share of people from 0 to 100 percent."))
    setting = f"{share} of a hundred"
    _set(row, BACKEND_SHARE, {"share": share}, by=by, reason=reason, look=True, share=setting)


def confirm(row: Backend, digest: str, *, by: Actor, reason: str = "") -> None:
    """Let a held plan go on, as long as it takes no more than what was looked at.  Raises Conflict."""
    run = SyncRun.objects.filter(backend=row).order_by("-pk").first()
    if run is None or run.state != SyncRun.State.HELD or run.digest != digest:
        raise Conflict(gettext("The plan has changed since. Check it again."))
    what = "right or membership" if run.removals == 1 else "rights and memberships"
    removes = f"{run.removals} {what} away from {run.losing} {'person' if run.losing == 1 else 'people'}"
    _set(row, BACKEND_CONFIRMED, {"confirmed": digest}, by=by, reason=reason, look=True, removes=removes)


def likeness(row: Backend) -> str:
    """A digest of what a connection is: where it leads, as whom, and what it is set to."""
    what = (row.kind, row.sealed_url, row.place, row.source, row.policy, row.awaits)
    return hashlib.sha256(repr(what).encode()).hexdigest()


def not_installed(row: Backend) -> str:
    return gettext(
        "No backend of kind %(kind)s is installed, so nobody can tell what the connection would govern."
    ) % {"kind": row.kind}


def agree(row: Backend, *, by: Actor, reason: str, digest: str) -> None:
    """Let a connection do what it is set to, which only reported until somebody who runs the site agreed.

    `digest` is the likeness of what they read of: its owner may renew it at any time, to lead elsewhere.
    Raises Refused, Invalid, Conflict.
    """
    catalog = _catalog(row)
    with change(BACKEND_AGREED, realm=realm_of(catalog), by=by, reason=reason) as current:
        authority = site_permissions.of_operations(by)
        if not reason.strip():
            raise Invalid(gettext("Give a reason; it is kept in the history permanently."))
        row.refresh_from_db()
        if not row.awaits and row.is_sealed and newest_editions.among([row]):
            raise Conflict(gettext("Someone has agreed already."))
        if likeness(row) != digest:
            raise Conflict(gettext("The connection has changed since. Check it again."))
        if connected_objects.bound_types(row) is None:
            raise Conflict(not_installed(row))
        Backend.objects.filter(pk=row.pk).update(awaits="")
        newest_editions.answer_for([Backend.objects.get(pk=row.pk)])
        waiting_again(row)
        outbox.ask(row, current.revision)
        current.say(make_event(BACKEND_AGREED, catalog, backend=str(row)), by=authority)


def retry(row: Backend, *, by: Actor, item: SyncItem | None = None) -> None:
    """Try again now: what was parked, what waits, or one item of a run alone."""
    catalog = _catalog(row)
    with change(BACKEND_RETRIED, realm=realm_of(catalog), by=by) as current:
        authority = authority_to_operate(by, catalog)
        if item is None:
            waiting_again(row)
        outbox.ask(row, current.revision, key=f"item:{item.pk}" if item else "look")
        current.say(make_event(BACKEND_RETRIED, catalog), by=authority)


def retry_finding(finding: int, *, by: Actor) -> BackendFinding:
    """Try one missing or extra right or membership again now.  Raises Refused, NotFound."""
    differing = BackendFinding.objects.filter(pk=finding, kind__in=("missing", "extra"))
    parked_finding = differing.select_related("backend__realm").first()
    if parked_finding is None:
        raise NotFound(gettext("It no longer exists."))
    row, catalog = parked_finding.backend, _catalog(parked_finding.backend)
    with change(BACKEND_RETRIED, realm=realm_of(catalog), by=by) as current:
        authority = authority_to_operate(by, catalog)
        items.try_again(row, findings=Q(pk=finding))
        outbox.ask(row, current.revision)
        current.say(make_event(BACKEND_RETRIED, catalog), by=authority)
    return parked_finding


def leave(finding: int, until: datetime, *, by: Actor, reason: str) -> BackendFinding:
    """Leave a right or membership that was refused as it is in the backend, until a date.

    What was decided stands; until then it is neither tried nor waits for anybody.  Raises Refused, Invalid,
    NotFound.
    """
    refused_finding = _tried(finding)
    row, catalog = refused_finding.backend, _catalog(refused_finding.backend)
    if not reason.strip():
        raise Invalid(gettext("Give a reason for leaving it; the next reader will ask."))
    if until <= timezone.now():
        raise Invalid(gettext("The date is in the past."))
    with change(BACKEND_LEFT, realm=realm_of(catalog), by=by, reason=reason) as current:
        authority = authority_to_operate(by, catalog)
        refused_finding = _tried(finding)
        refused_finding.accepted_until, refused_finding.accepted_by = until, by.decides_as
        refused_finding.accepted_reason = reason.strip()
        refused_finding.save(update_fields=["accepted_until", "accepted_by", "accepted_reason"])
        outbox.ask(row, current.revision)
        about = " ".join(filter(None, (refused_finding.what, refused_finding.place)))
        values = {"what": about, "backend": str(row), "until": until.date().isoformat()}
        current.say(make_event(BACKEND_LEFT, catalog, **values), by=authority)
    return refused_finding


def _tried(finding: int) -> BackendFinding:
    """A right or membership that was tried in vain.  Raises NotFound."""
    tried = BackendFinding.objects.filter(pk=finding, kind__in=("missing", "extra"), attempts__gt=0)
    if (row := tried.select_related("backend__realm").first()) is None:
        raise NotFound(gettext("It no longer exists."))
    return row


def something_failed(row: Backend) -> bool:
    """Whether there is anything that trying again is about.  Three queries at most."""
    failing = OutboxEntry.objects.filter(backend=row, attempts__gt=0)
    return failing.exists() or bool(items.stuck_findings([row.pk]) or items.stuck_orders([row.pk]))


def waiting_again(row: Backend) -> None:
    """Make due now what is stuck, parked or postponed because it failed."""
    items.try_again(row)
    failed: QuerySet[OutboxEntry] = OutboxEntry.objects.filter(backend=row, attempts__gt=0)
    failed.update(parked=False, parked_at=None, attempts=0, due=timezone.now())


def _set(
    row: Backend,
    kind: str,
    state: Mapping[str, object],
    *,
    by: Actor,
    reason: str,
    look: bool = False,
    **values: str,
) -> None:
    catalog = _catalog(row)
    with change(kind, realm=realm_of(catalog), by=by, reason=reason) as current:
        authority = authority_to_operate(by, catalog)
        Backend.objects.filter(pk=row.pk).update(**state)
        if look:
            waiting_again(row)
            outbox.ask(row, current.revision)
        current.say(make_event(kind, catalog, backend=str(row), **values), by=authority)


def _catalog(row: Backend) -> Node:
    catalog = last(row.catalog_id)
    if catalog is None:
        raise NotFound(gettext("Its catalog no longer exists."))
    return catalog

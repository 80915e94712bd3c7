"""Plans of policy files that another person has to approve: asked for and approved as requests, applied once.

What a plan is and how it is carried out is for `policies/policy_files`; here it is a digest and its steps.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Exists, Max, OuterRef, Q, QuerySet
from django.utils.translation import gettext

from accounts.models import Principal
from accounts.text import holdable
from catalog.nodes import Node
from catalog.queries import realm_named
from policies.authority import Actor, Authority, of_duty
from policies.errors import Conflict, Invalid, Refused
from policies.models import AccessRequest, Change, Event, PlannedFile, RequestPart, RequestRule, RequestWant
from policies.models.requests import GRANTED, STILL_OPEN, WAITING
from policies.record.change import ChangeInProgress, change
from policies.requests import decision_places, mandates, notifications, outcomes, parties, rules, steps
from policies.requests.submission import MOST_OPEN

APPLY = "apply_policy_file"
"""The action that is asked for, on the realm."""
NEWER = "The realm changed since, and its author asks for approval of a newer plan."
Needed = RequestRule.PlanApproval
_STEPS_ALONE = (
    *(steps.ASKED, steps.ASKED_BACK, steps.ANSWERED, steps.APPROVED, steps.APPROVED_LESS, steps.REFUSED),
    *(steps.WITHDRAWN, steps.LAPSED, steps.ESCALATED, steps.REOPENED, steps.PROVED, steps.STUCK),
)


ListedStep = tuple[str, str, Sequence[Sequence[Sequence[str]]]]
"""A step: its action, its sentence, and the statements before and after it."""


@dataclass(frozen=True)
class PlanToApprove:
    """A plan as a request carries it; `revision` is `last_change_of_access` when it was worked out."""

    root: Node
    plan: str
    revision: int
    file: str
    steps: Sequence[ListedStep]


def digest_of(realm: str, revision: int, steps: Sequence[ListedStep]) -> str:
    """What a plan is known by.  Sentences read alike of different things, so it is made of statements too."""
    body = json.dumps([realm, revision, steps], separators=(",", ":"))
    return hashlib.sha256(body.encode()).hexdigest()


def is_as_asked(planned: PlannedFile) -> bool:
    """Whether the steps that are shown are those of the plan that is approved; no seal covers them before."""
    return digest_of(planned.request.realm_name, planned.revision, planned.steps) == planned.plan


def last_change_of_access(realm: int) -> int:
    """The revision of the last change that could matter to access in a realm: its own, or of no realm.

    Steps of requests that gave nothing matter to nobody's access, so a plan outlives its own approval.
    """
    of_access = Event.objects.filter(change=OuterRef("pk")).exclude(kind__in=_STEPS_ALONE)
    rows = Change.objects.filter(Q(realm=realm) | Q(realm__isnull=True)).filter(Exists(of_access))
    return rows.aggregate(last=Max("revision"))["last"] or 0


def is_needed(root: Node, *, removes: bool) -> bool:
    """Whether somebody else has to approve a plan here; `removes`: it removes or changes something.

    By the rule, or by what the record tells of it: whoever weakens the rule in the database applies nothing
    alone.
    """
    wanted = {rules.rules_along([root]).plan_approval, *rules.told_of(root)}
    return Needed.ALWAYS in wanted or (Needed.REMOVALS in wanted and removes)


def approved(root: Node, plan: str, *, by: Actor, now: datetime) -> AccessRequest | None:
    """The request by which somebody else approved this very plan of the actor, if that still counts."""
    if by.decides_as is None:
        return None
    rows = _of_plan(root, plan, by.decides_as).filter(state__in=GRANTED, lapses_at__gt=now)
    for request in rows.filter(wants__given_at__isnull=True):
        if mandates.still(request, request.parts.get(), by, now=now):
            return request
    return None


def applied(current: ChangeInProgress, request: AccessRequest, *, by: Authority) -> None:
    """Note in the change that carried a plan out that its approval is used up."""
    request.wants.update(given_at=current.at, revision=current.revision)
    request.parts.update(carried=True)
    steps.stepped(current, request, steps.APPLIED, by=by)
    outcomes.settle(request, now=current.at)


def ask(planned: PlanToApprove, *, by: Actor, reason: str) -> AccessRequest:
    """Ask those who may grant in the realm to approve a plan; the same again while it waits.

    Raises Refused when it was refused already or nobody is there who asks, Invalid.
    """
    asker, root = by.decides_as, planned.root
    if asker is None:
        raise Refused(
            gettext("Another person has to approve this plan. Apply it with a token, or on its page.")
        )
    realm = realm_named(root.name)
    with change(steps.ASKED, realm=realm, by=by, reason=reason) as current:
        if planned.revision != last_change_of_access(root.realm_id):
            raise Conflict(gettext("The realm changed since this was planned. Plan again."))
        if before := _asked_before(planned, asker, current.at):
            return before
        asked_of = rules.rules_along([root])
        replace(asked_of, ticket="").check(reason, "")
        if not holdable(planned.file) or not holdable(reason):
            raise Invalid(gettext("This contains characters that cannot be stored."))
        if AccessRequest.objects.filter(STILL_OPEN, asker=asker).count() >= MOST_OPEN:
            raise Invalid(
                gettext("You have %(most)s open requests; withdraw some before you make more.")
                % {"most": MOST_OPEN}
            )
        authority = of_duty(by, "request", held=True, otherwise="")
        _withdraw_outdated(current, planned, asker, authority)
        request = AccessRequest.objects.create(
            digest=planned.plan,
            asker=asker,
            holder=asker,
            realm_name=root.name,
            realm=realm,
            reason=reason,
            via=by.via,
            asked_at=current.at,
            moved_at=current.at,
            lapses_at=asked_of.lapses(current.at),
            lineage=[root.id],
        )
        part = _write(request, planned, asked_of.escalates(current.at), current.at)
        steps.stepped(current, request, steps.ASKED, by=authority, text=reason)
        notifications.asked(request, [part])
    return request


def check_approvable(request: AccessRequest) -> None:
    """Raise Conflict when the plan of a request can no longer be applied, so that nobody approves it."""
    planned = PlannedFile.objects.select_related("request").get(request=request)
    if request.realm is None or planned.revision != last_change_of_access(request.realm.pk):
        raise Conflict(
            gettext("The realm changed since this was planned, so it can no longer be applied. Refuse it.")
        )
    if not is_as_asked(planned):
        raise Conflict(gettext("Its steps differ from the requested ones. Refuse it."))


def _of_plan(root: Node, plan: str, asker: Principal) -> QuerySet[AccessRequest]:
    rows = AccessRequest.objects.filter(asker=asker, realm=root.realm_id, planned_file__plan=plan)
    return rows.select_related("realm", "asker", "holder").order_by("-pk")


def _asked_before(planned: PlanToApprove, asker: Principal, now: datetime) -> AccessRequest | None:
    """The request for this very plan that waits.  Raises Refused when somebody refused it."""
    before = _of_plan(planned.root, planned.plan, asker).first()
    if before is None:
        return None
    if before.state == "refused":
        part = before.parts.select_related("decided_by").get()
        raise Refused(
            gettext("%(who)s refused this plan: %(why)s")
            % {"who": part.decided_by.label if part.decided_by else "", "why": part.note}
        )
    return before if before.state in WAITING and now < before.lapses_at else None


def _withdraw_outdated(
    current: ChangeInProgress, planned: PlanToApprove, asker: Principal, authority: Authority
) -> None:
    """Take back what the asker has waiting here that can no longer be applied."""
    rows = AccessRequest.objects.filter(STILL_OPEN, asker=asker, realm=planned.root.realm_id)
    outdated = rows.filter(planned_file__isnull=False).exclude(planned_file__revision=planned.revision)
    for request in outdated.select_related("realm", "asker", "holder"):
        outcomes.end(request, "withdraw", now=current.at)
        steps.stepped(current, request, steps.WITHDRAWN, by=authority, text=NEWER)
        notifications.over(request)


def _write(
    request: AccessRequest, planned: PlanToApprove, escalates: datetime | None, now: datetime
) -> RequestPart:
    root, kind = planned.root, RequestPart.Kind.PLAN
    PlannedFile.objects.create(
        request=request,
        plan=planned.plan,
        revision=planned.revision,
        file=planned.file,
        steps=planned.steps,
    )
    RequestWant.objects.create(
        request=request, number=0, type=root.type, name=root.ref.id, action=APPLY, securable_id=root.id
    )
    place = decision_places.find(kind, root.ref, request.holder.kind)
    deciders = place.deciders(parties.of(request), now=now) if place else []
    return RequestPart.objects.create(
        request=request,
        number=0,
        kind=kind,
        type=root.type,
        name=root.ref.id,
        securable_id=root.id,
        needed={"": [0]},
        places=place.all_keys if place else [],
        addressed=place.nearest(deciders) if place else [],
        escalates_at=escalates,
    )

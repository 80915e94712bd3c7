"""Carrying out what was approved: through the same services as by hand, by the right of each who approved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from django.utils.translation import gettext

from accounts.models import Principal
from accounts.record import Origin
from catalog.nodes import Node
from catalog.nodes import node as node_of
from lakewarden.law import dialects
from policies.authority import Actor, Authority, of_system
from policies.errors import Invalid, NotFound
from policies.models import AccessRequest, RequestPart, RequestWant
from policies.models.requests import PART
from policies.record.change import ChangeInProgress
from policies.requests import decision_places, durations, mandates, notifications, outcomes, provisioning
from policies.requests.approval_seals import UNSEALED, is_approval_sealed
from policies.requests.mandates import Mandate
from policies.requests.record_words import part_said
from policies.requests.steps import GIVEN, REOPENED, stepped
from policies.services import grants, members, patterns, roles
from policies.services.grants import GrantRequest

DOOR = "request"
"""Through which door facts come that a request brings about."""


def carry(current: ChangeInProgress, request: AccessRequest, by: Actor, decided: Sequence[Mandate]) -> None:
    """Give every want whose parts are all approved, or note when it is to begin.

    What others had approved before is asked of their right once more; where that is gone the part is open
    again.
    """
    parts = list(request.parts.select_related("decided_by", "decided_for"))
    for want in request.wants.filter(given_at__isnull=True).order_by("number"):
        if outcomes.standing(want, parts) != outcomes.COMING:
            continue
        if request.starts and request.starts > current.at:
            RequestWant.objects.filter(pk=want.pk).update(due=request.starts)
            continue
        mine = [part for part in parts if want.number in part.wants]
        if any(part.kind == RequestPart.Kind.PLAN for part in mine):
            continue  # its author applies it, by the right of their own
        held = _mandates(current, request, mine, by, decided)
        if held is None:
            RequestWant.objects.filter(pk=want.pk).update(due=None)
        else:
            _give(current, request, want, held)


def _mandates(
    current: ChangeInProgress,
    request: AccessRequest,
    parts: Sequence[RequestPart],
    by: Actor,
    decided: Sequence[Mandate],
) -> list[Mandate] | None:
    """The right behind each part as it is now; None when one is gone, and that part is open again."""
    fresh = {item.part.pk: item for item in decided}
    held, vanished = [], []
    for part in parts:
        mandate = fresh.get(part.pk) or mandates.still(request, part, by, now=current.at)
        if mandate is None:
            vanished.append(part)
        else:
            held.append(replace(mandate, part=part))
    for part in vanished:
        _reopen(current, request, part, by)
    return None if vanished else held


def _reopen(current: ChangeInProgress, request: AccessRequest, part: RequestPart, by: Actor) -> None:
    why = "" if is_approval_sealed(request, part) else UNSEALED
    PART.move(request.parts.filter(pk=part.pk), "reopen", given=[], role=None, note=why)
    approver = part.decided_for or part.decided_by
    stepped(
        current,
        request,
        REOPENED,
        by=of_system("request"),
        part=part.number,
        text=why,
        told=part_said(part),
        deputy=approver.pseudonym if approver else "",
    )
    part.state = PART.get("reopen").target
    notifications.reopened(request, part)


def _give(
    current: ChangeInProgress, request: AccessRequest, want: RequestWant, held: Sequence[Mandate]
) -> None:
    end = ends(request, [item.part for item in held], current.at)
    if end is not None and end <= current.at:
        raise Invalid(gettext("The requested time is over."))
    ordered = sorted(
        held, key=lambda mandate: (mandate.part.kind != RequestPart.Kind.MEMBERSHIP, mandate.part.number)
    )
    for item in ordered:
        actor, authority = replace(item.actor, via=DOOR), item.authority
        holder, reason = request.holder, request.reason
        if item.part.kind == RequestPart.Kind.MEMBERSHIP:
            members.add(item.place.node, holder, by=actor, authority=authority, reason=reason)
        elif item.part.kind == RequestPart.Kind.ROLE or item.part.role_id is not None:
            roles.assign(_role(item), holder, by=actor, authority=authority, reason=reason, valid_until=end)
        else:
            codes = [code for code in item.part.given if want.number in item.part.needed.get(code, ())]
            _grant(item.place, holder, codes, actor, authority, end, reason)
    request.parts.filter(pk__in=[item.part.pk for item in held]).update(carried=True)
    RequestWant.objects.filter(pk=want.pk).update(
        given_at=current.at, due=None, revision=current.revision, valid_from=current.at, valid_until=end
    )
    stepped(current, request, GIVEN, by=held[-1].authority)
    provisioning.begin(request, [item.place.node for item in held], current)


def ends(request: AccessRequest, parts: Sequence[RequestPart], start: datetime) -> datetime | None:
    """When access ends that begins now: as asked, or as the strictest decider shortened it."""
    end = durations.ends(start, request.lasts, request.until, request.zone)
    for part in parts:
        if part.lasts or part.until:
            end = durations.shorter(end, durations.ends(start, part.lasts, part.until, request.zone))
    return end


def _role(mandate: Mandate) -> Node:
    role = (
        node_of(mandate.part.role_id)
        if mandate.part.role_id
        else mandate.place.node
        if mandate.place.exact
        else None
    )
    if role is None or role.type != "role":
        raise NotFound(gettext("That role no longer exists."))
    return role


def _grant(
    place: decision_places.DecisionPlace,
    holder: Principal,
    codes: Sequence[str],
    actor: Actor,
    authority: Authority,
    end: datetime | None,
    reason: str,
) -> None:
    if not place.exact:
        raise NotFound(gettext("A %(type)s of that name no longer exists.") % {"type": place.kind})
    if dialects.get(place.node.kind).by_text:
        root = next(iter(place.levels))
        text = patterns.named(root, place.text)
        patterns.grant(root, text, holder, codes, by=actor, reason=reason, right=authority, valid_until=end)
        return
    wish = GrantRequest(
        place.node, (holder,), tuple(codes), valid_until=end, way=False, origin=Origin.REQUEST
    )
    grants.add(wish, by=actor, reason=reason, authority=authority)

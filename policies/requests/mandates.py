"""By what right somebody decides a part: their own, by the law or a duty, or that of an absent person."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext, gettext_lazy

from accounts.entering import able
from accounts.models import Principal
from catalog.nodes import Node
from catalog.nodes import node as node_of
from policies.authority import Actor, Authority, require
from policies.decisions.approvers import APPROVE, Rights
from policies.errors import Refused
from policies.models import AccessRequest, RequestPart, Substitute
from policies.record import newest_editions
from policies.requests import decision_places, parties
from policies.requests.approval_seals import is_approval_sealed

log = logging.getLogger(__name__)
PEOPLE_ONLY = gettext_lazy("Requests are decided by people, not by programs.")


@dataclass(frozen=True)
class Mandate:
    """The right of `authority.actor` to decide one part, where it is decided, and for whom they do it."""

    part: RequestPart
    place: decision_places.DecisionPlace
    authority: Authority

    @property
    def actor(self) -> Actor:
        return self.authority.actor


def present(person: Principal, now: datetime) -> list[Principal]:
    """Those for whom somebody decides now, because they are away.  One query, two if there are any."""
    rows = Substitute.objects.filter(deputy=person, starts__lte=now, ends__gt=now, ended_at__isnull=True)
    named = rows.select_related("person").order_by("pk")
    return [row.person for row in newest_editions.among([row for row in named if row.is_sealed])]


def of(request: AccessRequest, parts: Collection[RequestPart], by: Actor, *, now: datetime) -> list[Mandate]:
    """What of these parts somebody may decide, not being concerned themselves.  Raises Refused.

    Nobody chooses in whose name they decide: `by` is the person present, with every right they have.
    """
    person = by.principal
    if person is None:
        raise Refused(gettext("Nobody is signed in."))
    if person.kind != Principal.Kind.USER:
        raise Refused(str(PEOPLE_ONLY))
    rights = [Rights(candidate, APPROVE, now) for candidate in _candidates(request, person, now)]
    places = decision_places.of_rows(list(parts), request.holder.kind) if rights else {}
    mandates = (_over(part, places.get(part.pk), by, rights) for part in parts)
    return [item for item in mandates if item is not None]


def _candidates(request: AccessRequest, person: Principal, now: datetime) -> list[Principal]:
    """As whom somebody may decide: as themselves, and as absent people; none of them concerned."""
    concerned = parties.of(request)
    if person.pk in concerned:
        return []
    away = [item for item in present(person, now) if item.pk not in concerned]
    entering = able([item.pk for item in away], now=now) if away else frozenset()
    return [person, *(item for item in away if item.pk in entering)]


def over_role(
    request: AccessRequest, parts: Collection[RequestPart], by: Actor, role: Node, *, now: datetime
) -> list[Mandate]:
    """The right to give a role, as the right to decide the parts that it stands for."""
    place = decision_places.find(RequestPart.Kind.ROLE, role.ref, request.holder.kind)
    if by.principal is None or place is None:
        return []
    rights = [Rights(candidate, APPROVE, now) for candidate in _candidates(request, by.principal, now)]
    mine = [part for part in parts if part.kind == RequestPart.Kind.PRIVILEGE]
    mandates = (_over(part, place, by, rights) for part in mine)
    return [item for item in mandates if item is not None]


def _over(
    part: RequestPart, place: decision_places.DecisionPlace | None, by: Actor, rights: Iterable[Rights]
) -> Mandate | None:
    if place is None:
        return None
    mandates = (_as(right, by, place) for right in rights)
    authority = next((item for item in mandates if item is not None), None)
    return Mandate(part, place, authority) if authority else None


def _as(right: Rights, by: Actor, place: decision_places.DecisionPlace) -> Authority | None:
    decision = right.decide(place.node, place.action)
    if not decision:
        return None
    principal = right.principal
    actor = by if principal == by.principal else replace(by, on_behalf_of=principal)
    return require(decision, actor, otherwise="")


def still(request: AccessRequest, part: RequestPart, by: Actor, *, now: datetime) -> Mandate | None:
    """The right of who approved a part, asked again when it is carried out; None when it is gone.

    Nobody approved what bears no good seal.
    """
    if not is_approval_sealed(request, part):
        log.error("the approval of %s was written outside the console, or before there were seals", part)
        return None
    approver, concerned = part.decided_for or part.decided_by, parties.of(request)
    if approver is None or not concerned.isdisjoint({approver.pk, part.decided_by_id}):
        return None
    role = node_of(part.role_id) if part.role_id else None
    whose = request.holder.kind
    place = (
        decision_places.find(RequestPart.Kind.ROLE, role.ref, whose)
        if role
        else decision_places.of_row(part, whose)
    )
    if place is None or not able([approver.pk], now=now) or (part.role_id and role is None):
        return None
    return _over(part, place, by, [Rights(approver, APPROVE, now)])

"""By what right somebody decides a part: his own, by the law or a duty, or that of who is away."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime

from accounts.entering import able
from accounts.models import Principal
from catalog.nodes import Node
from catalog.nodes import node as node_of
from policies import deciders
from policies.authority import Actor, Authority, require
from policies.deciders import APPROVE
from policies.errors import Refused
from policies.models import AccessRequest, RequestPart, Substitute
from policies.requests import parties, places

PEOPLE_ONLY = "Requests are decided by people, not by programs."


@dataclass(frozen=True)
class Mandate:
    """The right of `authority.actor` to decide one part, where it is decided, and for whom he does it."""

    part: RequestPart
    place: places.Place
    authority: Authority

    @property
    def actor(self) -> Actor:
        return self.authority.actor


def present(person: Principal, now: datetime) -> list[Principal]:
    """Those for whom somebody decides now, because they are away.  One query."""
    rows = Substitute.objects.filter(deputy=person, starts__lte=now, ends__gt=now, ended_at__isnull=True)
    return [row.person for row in rows.select_related("person").order_by("pk")]


def of(request: AccessRequest, parts: Collection[RequestPart], by: Actor, *, now: datetime) -> list[Mandate]:
    """What of these parts somebody may decide, not being concerned himself.  Raises Refused.

    Nobody is asked by what he wants to be decided as: `by` is who is there, with the right he has.
    """
    person = by.principal
    if person is None:
        raise Refused("Nobody is signed in.")
    if person.kind != Principal.Kind.USER:
        raise Refused(PEOPLE_ONLY)
    found = (_over(request, part, by, _candidates(request, person, now), now) for part in parts)
    return [one for one in found if one is not None]


def _candidates(request: AccessRequest, person: Principal, now: datetime) -> list[Principal]:
    """As whom somebody may decide: as himself, and as those who are away; none of them concerned."""
    concerned = parties.of(request)
    if person.pk in concerned:
        return []
    away = [one for one in present(person, now) if one.pk not in concerned]
    entering = able([one.pk for one in away], now=now) if away else frozenset()
    return [person, *(one for one in away if one.pk in entering)]


def over_role(
    request: AccessRequest, parts: Collection[RequestPart], by: Actor, role: Node, *, now: datetime
) -> list[Mandate]:
    """The right to give a role, as the right to decide the parts that it stands for."""
    place = places.find(RequestPart.Kind.ROLE, role.ref, request.holder.kind)
    if by.principal is None or place is None:
        return []
    for one in _candidates(request, by.principal, now):
        authority = _as(one, by, place, now)
        if authority is not None:
            mine = [part for part in parts if part.kind == RequestPart.Kind.PRIVILEGE]
            return [Mandate(part, place, authority) for part in mine]
    return []


def _over(
    request: AccessRequest, part: RequestPart, by: Actor, candidates: Collection[Principal], now: datetime
) -> Mandate | None:
    place = places.of_row(part, request.holder.kind)
    if place is None:
        return None
    rights = (_as(one, by, place, now) for one in candidates)
    authority = next((one for one in rights if one is not None), None)
    return Mandate(part, place, authority) if authority else None


def _as(one: Principal, by: Actor, place: places.Place, now: datetime) -> Authority | None:
    decision = deciders.may(one, place.node, duty=APPROVE, now=now, action=place.action)
    if not decision:
        return None
    actor = by if one == by.principal else replace(by, on_behalf_of=one)
    return require(decision, actor, otherwise="")


def still(request: AccessRequest, part: RequestPart, by: Actor, *, now: datetime) -> Mandate | None:
    """The right of who approved a part, asked again when it is carried out; None when it is gone."""
    approver, concerned = part.decided_for or part.decided_by, parties.of(request)
    if approver is None or not concerned.isdisjoint({approver.pk, part.decided_by_id}):
        return None
    role = node_of(part.role_id) if part.role_id else None
    whose = request.holder.kind
    place = places.find(RequestPart.Kind.ROLE, role.ref, whose) if role else places.of_row(part, whose)
    if place is None or not able([approver.pk], now=now) or (part.role_id and role is None):
        return None
    authority = _as(approver, by, place, now)
    return Mandate(part, place, authority) if authority else None

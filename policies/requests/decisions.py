"""Deciding: yes, yes to less, no, and a question first.  Judged under the lock, by the right held there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext

from accounts.models import Principal
from accounts.text import holdable
from catalog.models import Realm
from catalog.nodes import node as node_of
from policies.authority import Actor
from policies.errors import Conflict, Invalid, NotFound, Refused
from policies.models import AccessRequest, RequestPart
from policies.models.requests import GRANTED, PART, REQUEST, WAITING
from policies.record.change import ChangeInProgress, change
from policies.requests import (
    decision_places,
    durations,
    fulfilment,
    mandates,
    notifications,
    outcomes,
    parties,
    plan_approvals,
    role_proposals,
)
from policies.requests.approval_seals import seal_approval
from policies.requests.mandates import Mandate
from policies.requests.notifications import WANTS
from policies.requests.record_words import given_said, part_said
from policies.requests.rules import LONGEST_REASON
from policies.requests.steps import APPROVED, APPROVED_LESS, ASKED_BACK, REFUSED, fresh, stepped
from policies.sentences import say

Kind = RequestPart.Kind


@dataclass(frozen=True)
class Yes:
    """How much of it is given: `give` are the privileges by part, whole where it is not named; `lasts` or
    `until` a shorter time than asked; `role` the number of a role that gives the same."""

    give: Mapping[int, Collection[str]]
    lasts: str = ""
    until: datetime | None = None
    role: int | None = None


def approve(
    number: int,
    *,
    by: Actor,
    parts: Collection[int] = (),
    give: Mapping[int, Collection[str]] | None = None,
    lasts: str = "",
    until: datetime | None = None,
    role: int | None = None,
    note: str = "",
) -> AccessRequest:
    """Say yes to parts; what is complete by that is given in the same change.

    Without numbers it is the parts that are put to the decider, or else all that they may decide.

    Raises NotFound, Refused, Invalid, Conflict.
    """
    yes, text = Yes(give or {}, lasts, until, role), _text(note)
    with change(APPROVED, realm=_realm_of(number, by), by=by, reason=text) as current:
        request = _locked_request(number)
        held = _held(request, parts, by, current.at, role=role)
        if yes.give.keys() - {item.part.number for item in held} - set(parts):
            # a misspelt name of what is cut down would give the whole of it
            raise Invalid(gettext("You reduced a part that you do not decide here."))
        _check_yes(request, yes, held, current.at)
        for item in held:
            _approve(current, request, item, yes, text)
        approved = _with_parts(request, held)
        for item in approved:
            seal_approval(request, item.part)
        fulfilment.carry(current, request, by, approved)
        _settle(request, current.at)
    return fresh(request)


def refuse(number: int, reason: str, *, by: Actor, parts: Collection[int] = ()) -> AccessRequest:
    """Say no to parts, or to all that the actor may decide, and why.  Raises as `approve`."""
    text = _text(reason)
    if len(text) < 3:
        raise Invalid(gettext("Give a reason for the refusal."))
    with change(REFUSED, realm=_realm_of(number, by), by=by, reason=text) as current:
        request = _locked_request(number)
        for item in _held(request, parts, by, current.at):
            _move(current, request, item, "refuse", text)
            part_text = part_said(item.part)
            stepped(
                current, request, REFUSED, by=item.authority, text=text, part=item.part.number, told=part_text
            )
        _settle(request, current.at)
    return fresh(request)


def ask_back(number: int, question: str, *, by: Actor, parts: Collection[int] = ()) -> AccessRequest:
    """Ask the requester something before deciding.  Raises as `approve`."""
    text = _text(question)
    if len(text) < 3:
        raise Invalid(gettext("Enter your question."))
    with change(ASKED_BACK, realm=_realm_of(number, by), by=by, reason=text) as current:
        request = _locked_request(number)
        held = [item for item in _held(request, parts, by, current.at) if item.part.state == "asked"]
        if not held:
            raise Conflict(gettext("A question was already asked; wait for the answer, or decide."))
        for item in held:
            PART.move(request.parts.filter(pk=item.part.pk), "ask_back")
        part_texts = say(WANTS, some=[part_said(item.part) for item in held])
        stepped(current, request, ASKED_BACK, by=held[0].authority, text=text, told=part_texts)
        outcomes.settle(request, now=current.at)
        notifications.asked_back(request)
    return fresh(request)


def _realm_of(number: int, by: Actor) -> Realm | None:
    if by.principal is not None and by.principal.kind != Principal.Kind.USER:
        raise Refused(str(mandates.PEOPLE_ONLY))
    row = AccessRequest.objects.select_related("realm").filter(pk=number).first()
    if row is None:
        raise NotFound(no_such(number))
    return row.realm


def no_such(number: int) -> str:
    return gettext("There is no request %(number)s, or you may not see it.") % {"number": number}


def _text(text: str) -> str:
    stripped = text.strip()
    if len(stripped) > LONGEST_REASON or not holdable(stripped):
        raise Invalid(
            gettext("A text may have at most %(most)s characters, and only characters that can be stored.")
            % {"most": LONGEST_REASON}
        )
    return stripped


def _locked_request(number: int) -> AccessRequest:
    """The request under the lock."""
    rows = AccessRequest.objects.select_related("realm", "asker", "holder")
    request = rows.filter(pk=number).first()
    if request is None:
        raise NotFound(no_such(number))
    return request


def _held(
    request: AccessRequest, wanted: Collection[int], by: Actor, now: datetime, *, role: int | None = None
) -> list[Mandate]:
    """The open parts that the actor decides now.  When there are none, raises the reason to tell them."""
    rows = request.parts.select_related("decided_by").order_by("number")
    wanted_parts = [part for part in rows if not wanted or part.number in wanted]
    if by.principal is not None and by.principal.pk in parties.of(request):
        raise Refused(str(parties.OWN))
    mine = mandates.of(request, wanted_parts, by, now=now)
    if role is not None:
        mine = _by_role(request, wanted_parts, by, role, mine, now)
    if not mine:
        every = list(request.parts.all())
        unheard = (
            Refused(gettext("These parts are for others to decide."))
            if mandates.of(request, every, by, now=now)
            else NotFound(no_such(request.pk))
        )
        raise unheard
    if request.state in WAITING and now >= request.lapses_at:
        raise Conflict(gettext("This request has lapsed: nobody decided it in time."))
    if not wanted and role is None:
        mine = _addressed(mine, now) or mine
    held = [item for item in mine if item.part.state in WAITING]
    refused = {part.number for part in wanted_parts if wanted} - {item.part.number for item in mine}
    if refused or (wanted and {part.number for part in wanted_parts} != set(wanted)):
        raise Refused(gettext("Some of these parts are for others to decide."))
    if not held:
        raise Conflict(_too_late(request, mine[0].part))
    return held


def _addressed(mine: Sequence[Mandate], now: datetime) -> list[Mandate]:
    """Those of the parts that are put to the decider here; others lie nearer to somebody else."""
    people = {item.actor.decides_as for item in mine}
    put = {key for item in mine for key in item.part.addressed}
    keys = {
        key for person in people if person for key in decision_places.decided_by(person, now=now, among=put)
    }
    return [item for item in mine if not keys.isdisjoint(item.part.addressed)]


def _too_late(request: AccessRequest, part: RequestPart) -> str:
    if part.state in (*GRANTED, "refused") and part.decided_by:
        refused = gettext("%(who)s has refused this in the meantime; check it again.")
        granted = gettext("%(who)s has approved this in the meantime; check it again.")
        return (refused if part.state == "refused" else granted) % {"who": part.decided_by.label}
    if request.state not in WAITING:
        return REQUEST.too_late(request.state)
    return PART.too_late(part.state)


def _by_role(
    request: AccessRequest,
    parts: Sequence[RequestPart],
    by: Actor,
    role: int,
    mine: Sequence[Mandate],
    now: datetime,
) -> list[Mandate]:
    """The parts that a role covers, by the right to give that role; and those that it does not cover."""
    node = node_of(role)
    if node is None or node.type != "role" or not role_proposals.gives_exactly(role, request, parts):
        raise Invalid(gettext("That role does not give exactly the access requested here."))
    every = [part for part in request.parts.all() if part.kind == Kind.PRIVILEGE]
    if any(part.state not in WAITING and part.given != part.privileges for part in every):
        raise Invalid(gettext("Part of this was refused or reduced, and that role would give all of it."))
    held = mandates.over_role(request, parts, by, node, now=now)
    if not held:
        raise Refused(gettext("You may not assign role %(name)s.") % {"name": node.name})
    return [*held, *(item for item in mine if item.part.kind != Kind.PRIVILEGE)]


def _check_yes(request: AccessRequest, yes: Yes, held: Sequence[Mandate], now: datetime) -> None:
    if yes.lasts and yes.until:
        raise Invalid(gettext("Give either a length or an end, not both."))
    shorter = durations.ends(now, yes.lasts, yes.until, request.zone)
    asked_end = durations.ends(now, request.lasts, request.until, request.zone)
    if shorter is not None and shorter <= now:
        raise Invalid(gettext("The end is in the past."))
    if shorter is not None and shorter > now + timedelta(days=durations.LONGEST_DAYS):
        raise Invalid(gettext("Access can be granted for ten years at most; leave the end out for none."))
    if shorter is not None and asked_end is not None and shorter > asked_end:
        raise Invalid(gettext("It can be granted for a shorter time than requested, not for a longer one."))
    if any(item.part.kind == Kind.PLAN for item in held):
        if yes.lasts or yes.until or yes.role:
            raise Invalid(gettext("A plan is approved as it is, or refused."))
        plan_approvals.check_approvable(request)
    for item in held:
        given = yes.give.get(item.part.number)
        if given is not None and (not given or not set(given) <= set(item.part.privileges)):
            raise Invalid(gettext("Grant some of the requested privileges and no others, or refuse."))
        if given is not None and yes.role is not None and set(given) != set(item.part.privileges):
            raise Invalid(gettext("A role is given whole; give less of this without the role."))
        if not item.place.exact and item.part.kind != Kind.MEMBERSHIP:
            raise Invalid(
                gettext("There is no %(type)s %(name)s; refuse this, or create it first.")
                % {"type": item.part.type, "name": item.part.name}
            )


def _approve(
    current: ChangeInProgress, request: AccessRequest, mandate: Mandate, yes: Yes, text: str
) -> None:
    part = mandate.part
    chosen = yes.give.get(part.number)
    given = [code for code in part.privileges if chosen is None or code in chosen]
    shorter = durations.ends(current.at, yes.lasts, yes.until, request.zone)
    asked_end = durations.ends(current.at, request.lasts, request.until, request.zone)
    less = given != part.privileges or (shorter is not None and shorter != asked_end)
    values = {"given": given, "lasts": yes.lasts, "until": yes.until}
    role = yes.role if part.kind == Kind.PRIVILEGE else None
    _move(current, request, mandate, "approve_less" if less else "approve", text, role_id=role, **values)
    kind, part_text = (APPROVED_LESS if less else APPROVED), part_said(part)
    until, lasts = _time(yes.until), durations.lasting(yes.lasts) if yes.lasts else None
    of_it = {"given": given_said(part, given, lasts, until), "until": until} if less else {}
    stepped(
        current, request, kind, by=mandate.authority, text=text, part=part.number, told=part_text, **of_it
    )


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _move(
    current: ChangeInProgress,
    request: AccessRequest,
    mandate: Mandate,
    move: str,
    text: str,
    **values: object,
) -> None:
    actor = mandate.authority.actor
    PART.move(
        request.parts.filter(pk=mandate.part.pk),
        move,
        decided_by=actor.principal,
        decided_for=actor.on_behalf_of,
        decided_at=current.at,
        note=text,
        **values,
    )


def _with_parts(request: AccessRequest, held: Sequence[Mandate]) -> list[Mandate]:
    """The same rights with the parts as they are now."""
    rows = request.parts.select_related("decided_by", "decided_for").in_bulk([item.part.pk for item in held])
    return [Mandate(rows[item.part.pk], item.place, item.authority) for item in held]


def _settle(request: AccessRequest, now: datetime) -> None:
    before = request.state
    state = outcomes.settle(request, now=now)
    if state != before and state not in WAITING:
        notifications.became(request, state)

"""Requests for access as programs send and read them, the same on both surfaces that take them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from accounts import people
from accounts.models import Principal
from authzsite.api.authzen.questions import Body, Question, read_question
from authzsite.api.strictjson import BadBody
from policies.errors import Refused
from policies.models import AccessRequest, RequestPart, RequestStep, RequestWant
from policies.record.revisions import moment_in
from policies.requests import following, windows
from policies.requests.asking import Asking, Foresight, Wanted
from policies.requests.needs import Need
from policies.requests.seeing import Seen

MOST_ITEMS = 50
NOT_YOURS_TO_ASK = "You may ask for yourself, for groups you are in, and for service accounts you answer for."


def read_asking(body: Body, caller: Principal, key: str = "") -> Asking:
    """What somebody asks for: `resource` and `action`, or `items` of them.  Raises BadBody, Refused."""
    questions = _questions(body, caller)
    first = questions[0].subject
    if any(one.subject[:2] != first[:2] for one in questions):
        raise BadBody("ask for each subject apart")
    wanted = tuple(Wanted(one.resource.type, one.resource.id, one.action.name) for one in questions)
    asked, context = part_of(body, "requested_access"), part_of(body, "context")
    if asked.get("emergency"):
        raise BadBody("access in an emergency is not asked for; whoever has the duty takes it")
    if "callback" in body:
        raise BadBody("there are no callbacks; ask again after Retry-After")
    return Asking(
        wanted,
        _holder(first.type, first.id, caller),
        reason=text(body, "reason") or text(context, "business_justification"),
        ticket=text(body, "ticket"),
        lasts=text(asked, "requested_for"),
        until=moment(asked, "requested_until"),
        starts=moment(asked, "starts_at"),
        zone=text(asked, "time_zone") or "UTC",
        key=key,
    )


def _questions(body: Body, caller: Principal) -> list[Question]:
    whole = {"subject": {"type": caller.kind, "id": caller.name}, **body}
    items = body.get("items")
    if items is None:
        return [read_question(whole)]
    if not isinstance(items, list) or not 1 <= len(items) <= MOST_ITEMS:
        raise BadBody(f"items must be a list of 1 to {MOST_ITEMS}")
    if not all(isinstance(one, dict) for one in items):
        raise BadBody("an item must be an object")
    return [read_question({**whole, **one}) for one in items]


def _holder(kind: str, name: str, caller: Principal) -> Principal:
    found = people.find(kind, name) if kind in Principal.Kind.values else None
    if found is None:
        raise Refused(NOT_YOURS_TO_ASK)
    return found


def part_of(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """An object in a body that may be left out."""
    value = body.get(name)
    if value is not None and not isinstance(value, dict):
        raise BadBody(f"{name} must be an object")
    return value or {}


def text(body: Mapping[str, Any], name: str) -> str:
    """A text that may be left out."""
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise BadBody(f"{name} must be a text")
    return value or ""


def moment(body: Mapping[str, Any], name: str) -> datetime | None:
    """A time with its zone that may be left out."""
    value = text(body, name)
    found = moment_in(value) if value else None
    if value and found is None:
        raise BadBody(f"{name} must be a time such as 2026-01-31T12:00:00Z")
    return found


def numbers(body: Mapping[str, Any], name: str) -> tuple[int, ...]:
    """A list of whole numbers that may be left out."""
    value = body.get(name, [])
    whole = isinstance(value, list) and all(
        isinstance(one, int) and not isinstance(one, bool) for one in value
    )
    if not whole:
        raise BadBody(f"{name} must be a list of whole numbers")
    return tuple(value)


def given(body: Mapping[str, Any]) -> dict[int, Collection[str]]:
    """`give`: the privileges to be given, by the number of a part."""
    value = part_of(body, "give")
    for number, codes in value.items():
        listed = isinstance(codes, list) and all(isinstance(one, str) for one in codes)
        if not number.isdecimal() or len(number) > 6 or not listed:
            raise BadBody("give must have lists of privileges by the numbers of parts")
    return {int(number): codes for number, codes in value.items()}


def wire(seen: Seen) -> dict[str, Any]:
    """A whole request as its viewer may see it."""
    deliveries = [] if seen.concerned and not _any_given(seen) else following.standings(seen.request)
    return {
        **line(seen.request, seen.wants),
        "parts": [_part(seen, one) for one in seen.parts],
        "deliveries": [
            {"backend": str(one.backend), "status": one.state, "text": one.text, "since": iso(one.since)}
            for one in deliveries
        ],
        "steps": [_step(one) for one in seen.steps],
        "may_decide": sorted(seen.may_decide),
    }


def _any_given(seen: Seen) -> bool:
    return any(want.given_at for want in seen.wants)


def line(request: AccessRequest, wants: Collection[RequestWant]) -> dict[str, Any]:
    """A request in a list."""
    return {
        "id": request.pk,
        "status": request.state,
        "asker": str(request.asker),
        "subject": {"type": request.holder.kind, "id": request.holder.name},
        "reason": request.reason,
        "ticket": request.ticket,
        "requested_for": request.lasts,
        "requested_until": iso(request.until),
        "starts_at": iso(request.starts),
        "time_zone": request.zone,
        "asked_at": iso(request.asked_at),
        "lapses_at": iso(request.lapses_at),
        "items": [_want(one) for one in wants],
    }


def _want(want: RequestWant) -> dict[str, Any]:
    return {
        "resource": {"type": want.type, "id": want.name},
        "action": {"name": want.action},
        "given_at": iso(want.given_at),
        "valid_until": iso(want.valid_until),
    }


def _part(seen: Seen, part: RequestPart) -> dict[str, Any]:
    found = seen.deciders(part) if part.state in ("asked", "asked_back") else None
    return {
        "number": part.number,
        "kind": part.kind,
        "object": {"type": part.type, "id": part.name},
        "privileges": part.privileges,
        "status": part.state,
        "given": part.given,
        "note": part.note,
        "decided_by": str(part.decided_by) if part.decided_by else None,
        "decided_for": str(part.decided_for) if part.decided_for else None,
        "decided_at": iso(part.decided_at),
        "deciders": None if found is None else [str(one.principal) for one in found],
    }


def _step(step: RequestStep) -> dict[str, Any]:
    return {
        "move": step.move,
        "at": iso(step.at),
        "by": str(step.by) if step.by else None,
        "part": step.part,
        "text": step.text,
        "revision": step.revision,
    }


def foreseen(found: Foresight) -> dict[str, Any]:
    """What a request would come to, before it is sent."""
    return {
        "parts": [_need(one) for one in found.needs],
        "denials": [
            {"privilege": one.privilege, "object": {"type": one.ref.type, "id": one.ref.id}, "role": one.role}
            for one in found.denials
        ],
        "valid_until": iso(found.end),
        "lapses_at": iso(found.lapses),
        "min_reason": found.rules.min_reason,
        "ticket": found.rules.ticket,
        "longest_days": found.rules.longest_days,
    }


def _need(need: Need) -> dict[str, Any]:
    return {
        "kind": need.kind,
        "object": {"type": need.ref.type, "id": need.ref.id},
        "privileges": list(need.privileges),
    }


def iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


__all__ = ["foreseen", "given", "line", "moment", "numbers", "read_asking", "text", "windows", "wire"]

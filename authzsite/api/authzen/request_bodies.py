"""Requests for access as AuthZEN writes them, and what the two surfaces that take requests share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from accounts import people
from accounts.models import Principal
from authzsite.api.authzen.questions import Body, Question, read_question
from authzsite.api.strictjson import BadBody
from policies.errors import Refused
from policies.record.revisions import moment_in
from policies.requests.submission import Asking, WantedAction, not_yours_to_request

MOST_ITEMS = 50
NO_CALLBACKS = "callbacks are not supported; poll again after Retry-After"


def read_asking(body: Body, caller: Principal, key: str = "") -> Asking:
    """What somebody asks for as AuthZEN writes it: `resource` and `action`, or `items` of them.

    Unknown fields are ignored.  Raises BadBody, Refused.
    """
    questions = _questions(body, caller)
    access, context = part_of(body, "requested_access"), part_of(body, "context")
    if "callback" in body:
        raise BadBody(NO_CALLBACKS)
    return asking_of(
        questions,
        caller,
        emergency=bool(access.get("emergency")),
        reason=text(body, "reason") or text(context, "business_justification"),
        ticket=text(body, "ticket"),
        lasts=text(access, "requested_for"),
        until=moment(access, "requested_until"),
        starts=moment(access, "starts_at"),
        zone=text(access, "time_zone"),
        key=key,
    )


def asking_of(
    questions: Sequence[Question],
    caller: Principal,
    *,
    emergency: bool,
    reason: str,
    ticket: str,
    lasts: str,
    until: datetime | None,
    starts: datetime | None,
    zone: str,
    key: str,
) -> Asking:
    """What these questions ask for, all for one subject.  Raises BadBody, Refused."""
    subjects = {(each.subject.type, each.subject.id) for each in questions}
    if len(subjects) > 1:
        raise BadBody("make a separate request for each subject")
    if emergency:
        raise BadBody("emergency access is not requested; holders of the duty take it")
    [(kind, name)] = subjects
    wanted = tuple(WantedAction(each.resource.type, each.resource.id, each.action.name) for each in questions)
    holder = people.find(kind, name) if kind in Principal.Kind.values else None
    if holder is None:
        raise Refused(not_yours_to_request())
    return Asking(wanted, holder, reason, ticket, lasts, until, starts, zone or "UTC", key)


def _questions(body: Body, caller: Principal) -> list[Question]:
    whole = {"subject": {"type": caller.kind, "id": caller.name}, **body}
    items = body.get("items")
    if items is None:
        return [read_question(whole)]
    if not isinstance(items, list) or not 1 <= len(items) <= MOST_ITEMS:
        raise BadBody(f"items must be a list of 1 to {MOST_ITEMS}")
    if not all(isinstance(item, dict) for item in items):
        raise BadBody("an item must be an object")
    return [read_question({**whole, **item}) for item in items]


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
    time = moment_in(value) if value else None
    if value and time is None:
        raise BadBody(f"{name} must be a time such as 2026-01-31T12:00:00Z")
    return time


def iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None

"""What the decisions come to: which wants are given, what is needed no longer, when a request is over."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from policies.models import AccessRequest, RequestPart, RequestWant
from policies.models.requests import GRANTED, PART, REQUEST, WAITING
from policies.requests.approval_seals import put_away
from policies.requests.steps import row_of

GIVEN, COMING, FAILED, OPEN = "given", "coming", "failed", "open"
"""What a want can have come to: given, to be given when it is to begin, never to be given, not yet known."""


def standing(want: RequestWant, parts: Sequence[RequestPart]) -> str:
    """What a want has come to, by the parts of its request."""
    mine = [part for part in parts if want.number in part.wants]
    if want.given_at is not None:
        return GIVEN
    if any(part.state not in WAITING and not part.gives_to(want.number) for part in mine):
        return FAILED
    if any(part.state in WAITING for part in mine):
        return OPEN
    return COMING


def settle(request: AccessRequest, *, now: datetime) -> str:
    """Bring the request up to what its parts say; answers its state."""
    parts, wants = list(request.parts.all()), list(request.wants.all())
    failed = {want.number for want in wants if standing(want, parts) == FAILED}
    failed_parts = [part for part in parts if not part.carried and part.wants <= failed]
    rows = request.parts.filter(pk__in=[part.pk for part in failed_parts], state__in=PART.get("drop").sources)
    if rows.exists():
        dropped = set(rows.values_list("pk", flat=True))
        PART.move(rows, "drop")
        for part in parts:
            if part.pk in dropped:
                part.state = PART.get("drop").target
    still = {want.number for want in wants if standing(want, parts) in (OPEN, COMING)}
    approved = [part for part in parts if part.seal is not None]
    # by these nothing more is given: all that needed them was, or never will be
    put_away(request, [part for part in approved if part.state in WAITING or part.wants.isdisjoint(still)])
    state = AccessRequest.objects.values_list("state", flat=True).get(pk=request.pk)
    if any(part.state in WAITING for part in parts):
        back = any(part.state == "asked_back" for part in parts)
        again = {(item, False): "reopen" for item in GRANTED}
        move = {**again, ("asked", True): "ask_back", ("asked_back", False): "answer"}.get((state, back))
    else:
        move = _last_move(parts, wants) if state in WAITING else None
    if move:
        REQUEST.move(row_of(request), move, moved_at=now)
        return REQUEST.get(move).target
    return state


def _last_move(parts: Sequence[RequestPart], wants: Sequence[RequestWant]) -> str:
    came = [standing(want, parts) for want in wants]
    if not any(item in (GIVEN, COMING) for item in came):
        return "refuse"
    less = FAILED in came or any(part.state == "approved_less" for part in parts)
    return "approve_less" if less else "approve"


def end(request: AccessRequest, how: str, *, now: datetime) -> None:
    """Close a request that was taken back or lapsed; what was given stays, and the rest is closed so.

    Raises Conflict.
    """
    given = request.wants.filter(given_at__isnull=False).exists()
    REQUEST.move(row_of(request), "approve_less" if given else how, moved_at=now)
    waiting = request.parts.filter(carried=False, state__in=PART.get(how).sources)
    if waiting.exists():
        PART.move(waiting, how)
    put_away(request, request.parts.filter(seal__isnull=False))
    request.wants.filter(given_at__isnull=True).update(due=None)

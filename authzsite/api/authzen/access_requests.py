"""`/access/v1/requests`: a refusal becomes a request, as OpenID AuthZEN's profile of 2026-06 drafts it.

It is a draft, and so is this.  Our statuses in its words: waiting is `pending`, refused `denied`, withdrawn
`cancelled`, lapsed `expired`; of several items some given is `partial`.  Callbacks are not offered, and a
denial may be left out, because what is lacking is worked out anew when it is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.core import signing
from django.http import HttpResponse
from django.urls import reverse
from rest_framework.request import Request

from accounts.record import END
from authzsite.api.authzen import request_bodies as bodies
from authzsite.api.authzen.questions import Body, Question, read_question
from authzsite.api.strictjson import BadBody, read_object
from authzsite.api.surface import Surface, respond
from policies.errors import Conflict, Invalid, NotFound, PolicyError, Refused
from policies.models import RequestWant
from policies.requests import outcomes, submission, visibility
from policies.requests.visibility import VisibleRequest

DENIAL, TASK = "authzen-denial", "authzen-task"
FRESH = 600
"""Seconds for which a denial can be turned into a request."""
POLL = 30
ERROR = "urn:openid:authzen:access-request:error:"
STATUS = {
    "asked": "pending",
    "asked_back": "pending",
    "approved": "approved",
    "refused": "denied",
    "withdrawn": "cancelled",
    "lapsed": "expired",
}
_STATUS_OF: dict[type[PolicyError], int] = {Refused: 403, NotFound: 404, Conflict: 409, Invalid: 400}


class DraftProblem(Exception):
    """An error that the draft has a name for."""

    def __init__(self, status: int, name: str, text: str) -> None:
        super().__init__(text)
        self.status, self.name = status, name


def binding_token(question: Question) -> str:
    """What ties a request to this very denial, for a while."""
    return signing.dumps(_bound(question), salt=DENIAL)


def _bound(question: Question) -> list[str]:
    subject, action, resource = question
    return [subject.type, subject.id, resource.type, resource.id, action.name]


class _Draft(Surface):
    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]  # already rendered
        if isinstance(exc, DraftProblem):
            return _problem(exc.status, str(exc), ERROR + exc.name)
        if isinstance(exc, PolicyError):
            return _problem(_STATUS_OF.get(type(exc), 400), str(exc))
        status, text, headers = self._answer_to(exc)
        response = _problem(status, text)
        for name, value in headers.items():
            response.headers[name] = value
        return response

    def handle(self, number: int, status: int) -> HttpResponse:
        seen = visibility.get(number, self.caller.principal)
        task = _task(seen, self.request)
        response = respond(task, status)
        if task["task"]["status"] == "pending":
            response.headers["Retry-After"] = str(POLL)
        response.headers["Location"] = task["task"]["status_endpoint"]
        return response


def _problem(status: int, text: str, kind: str = "about:blank") -> HttpResponse:
    body = json.dumps({"type": kind, "status": status, "detail": text}, separators=(",", ":"))
    return HttpResponse(body, status=status, content_type="application/problem+json")


class AccessRequests(_Draft):
    """`POST /access/v1/requests`"""

    def post(self, request: Request) -> HttpResponse:
        caller = self.require_scope("request")
        body = read_object(request._request)
        if "items" in body and ("resource" in body or "action" in body):
            raise BadBody("give items, or a resource and an action, not both")
        _check_denials(body, {"type": caller.principal.kind, "id": caller.principal.name})
        key = request._request.headers.get("Idempotency-Key", "")
        wanted = bodies.read_asking(body, caller.principal, key)
        try:
            made = submission.ask(wanted, by=caller.actor())
        except Conflict as conflict:
            raise DraftProblem(409, "duplicate_request", str(conflict)) from conflict
        return self.handle(made.pk, 202)


class AccessRequest(_Draft):
    """`GET /access/v1/requests/{task}`"""

    http_method_names = ["get"]

    def get(self, request: Request, task: str) -> HttpResponse:
        self.require_scope("request")
        return self.handle(_number(task), 200)


class Cancelled(_Draft):
    """`POST /access/v1/requests/{task}/cancel`"""

    def post(self, request: Request, task: str) -> HttpResponse:
        caller = self.require_scope("request")
        number = _number(task)
        submission.withdraw(number, by=caller.actor())
        return self.handle(number, 200)


def _number(task: str) -> int:
    try:
        return int(signing.Signer(salt=TASK, sep=".").unsign(task))
    except (signing.BadSignature, ValueError):
        raise DraftProblem(404, "unknown_task", "There is no such task.") from None


def _check_denials(body: Body, caller: Mapping[str, str]) -> None:
    """What denials are sent must be of these very questions, and fresh."""
    items = body["items"] if isinstance(body.get("items"), list) else [body]
    for item in items:
        if not isinstance(item, dict):
            raise BadBody("an item must be an object")
        denial = bodies.part_of(item, "denial") or bodies.part_of(body, "denial")
        token = bodies.text(denial, "binding_token")
        if token:
            question = read_question({"subject": caller, **body, **item})
            _check_denial(token, question, alone=len(items) == 1)


def _check_denial(token: str, question: Question, *, alone: bool) -> None:
    """A denial of several questions is bound to none of them alone."""
    try:
        bound = signing.loads(token, salt=DENIAL, max_age=FRESH)
    except signing.SignatureExpired:
        raise DraftProblem(400, "expired_denial", "The denial is too old; repeat the evaluation.") from None
    except signing.BadSignature:
        raise DraftProblem(400, "invalid_denial_binding", "The denial was not issued here.") from None
    if alone and bound != _bound(question):
        raise DraftProblem(400, "invalid_denial_binding", "The denial belongs to another question.")


def _task(seen: VisibleRequest, request: Request) -> dict[str, Any]:
    base = request.build_absolute_uri(reverse("authzen-access-requests"))
    task = signing.Signer(salt=TASK, sep=".").sign(str(seen.request.pk))
    several = len(seen.wants) > 1
    came = [outcomes.standing(want, seen.parts) for want in seen.wants]
    status = _status(seen, came)
    decided = sum(part.state not in ("asked", "asked_back") for part in seen.parts)
    task_body: dict[str, Any] = {
        "id": task,
        "status": status,
        "status_endpoint": f"{base}/{task}",
        "expires_at": bodies.iso(seen.request.lapses_at),
        "progress": {"current_step": min(decided + 1, len(seen.parts)), "total_steps": len(seen.parts)},
        "links": {"ticket": request.build_absolute_uri(f"/requests/{seen.request.pk}")},
    }
    if seen.mine and status == "pending":
        task_body["links"]["cancel"] = f"{base}/{task}/cancel"
    if several:
        task_body["items"] = [
            _item(seen, want, request) for want, request in zip(seen.wants, came, strict=True)
        ]
    answer: dict[str, Any] = {"task": task_body}
    if status == "approved" and not several:
        answer["result"] = _result(seen, seen.wants[0])
    return answer


def _status(seen: VisibleRequest, came: list[str]) -> str:
    if outcomes.COMING in came or seen.request.open:
        return "pending"
    if seen.request.state != "approved_less":
        return STATUS[seen.request.state]
    return "approved" if all(item == outcomes.GIVEN for item in came) else "partial"


def _item(seen: VisibleRequest, want: RequestWant, came: str) -> dict[str, Any]:
    words = {outcomes.GIVEN: "approved", outcomes.OPEN: "pending", outcomes.COMING: "pending"}
    status = words.get(came, STATUS.get(seen.request.state, "denied"))
    item: dict[str, Any] = {
        "resource": {"type": want.type, "id": want.name},
        "action": {"name": want.action},
        "status": "denied" if status in ("approved", "pending") and came == outcomes.FAILED else status,
    }
    if came == outcomes.GIVEN:
        item["result"] = _result(seen, want)
    return item


def _result(seen: VisibleRequest, want: RequestWant) -> dict[str, Any]:
    approval = signing.Signer(salt=TASK, sep=".").sign(f"{seen.request.pk}-{want.number}")
    return {
        "mode": "reevaluate",
        "approval": {
            "id": approval,
            "approved_at": bodies.iso(want.given_at),
            "approved_until": bodies.iso(want.valid_until or END),
        },
    }

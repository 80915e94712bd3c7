"""`/authz/v1/requests`: asking for access and deciding, all that the console's pages do."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from rest_framework.request import Request

from authzsite.api.authentication import Caller
from authzsite.api.strictjson import BadBody
from authzsite.api.surface import Forbidden, respond
from authzsite.api.v1 import named
from authzsite.api.v1.call import Call
from authzsite.api.v1.describing import PAGED, described, page_of
from authzsite.api.v1.request_serializers import (
    AnswerToQuestion,
    Approval,
    ConsiderationSerializer,
    ForesightSerializer,
    NewRequest,
    QuestionBack,
    Refusal,
    RequestLineSerializer,
    RequestSerializer,
    Withdrawal,
    consideration_answer,
    read_new_request,
    request_answer,
)
from policies.decisions import duties
from policies.errors import NotFound
from policies.models import AccessRequest
from policies.requests import decision_context, decisions, submission, visibility

SALT = "requests"
SCOPES = ("request", "manage", "audit")
LISTS = ("mine", "waiting", "decided", "object")
_GONE = {404: "no such request, or you may not see it"}
_LATE = {409: "it was already decided, or it has lapsed"} | _GONE


class _Call(Call):
    def reader(self) -> Caller:
        """Callers who may read requests: with any scope about them."""
        if not any(self.caller.covers(scope) for scope in SCOPES):
            raise Forbidden(f"this token lacks the scope {SCOPES[0]}")
        return self.caller

    def one(self, id: int, status: int = 200) -> HttpResponse:
        return respond(request_answer(visibility.get(id, self.caller.principal)), status)


class Requests(_Call):
    http_method_names = ["get", "post"]

    @described(
        "Requests: `mine`, `waiting` for the caller, `decided` by them, about an `object`",
        "request, manage or audit",
        page_of(RequestLineSerializer),
        query=("list", "resource", "type", *PAGED),
    )
    def get(self, request: Request) -> HttpResponse:
        viewer, query = self.reader().principal, request._request.GET.dict()
        after = named.cursor(query, SALT)
        rows = _listed(query, viewer)
        start = after[0] if after and isinstance(after[0], int) else None
        page = visibility.page(rows, after=start, size=named.limit(query))
        lines = [
            {"request": each, "wants": sorted(each.wants.all(), key=lambda want: want.number)}
            for each in page.requests
        ]
        answers = RequestLineSerializer.of_each(lines)
        return respond(named.listed(answers, [page.next] if page.next else None, SALT))

    @described(
        "Request access; safe to repeat with the same `Idempotency-Key`",
        "request",
        RequestSerializer,
        body=NewRequest,
        status=201,
        others={409: "already requested, or the key belongs to another request"},
    )
    def post(self, request: Request) -> HttpResponse:
        caller = self.require_scope("request")
        key = request._request.headers.get("Idempotency-Key", "")
        wanted = read_new_request(request, caller.principal, key)
        made = submission.ask(wanted, by=caller.actor())
        return self.one(made.pk, 201)


def _listed(query: dict[str, str], viewer: Any) -> QuerySet[AccessRequest]:
    which = query.get("list", LISTS[0])
    if which == "object":
        node = named.the_object(query)
        if node is None or not duties.has(viewer, visibility.HISTORY, node):
            raise NotFound("There is no such object, or you may not see its requests.")
        return visibility.on(node, viewer)
    lists = {"mine": visibility.made_by, "waiting": visibility.waiting_for, "decided": visibility.decided_by}
    if which not in lists:
        raise BadBody(f"list must be one of {', '.join(LISTS)}")
    return lists[which](viewer)


class Foreseen(_Call):
    """What a request would come to; nothing is written."""

    @described("Preview a request", "request", ForesightSerializer, body=NewRequest)
    def post(self, request: Request) -> HttpResponse:
        caller = self.require_scope("request")
        wanted = read_new_request(request, caller.principal)
        if wanted.holder not in submission.holders(caller.principal):
            raise Forbidden(submission.not_yours_to_request())
        return respond(ForesightSerializer(submission.foresee(wanted, caller.principal)).data)


class OneRequest(_Call):
    http_method_names = ["get"]

    @described(
        "One request, with its decisions and progress",
        "request, manage or audit",
        RequestSerializer,
        others=_GONE,
    )
    def get(self, request: Request, id: int) -> HttpResponse:
        self.reader()
        return self.one(id)


class Weighed(_Call):
    """What an approver wants to know before they decide."""

    http_method_names = ["get"]

    @described(
        "What an approver needs to decide", "request, manage or audit", ConsiderationSerializer, others=_GONE
    )
    def get(self, request: Request, id: int) -> HttpResponse:
        seen = visibility.get(id, self.reader().principal)
        return respond(consideration_answer(decision_context.consider(seen)))


class Approve(_Call):
    @described("Approve parts", "manage", RequestSerializer, body=Approval, others=_LATE)
    def post(self, request: Request, id: int) -> HttpResponse:
        actor, body = self.require_scope("manage").actor(), Approval.read(request)
        decisions.approve(
            id,
            by=actor,
            parts=body["parts"],
            give=body["give"] or {},
            lasts=body["for"],
            until=body["until"],
            role=self._role(body["role"]) if body["role"] else None,
            note=body["note"],
        )
        return self.one(id)

    def _role(self, name: str) -> int:
        node = named.the_object_seen({"resource": name, "type": "role"}, self.caller.principal)
        if node is None:
            raise NotFound("There is no such role.")
        return node.id


class Refuse(_Call):
    @described("Refuse parts, with a reason", "manage", RequestSerializer, body=Refusal, others=_LATE)
    def post(self, request: Request, id: int) -> HttpResponse:
        actor, body = self.require_scope("manage").actor(), Refusal.read(request)
        decisions.refuse(id, body["reason"], by=actor, parts=body["parts"])
        return self.one(id)


class AskBack(_Call):
    @described("Ask the requester a question", "manage", RequestSerializer, body=QuestionBack, others=_LATE)
    def post(self, request: Request, id: int) -> HttpResponse:
        actor, body = self.require_scope("manage").actor(), QuestionBack.read(request)
        decisions.ask_back(id, body["question"], by=actor, parts=body["parts"])
        return self.one(id)


class AnswerQuestion(_Call):
    @described("Answer a question", "request", RequestSerializer, body=AnswerToQuestion, others=_LATE)
    def post(self, request: Request, id: int) -> HttpResponse:
        actor, body = self.require_scope("request").actor(), AnswerToQuestion.read(request)
        submission.answer(id, body["text"], by=actor)
        return self.one(id)


class Withdraw(_Call):
    @described("Withdraw a request", "request", RequestSerializer, body=Withdrawal, others=_LATE)
    def post(self, request: Request, id: int) -> HttpResponse:
        actor, body = self.require_scope("request").actor(), Withdrawal.read(request)
        submission.withdraw(id, by=actor, reason=body["reason"])
        return self.one(id)

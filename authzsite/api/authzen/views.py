"""The two calls that a job makes before it reads: one question, or all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cached_property
from itertools import chain
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from rest_framework.request import Request

from authzsite.api.authentication import RunAuthentication, SessionAuthentication
from authzsite.api.authzen import access_requests, whole_operations
from authzsite.api.authzen.answers import Answer, truncated, undecided
from authzsite.api.authzen.batch_decisions import ask
from authzsite.api.authzen.questions import Batch, Question, read_batch, read_question
from authzsite.api.authzen.refusals import Link
from authzsite.api.strictjson import read_object
from authzsite.api.surface import Forbidden, Surface, respond

LONGEST_LINKED = 1500
ACCESS_REQUESTS = "urn:openid:authzen:capability:access-request"
"""A profile that is still a draft."""


class Evaluation(Surface):
    """`POST /access/v1/evaluation`"""

    authentication_classes = [RunAuthentication, SessionAuthentication]
    offers = False

    def post(self, request: Request) -> HttpResponse:
        self.require_scope("check")
        body = self.read()
        return respond(self.single(read_question(body)))

    def read(self) -> dict[str, Any]:
        """The body; `options.access_request` wants to be told how to turn a refusal into a request."""
        body = read_object(self.request._request)
        options = body.get("options")
        self.offers = isinstance(options, dict) and options.get("access_request") is True
        return body

    def single(self, question: Question) -> dict[str, Any]:
        answer = self.ask([question])[0]
        if answer.status == 403:
            raise Forbidden(answer.context["error"]["message"])
        return answer.wire

    def ask(self, questions: Sequence[Question]) -> list[Answer]:
        """The answers in the order asked; a whole operation is asked part by part and answered as one."""
        caller, now = self.caller, timezone.now()
        wholes = [whole_operations.expanded(question) for question in questions]
        each = [whole.questions if whole else (item,) for item, whole in zip(questions, wholes, strict=True)]
        decided = iter(ask(caller.principal, [*chain(*each)], self.link, now=now, run=caller.run))
        answers = [
            whole_operations.joined(whole, [next(decided) for _ in whole.questions])
            if whole
            else next(decided)
            for whole in wholes
        ]
        if not self.offers:
            return answers
        pairs = zip(questions, answers, strict=True)
        return [self._requestable(question, answer, now) for question, answer in pairs]

    def _requestable(self, question: Question, answer: Answer, now: datetime) -> Answer:
        """A refusal that can be mended says where to ask, as the draft of 2026-06 has it."""
        kinds = {lack["kind"] for lack in answer.context.get("missing", ())}
        if answer.allowed or not kinds or not kinds <= {"privilege", "membership"}:
            return answer
        offered = {
            "endpoint": self.request.build_absolute_uri(reverse("authzen-access-requests")),
            "expires_at": (now + timedelta(seconds=access_requests.FRESH)).isoformat(),
            "binding_token": access_requests.binding_token(question),
            "form_url": answer.context["request_url"],
        }
        more = {"evaluated_at": now.isoformat(), "reason": "missing", "access_request": offered}
        return answer._replace(context={**answer.context, **more})

    @cached_property
    def link(self) -> Link:
        return link_on(self.request)


def link_on(request: Request) -> Link:
    """Where a person can ask for what is lacking in a question, and see why."""
    # a batch may have a hundred refusals, and all lead to one page
    page = request.build_absolute_uri(reverse("console:request_new"))
    return lambda question: f"{page}?{_query_of(question)}"


def _query_of(question: Question) -> str:
    subject, action, resource = question
    whose = f"{subject.type}:{subject.id}"
    query = {"resource": resource.id, "type": resource.type, "action": action.name, "for": whose}
    short = {name: value for name, value in query.items() if len(value) <= LONGEST_LINKED}
    return urlencode(short, errors="replace")


class Evaluations(Evaluation):
    """`POST /access/v1/evaluations`"""

    def post(self, request: Request) -> HttpResponse:
        self.require_scope("check")
        batch = read_batch(self.read())
        if isinstance(batch, Question):
            return respond(self.single(batch))
        answers = self.batch(batch)
        if all(answer.status == 403 for answer in answers):
            raise Forbidden(answers[0].context["error"]["message"])
        return respond({"evaluations": [answer.wire for answer in truncated(answers, batch.semantic)]})

    def batch(self, asked: Batch) -> list[Answer]:
        decided = iter(self.ask([item for item in asked.items if isinstance(item, Question)]))
        return [
            next(decided) if isinstance(item, Question) else undecided(400, str(item)) for item in asked.items
        ]


@csrf_exempt  # a wrong method is 405, as on the calls themselves
@require_safe
def configuration(request: HttpRequest) -> HttpResponse:
    """`GET /.well-known/authzen-configuration`: what is offered here, under the address that was asked."""
    base = f"{request.scheme}://{request.get_host()}"
    response = JsonResponse(
        {
            "policy_decision_point": base,
            "access_evaluation_endpoint": base + reverse("authzen-evaluation"),
            "access_evaluations_endpoint": base + reverse("authzen-evaluations"),
            "search_subject_endpoint": base + reverse("authzen-search-subject"),
            "search_resource_endpoint": base + reverse("authzen-search-resource"),
            "search_action_endpoint": base + reverse("authzen-search-action"),
            "access_request_endpoint": base + reverse("authzen-access-requests"),
            "capabilities": [ACCESS_REQUESTS],
        }
    )
    if request_id := request.headers.get("X-Request-ID"):
        response.headers["X-Request-ID"] = request_id
    return response

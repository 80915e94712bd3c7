"""The two calls that a job makes before it reads: one question, or all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from rest_framework.request import Request

from authzsite.api.authentication import RunAuthentication, SessionAuthentication
from authzsite.api.authzen.answers import Answer, truncated, undecided
from authzsite.api.authzen.asking import ask
from authzsite.api.authzen.questions import Batch, Question, read_batch, read_question
from authzsite.api.strictjson import read_object
from authzsite.api.surface import Forbidden, Surface, respond

LONGEST_LINKED = 1500


class Evaluation(Surface):
    """`POST /access/v1/evaluation`"""

    authentication_classes = [RunAuthentication, SessionAuthentication]

    def post(self, request: Request) -> HttpResponse:
        self.require_scope("check")
        return respond(self.single(read_question(read_object(request._request))))

    def single(self, question: Question) -> dict[str, Any]:
        answer = self.ask([question])[0]
        if answer.status == 403:
            raise Forbidden(answer.context["error"]["message"])
        return answer.wire

    def ask(self, questions: Sequence[Question]) -> list[Answer]:
        caller = self.caller
        return ask(caller.principal, questions, self.link, now=timezone.now(), run=caller.run)

    def link(self, question: Question) -> str:
        return link_to(self.request, question)


def link_to(request: Request, question: Question) -> str:
    """Where a person can see why, and ask for what is lacking."""
    subject, action, resource = question
    who = subject.id if subject.type == "user" else f"{subject.type}:{subject.id}"
    asked = {"who": who, "action": action.name, "what": resource.id, "type": resource.type}
    short = {name: value for name, value in asked.items() if len(value) <= LONGEST_LINKED}
    query = urlencode(short, errors="replace")
    return request.build_absolute_uri(f"{reverse('console:why')}?{query}")


class Evaluations(Evaluation):
    """`POST /access/v1/evaluations`"""

    def post(self, request: Request) -> HttpResponse:
        self.require_scope("check")
        asked = read_batch(read_object(request._request))
        if isinstance(asked, Question):
            return respond(self.single(asked))
        answers = self.batch(asked)
        if all(answer.status == 403 for answer in answers):
            raise Forbidden(answers[0].context["error"]["message"])
        return respond({"evaluations": [answer.wire for answer in truncated(answers, asked.semantic)]})

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
        }
    )
    if request_id := request.headers.get("X-Request-ID"):
        response.headers["X-Request-ID"] = request_id
    return response

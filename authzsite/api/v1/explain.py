"""`GET /authz/v1/explain`: one decision as a tree: what holds, what is lacking."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from accounts.models import Principal
from authzsite.api.authentication import RunAuthentication, SessionAuthentication
from authzsite.api.authzen.answers import Answer
from authzsite.api.authzen.batch_decisions import Inquiry
from authzsite.api.authzen.question_names import Case, cases
from authzsite.api.authzen.questions import Action, Entity, Question
from authzsite.api.authzen.refusals import Refusal, contexts, way
from authzsite.api.authzen.views import link_on
from authzsite.api.surface import Forbidden, respond
from authzsite.api.v1 import evidence, named
from authzsite.api.v1.call import Call
from authzsite.api.v1.describing import described
from authzsite.api.v1.query_serializers import DecisionSerializer
from lakewarden.law.explain import explain
from lakewarden.law.facts import Key, Lineage
from lakewarden.law.objects import ObjectRef
from policies.record import access_log


class Explain(Call):
    authentication_classes = [RunAuthentication, SessionAuthentication]
    http_method_names = ["get"]

    @described(
        "A decision as a tree: what holds, what is lacking",
        "check",
        DecisionSerializer,
        query=("action!", "resource!", "type", "principal"),
    )
    def get(self, request: Request) -> HttpResponse:
        caller, now = self.require_scope("check"), timezone.now()
        question = _question(request._request.GET.dict(), caller.principal)
        inquiry = Inquiry(caller.principal, cases(caller.principal, [question]), now, caller.run)
        [case] = inquiry.cases
        outcome = inquiry.outcome(case)
        if isinstance(outcome, Answer) and outcome.status == 403:
            raise Forbidden(outcome.context["error"]["message"])
        inquiry.note(via="api")
        look = inquiry.look(case)
        if look:
            access_log.looked_all([look], via="api")
        context = dict(outcome.context) if isinstance(outcome, Answer) else self._context(outcome, now)
        decided = {"decision": isinstance(outcome, Answer), **_tree(case, inquiry, outcome, now)}
        return respond({**_asked(question), **decided, **context})

    def _context(self, refusal: Refusal, now: datetime) -> dict[str, Any]:
        return next(contexts([refusal], link_on(self.request), now=now))


def _tree(case: Case, inquiry: Inquiry, outcome: Answer | Refusal, now: datetime) -> dict[str, Any]:
    """The decision's parts, about what may be spoken of; nothing where no law or object is known."""
    slice_, reasoned = inquiry.slice_of(case), _lineage(case, outcome)
    # a realm that may not be known of has no law to name an operation by
    operation = case.operation if reasoned is not None else None
    nothing = {"operation": operation, "tree": {"holds": False, "kind": "unknown"}}
    if isinstance(outcome, Refusal) and outcome.switched_off:
        return {**nothing, "reason": "switched_off", "tree": {"holds": False, "kind": "switched_off"}}
    if slice_ is None or case.operation is None or reasoned is None:
        return nothing
    lineage, names = reasoned
    explanation = explain(
        slice_,
        case.operation,
        lineage,
        now=now.timestamp(),
        also=case.also,
        inside=inquiry.inside(case),
    )
    if explanation.decision and isinstance(outcome, Refusal):
        # any new object of that name would be allowed, so what refuses is one that may not be spoken of
        return nothing
    return {
        "operation": case.operation,
        "reason": explanation.decision.reason,
        "tree": evidence.tree(explanation.tree, names),
        "because": evidence.rules(explanation.because, names),
        "alternatives": [evidence.lacks(each, names) for each in explanation.alternatives],
    }


def _lineage(case: Case, outcome: Answer | Refusal) -> tuple[Lineage, dict[Key, ObjectRef]] | None:
    if isinstance(outcome, Refusal):
        return way(outcome, case.ref) if outcome.seen and case.ref else None
    node = case.node
    if node is None:
        return None
    levels = zip(node.levels, (*node.above(), node), strict=True)
    return node.levels, {level.key: place.ref for level, place in levels}


def _question(query: named.Asked, asker: Principal) -> Question:
    kind, colon, name = (query.get("principal") or str(asker)).partition(":")
    subject = Entity(kind, name) if colon else Entity("user", kind)
    action = Action(named.needed(query, "action"))
    return Question(subject, action, Entity(*named.reference(query, asker)))


def _asked(question: Question) -> dict[str, Any]:
    subject, action, resource = question
    return {
        "principal": f"{subject.type}:{subject.id}",
        "action": action.name,
        "resource": {"type": resource.type, "id": resource.id},
    }

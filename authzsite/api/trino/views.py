"""`/v1/data/trino/…`, in the form of Open Policy Agent: `{"input": …}` is answered by `{"result": …}`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from accounts.models import Principal
from authzsite.api.authzen.answers import Answer
from authzsite.api.authzen.batch_decisions import Inquiry
from authzsite.api.authzen.question_names import cases, storable
from authzsite.api.authzen.questions import Action, Entity, Question
from authzsite.api.authzen.refusals import Refusal, record
from authzsite.api.strictjson import BadBody, read_content
from authzsite.api.surface import Forbidden, Surface, respond
from authzsite.api.trino.operations import Need, Needs, Operation
from catalog.models import Placement, Realm
from catalog.queries import find_all
from lakewarden.law.objects import ObjectRef

VIA = "trino"
MOST = 20000
"""Objects of one question.  Trino sends the tables of a schema together, however many there are."""
FILTERS = "Filter"
"""How operations begin that look what to show; what is left out was refused to nobody."""


class TrinoCall(Surface):
    """A call of Trino's plug-in; which metalake it is about stands in the address."""

    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]  # already rendered
        status, text, headers = self._answer_to(exc)
        answer = respond(
            {"code": "invalid_parameter" if status == 400 else "refused", "message": text}, status
        )
        for name, value in headers.items():
            answer.headers[name] = value
        return answer

    def input(self) -> Mapping[str, Any]:
        """What was asked.  Raises BadBody."""
        self.require_scope("check")
        body = read_content(self.request._request)
        input_ = body.get("input") if isinstance(body, dict) else None
        if not isinstance(input_, dict):
            raise BadBody("input must be an object")
        return input_

    def operation(self) -> tuple[Operation, Mapping[str, Any]]:
        """What is to be done by whom, still without a resource; and the action as it was sent."""
        input_ = self.input()
        action, context = _object(input_, "action"), _object(input_, "context")
        user, name = _object(context, "identity").get("user"), action.get("operation")
        if not isinstance(user, str) or not isinstance(name, str):
            raise BadBody("context.identity.user and action.operation must be texts")
        target = action.get("targetResource") or {}
        if not isinstance(target, dict):
            raise BadBody("action.targetResource must be an object")
        # `catalog=lake:shop` says that Trino's catalog lake is shop here
        pairs = [item.partition(":") for item in self.request._request.GET.getlist("catalog")]
        if not all(theirs and ours for theirs, _, ours in pairs):
            raise BadBody("catalog in the address must be TRINO:OURS")
        catalogs = {theirs: ours for theirs, _, ours in pairs}
        return Operation(name, user, {}, target, self._realm(), catalogs), action

    def _realm(self) -> str:
        name = self.request._request.GET.get("realm", "") or _only_metalake()
        if not name:
            raise BadBody("the address must name a metalake: …/v1/data/trino/allow?realm=NAME")
        return name

    def decide(self, operations: Sequence[Operation]) -> list[bool]:
        """Whether each is allowed.  Raises Forbidden for callers who may not ask about the person."""
        needs = _known([operation.needs for operation in operations])
        questions = [
            (
                at,
                Question(
                    Entity(Principal.Kind.USER, operations[at].user), Action(need.action), _entity(need)
                ),
            )
            for at, some in enumerate(needs)
            for need in some or ()
        ]
        allowed = [some is not None for some in needs]
        asker = self.caller.principal
        inquiry = Inquiry(
            asker, cases(asker, [item for _, item in questions]), timezone.now(), self.caller.run
        )
        outcomes = [inquiry.outcome(case) for case in inquiry.cases]
        inquiry.note(via=VIA)
        for outcome in outcomes:
            if isinstance(outcome, Answer) and outcome.status == 403:
                raise Forbidden(outcome.context["error"]["message"])
        if not operations[0].name.startswith(FILTERS):
            refusals = [outcome for outcome in outcomes if isinstance(outcome, Refusal)]
            record(refusals, [inquiry.look(case) for case in inquiry.cases], via=VIA)
        answers = [isinstance(outcome, Answer) and outcome.allowed for outcome in outcomes]
        for (at, _), answer in zip(questions, answers, strict=True):
            allowed[at] = allowed[at] and answer
        return allowed


class Allow(TrinoCall):
    """`POST /v1/data/trino/allow`"""

    def post(self, request: Request) -> HttpResponse:
        operation, action = self.operation()
        resource = action.get("resource") or {}
        if not isinstance(resource, dict):
            raise BadBody("action.resource must be an object")
        [allowed] = self.decide([replace(operation, resource=resource)])
        return respond({"result": allowed})


class Batch(TrinoCall):
    """`POST /v1/data/trino/batch`: the places in the list of what is allowed."""

    def post(self, request: Request) -> HttpResponse:
        operation, action = self.operation()
        resources = action.get("filterResources")
        if not isinstance(resources, list) or any(not isinstance(item, dict) for item in resources):
            raise BadBody("action.filterResources must be a list of objects")
        if len(resources) > MOST:
            raise BadBody(f"action.filterResources holds more than {MOST} objects")
        if not resources:
            return respond({"result": []})
        allowed = self.decide([replace(operation, resource=item) for item in resources])
        if operation.name == "FilterColumns":
            # one table whose columns are counted; rights on columns are not known
            return respond({"result": [*range(_columns(resources))] if all(allowed) else []})
        return respond({"result": [at for at, yes in enumerate(allowed) if yes]})


class NoFilters(TrinoCall):
    """`POST /v1/data/trino/rowFilters` and `…/batchColumnMasks`: the law knows none."""

    def post(self, request: Request) -> HttpResponse:
        self.operation()
        return respond({"result": []})


class NoMask(TrinoCall):
    """`POST /v1/data/trino/columnMask`: the law knows none, and a result that is left out means none."""

    def post(self, request: Request) -> HttpResponse:
        self.operation()
        return respond({})


def _object(outer: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = outer.get(name)
    if not isinstance(value, dict):
        raise BadBody(f"{name} must be an object")
    return value


def _columns(resources: Sequence[Mapping[str, Any]]) -> int:
    columns = _object(resources[0], "table").get("columns")
    if len(resources) != 1 or not isinstance(columns, list):
        raise BadBody("FilterColumns is about the columns of one table")
    return len(columns)


def _only_metalake() -> str:
    """The one metalake that there is; "" with none or several."""
    kind = Realm.Kind.GRAVITINO
    rows = Placement.objects.open().filter(parent__isnull=True, securable__realm__kind=kind)
    names = list(rows.values_list("name", flat=True)[:2])
    return names[0] if len(names) == 1 else ""


def _known(needs: Sequence[Needs]) -> list[Needs]:
    """The same, where each name that may mean a table or a view means the one that is there.  One query."""
    either = {need.refs for some in needs for need in some or () if len(need.refs) > 1}
    refs = [ref for refs in either for ref in refs if storable(ref.id)]
    existing = {
        ref for ref, node in zip(refs, find_all(refs) if refs else (), strict=True) if node is not None
    }
    return [
        some and tuple(Need(need.action, (_first_existing(need.refs, existing),)) for need in some)
        for some in needs
    ]


def _first_existing(refs: tuple[ObjectRef, ...], existing: set[ObjectRef]) -> ObjectRef:
    return next((ref for ref in refs if ref in existing), refs[0])


def _entity(need: Need) -> Entity:
    [ref] = need.refs
    return Entity(ref.type, ref.id)

"""`/authz/v1/requests`: asking for access and deciding, all that the console's pages do."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from rest_framework.request import Request

from authzsite.api import request_bodies as bodies
from authzsite.api.authentication import Caller
from authzsite.api.strictjson import BadBody, read_object
from authzsite.api.surface import Forbidden, respond
from authzsite.api.v1 import named
from authzsite.api.v1.call import Call
from authzsite.api.v1.request_weighing import weighed
from policies.errors import NotFound
from policies.models import AccessRequest
from policies.requests import asking, considering, deciding, seeing
from policies.services import duties

SALT = "requests"
SCOPES = ("request", "manage", "audit")
LISTS = ("mine", "waiting", "decided", "object")


class _Call(Call):
    def reader(self) -> Caller:
        """Whoever may read requests: with any scope that has to do with them."""
        if not any(self.caller.covers(scope) for scope in SCOPES):
            raise Forbidden(f"this token lacks the scope {SCOPES[0]}")
        return self.caller

    def one(self, id: int, status: int = 200) -> HttpResponse:
        return respond(bodies.wire(seeing.get(id, self.caller.principal)), status)


class Requests(_Call):
    http_method_names = ["get", "post"]

    def get(self, request: Request) -> HttpResponse:
        viewer, asked = self.reader().principal, request._request.GET.dict()
        after = named.cursor(asked, SALT)
        rows = _listed(asked, viewer)
        start = after[0] if after and isinstance(after[0], int) else None
        found = seeing.page(rows, after=start, size=named.limit(asked))
        lines = [
            bodies.line(one, sorted(one.wants.all(), key=lambda want: want.number)) for one in found.requests
        ]
        return respond(named.listed(lines, [found.next] if found.next else None, SALT))

    def post(self, request: Request) -> HttpResponse:
        caller = self.require_scope("request")
        key = request._request.headers.get("Idempotency-Key", "")
        wanted = bodies.read_asking(read_object(request._request), caller.principal, key)
        made = asking.ask(wanted, by=caller.actor())
        return self.one(made.pk, 201)


def _listed(asked: dict[str, str], viewer: Any) -> QuerySet[AccessRequest]:
    which = asked.get("list", LISTS[0])
    if which == "object":
        node = named.the_object(asked)
        if node is None or not duties.has(viewer, seeing.HISTORY, node):
            raise NotFound("There is no such object, or its requests are not for you to see.")
        return seeing.on(node, viewer)
    lists = {"mine": seeing.made_by, "waiting": seeing.waiting_for, "decided": seeing.decided_by}
    if which not in lists:
        raise BadBody(f"list must be one of {', '.join(LISTS)}")
    return lists[which](viewer)


class Foreseen(_Call):
    """What a request would come to; nothing is written."""

    def post(self, request: Request) -> HttpResponse:
        caller = self.require_scope("request")
        wanted = bodies.read_asking(read_object(request._request), caller.principal)
        if wanted.holder not in asking.holders(caller.principal):
            raise Forbidden(bodies.NOT_YOURS_TO_ASK)
        return respond(bodies.foreseen(asking.foresee(wanted, caller.principal)))


class OneRequest(_Call):
    http_method_names = ["get"]

    def get(self, request: Request, id: int) -> HttpResponse:
        self.reader()
        return self.one(id)


class Weighed(_Call):
    """What a decider wants to know before deciding."""

    http_method_names = ["get"]

    def get(self, request: Request, id: int) -> HttpResponse:
        seen = seeing.get(id, self.reader().principal)
        return respond(weighed(considering.consider(seen)))


class Deed(_Call):
    """One move of a request; whoever asked answers and withdraws, whoever decides does the rest."""

    deed = ""

    def post(self, request: Request, id: int) -> HttpResponse:
        own = self.deed in ("answer", "withdraw")
        actor = self.require_scope("request" if own else "manage").actor()
        getattr(self, f"_{self.deed}")(id, read_object(request._request), actor)
        return self.one(id)

    def _answer(self, id: int, body: dict[str, Any], actor: Any) -> None:
        asking.answer(id, bodies.text(body, "text"), by=actor)

    def _withdraw(self, id: int, body: dict[str, Any], actor: Any) -> None:
        asking.withdraw(id, by=actor, reason=bodies.text(body, "reason"))

    def _approve(self, id: int, body: dict[str, Any], actor: Any) -> None:
        role = body.get("role")
        asked = {"resource": bodies.text(body, "role"), "type": "role"}
        node = named.the_object_seen(asked, self.caller.principal) if role else None
        if role and node is None:
            raise NotFound("There is no such role.")
        deciding.approve(
            id,
            by=actor,
            parts=bodies.numbers(body, "parts"),
            give=bodies.given(body),
            lasts=bodies.text(body, "for"),
            until=bodies.moment(body, "until"),
            role=node.id if node else None,
            note=bodies.text(body, "note"),
        )

    def _refuse(self, id: int, body: dict[str, Any], actor: Any) -> None:
        deciding.refuse(id, bodies.text(body, "reason"), by=actor, parts=bodies.numbers(body, "parts"))

    def _ask_back(self, id: int, body: dict[str, Any], actor: Any) -> None:
        question = bodies.text(body, "question")
        deciding.ask_back(id, question, by=actor, parts=bodies.numbers(body, "parts"))

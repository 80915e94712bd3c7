"""`/authz/v1/request-rules` and `/authz/v1/substitutes`: what requests must say, and who decides for whom."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from authzsite.api.authentication import Caller
from authzsite.api.surface import respond
from authzsite.api.v1 import named
from authzsite.api.v1.call import Call
from authzsite.api.v1.describing import described, page_of
from authzsite.api.v1.request_serializers import (
    NewSubstitute,
    RequestRulesSerializer,
    Rules,
    SubstituteSerializer,
)
from catalog.nodes import Node
from policies.decisions import approvers
from policies.errors import NotFound
from policies.requests import rules, substitutes


class RequestRules(Call):
    """What is said on one object, and what counts there with what is said above; who may grant on it may."""

    http_method_names = ["get", "put"]

    @described(
        "Rules for requests for an object", "none", RequestRulesSerializer, query=("resource!", "type")
    )
    def get(self, request: Request) -> HttpResponse:
        node = self._node(request)
        return respond(_rules(node))

    @described(
        "Set the rules for requests for an object and everything inside",
        "manage",
        RequestRulesSerializer,
        query=("resource!", "type"),
        body=Rules,
    )
    def put(self, request: Request) -> HttpResponse:
        self.require_scope("manage")
        node = self._node(request)
        own, sent = rules.own(node), Rules.read(request)
        # a caller who does not know of approvals must not switch them off
        kept = {"plan_approval": own.plan_approval} if own is not None else {}
        rules.set_rule(node, by=self.caller.actor(), **{**kept, **sent})
        return respond(_rules(node))

    def _node(self, request: Request) -> Node:
        node = named.the_object(request._request.GET.dict())
        if node is None or not approvers.may(self.caller.principal, node):
            raise NotFound("There is no such object, or you may not set the rules for its requests.")
        return node


def _rules(node: Node) -> dict[str, Any]:
    own = rules.own(node)
    own_rules = {name: getattr(own, name, None) for name in rules.NAMES}
    return RequestRulesSerializer(
        {"here": own_rules, "counts": rules.rules_along([*node.above(), node])}
    ).data


class Substitutes(Call):
    http_method_names = ["get", "post"]

    def reader(self) -> Caller:
        """Callers who may decide, or read what was decided.  Raises Forbidden."""
        return self.caller if self.caller.covers("audit") else self.require_scope("manage")

    @described(
        "Substitutes of the caller, and people the caller substitutes", "none", page_of(SubstituteSerializer)
    )
    def get(self, request: Request) -> HttpResponse:
        person = self.reader().principal
        rows = [*substitutes.of(person), *substitutes.for_deputy(person)]
        return respond(named.listed(SubstituteSerializer.of_each(rows), None, ""))

    @described(
        "Name a substitute while the caller is away",
        "manage",
        SubstituteSerializer,
        body=NewSubstitute,
        status=201,
    )
    def post(self, request: Request) -> HttpResponse:
        actor, body = self.require_scope("manage").actor(), NewSubstitute.read(request)
        deputy = named.somebody_known(body["deputy"], self.caller.principal)
        if deputy is None:
            raise NotFound("There is no person with that name.")
        row = substitutes.name(self.caller.principal, deputy, body["starts"], body["ends"], by=actor)
        return respond(SubstituteSerializer(row).data, 201)


class OneSubstitute(Call):
    http_method_names = ["delete"]

    @described(
        "End a substitution",
        "manage",
        None,
        status=204,
        others={404: "no such substitution, or you may not see it"},
    )
    def delete(self, request: Request, id: int) -> HttpResponse:
        substitutes.call_off(id, by=self.require_scope("manage").actor())
        return HttpResponse(status=204)

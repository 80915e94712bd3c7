"""`/authz/v1/request-rules` and `/authz/v1/substitutes`: what requests must say, and who decides for whom."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from authzsite.api import request_bodies as bodies
from authzsite.api.authentication import Caller
from authzsite.api.strictjson import BadBody, read_object
from authzsite.api.surface import respond
from authzsite.api.v1 import named
from authzsite.api.v1.call import Call
from catalog.nodes import Node
from policies.decisions import approvers
from policies.errors import NotFound
from policies.models import Substitute
from policies.requests import rules, substitutes

WHOLES = ("min_reason", "escalate_hours", "lapse_hours", "longest_days")


class RequestRules(Call):
    """What is said on one object, and what counts there with what is said above; who may grant on it may."""

    http_method_names = ["get", "put"]

    def get(self, request: Request) -> HttpResponse:
        node = self._node(request)
        return respond(_rules(node))

    def put(self, request: Request) -> HttpResponse:
        self.require_scope("manage")
        node, body = self._node(request), read_object(request._request)
        values: dict[str, Any] = {name: _whole(body, name) for name in WHOLES}
        ticket = body.get("ticket")
        told = bodies.text(body, "ticket") if ticket is not None else None
        rules.set_rule(node, by=self.caller.actor(), ticket=told, **values)
        return respond(_rules(node))

    def _node(self, request: Request) -> Node:
        node = named.the_object(request._request.GET.dict())
        if node is None or not approvers.may(self.caller.principal, node):
            raise NotFound("There is no such object, or it is not for you to say what requests for it need.")
        return node


def _rules(node: Node) -> dict[str, Any]:
    own, counts = rules.own(node), rules.along([*node.above(), node])
    return {
        "here": {name: getattr(own, name, None) for name in rules.NAMES},
        "counts": {name: getattr(counts, name) for name in rules.NAMES},
    }


def _whole(body: dict[str, Any], name: str) -> int | None:
    value = body.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise BadBody(f"{name} must be a whole number or null")
    return value


class Substitutes(Call):
    http_method_names = ["get", "post"]

    def reader(self) -> Caller:
        """Whoever may decide, or read what was decided.  Raises Forbidden."""
        return self.caller if self.caller.covers("audit") else self.require_scope("manage")

    def get(self, request: Request) -> HttpResponse:
        person = self.reader().principal
        rows = [*substitutes.of(person), *substitutes.for_deputy(person)]
        return respond(named.listed([_wire(row) for row in rows], None, ""))

    def post(self, request: Request) -> HttpResponse:
        actor, body = self.require_scope("manage").actor(), read_object(request._request)
        deputy = named.somebody_known(named.text(body, "deputy"), self.caller.principal)
        starts, ends = bodies.moment(body, "starts"), bodies.moment(body, "ends")
        if deputy is None:
            raise NotFound("There is nobody of that name.")
        if starts is None or ends is None:
            raise BadBody("starts and ends must be times such as 2026-01-31T12:00:00Z")
        row = substitutes.name(self.caller.principal, deputy, starts, ends, by=actor)
        return respond(_wire(row), 201)


class OneSubstitute(Call):
    http_method_names = ["delete"]

    def delete(self, request: Request, id: int) -> HttpResponse:
        substitutes.call_off(id, by=self.require_scope("manage").actor())
        return HttpResponse(status=204)


def _wire(row: Substitute) -> dict[str, Any]:
    return {
        "id": row.pk,
        "person": str(row.person),
        "deputy": str(row.deputy),
        "starts": bodies.iso(row.starts),
        "ends": bodies.iso(row.ends),
    }

"""`/authz/v1/emergencies`: breaking the glass by program, ending it, and closing its review."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.request import Request

from authzsite.api.surface import Forbidden, respond
from authzsite.api.v1 import named
from authzsite.api.v1.call import Call
from authzsite.api.v1.describing import PAGED, described, page_of
from authzsite.api.v1.fields import Answer, Body, Listed, Moment, PrincipalName, Reference, Text, Whole
from catalog.nodes import Node, nodes
from policies.authority import Actor
from policies.emergency import access as emergency_access
from policies.emergency import traces
from policies.emergency.access import EmergencyRequest
from policies.errors import NotFound
from policies.models import Emergency

SCOPES = ("manage", "audit")
SALT = "emergencies"
UNKNOWN = "You cannot open an object with that name."
_GONE = {404: "there is none, or the caller may not see it"}
_LATE = {409: "its state has changed"} | _GONE
_OPEN = {409: "it is open already, waits for its review, or a rule of separation forbids it"} | _GONE


class NewEmergency(Body):
    resource = Reference()
    action = Text(max_length=32, help_text="read or write")
    hours = Whole(default=1)
    reason = Text(max_length=2000)


class Nothing(Body):
    """An empty object."""


class Verdict(Body):
    verdict = Text(max_length=2000)


class EmergencySerializer(Answer):
    # of a `row`, its `node` and how many `uses` there were

    id = Whole(source="row.pk")
    status = serializers.ChoiceField(["open", "ended", "closed"], source="row.state")
    principal = PrincipalName(source="row.person")
    resource = Reference(source="node.ref")
    privileges = Listed(source="row.privileges", child=Text())
    reason = Text(source="row.reason")
    opened = Moment(source="row.opened")
    until = Moment(source="row.until")
    ended = Moment(source="row.ended", allow_null=True)
    uses = Whole()
    reviewer = PrincipalName(source="row.reviewer", allow_null=True)
    verdict = Text(source="row.verdict")


class _Call(Call):
    def reader(self) -> Actor:
        if not any(self.caller.covers(scope) for scope in SCOPES):
            raise Forbidden(f"this token lacks the scope {SCOPES[0]}")
        return self.caller.actor()

    def one(self, row: Emergency, node: Node, status: int = 200) -> HttpResponse:
        uses = traces.how_many_uses([row])[row.pk]
        return respond(EmergencySerializer({"row": row, "node": node, "uses": uses}).data, status)


class Emergencies(_Call):
    """Emergencies that the caller opened; a POST opens one for the caller."""

    http_method_names = ["get", "post"]

    @described(
        "Emergencies that the caller opened", "manage or audit", page_of(EmergencySerializer), query=PAGED
    )
    def get(self, request: Request) -> HttpResponse:
        person, query = self.reader().principal, request._request.GET.dict()
        if person is None:
            raise Forbidden("only a user or service account can do this")
        rows = emergency_access.of_person(person).select_related("reviewer")
        shown, after = named.newest(rows, query, SALT)
        places = nodes(row.securable_id for row in shown)
        uses = traces.how_many_uses(shown)
        emergencies = [
            {"row": row, "node": places[row.securable_id], "uses": uses[row.pk]}
            for row in shown
            if row.securable_id in places
        ]
        return respond(named.listed(EmergencySerializer.of_each(emergencies), after, SALT))

    @described(
        "Take emergency access to an object; safe to repeat with the same `Idempotency-Key`",
        "manage",
        EmergencySerializer,
        body=NewEmergency,
        status=201,
        others=_OPEN,
    )
    def post(self, request: Request) -> HttpResponse:
        caller, body = self.require_scope("manage"), NewEmergency.read(request)
        self.require_proof()
        node = named.the_object({"type": body["resource"]["type"], "resource": body["resource"]["id"]})
        if node is None or not emergency_access.may(caller.principal, node):
            raise NotFound(UNKNOWN)
        key = request._request.headers.get("Idempotency-Key", "")[:64]
        wanted = EmergencyRequest(node, body["action"], body["hours"], body["reason"], key)
        return self.one(emergency_access.open_for_oneself(wanted, by=caller.actor()), node, 201)


class OneEmergency(_Call):
    http_method_names = ["get"]

    @described("One emergency", "manage or audit", EmergencySerializer, others=_GONE)
    def get(self, request: Request, id: int) -> HttpResponse:
        return self.one(*emergency_access.seen(id, self.reader()))


class End(_Call):
    @described("End it before its time", "manage", EmergencySerializer, body=Nothing, others=_LATE)
    def post(self, request: Request, id: int) -> HttpResponse:
        actor = self.require_scope("manage").actor()
        Nothing.read(request)
        emergency_access.end(id, by=actor)
        return self.one(*emergency_access.seen(id, actor))


class Close(_Call):
    @described(
        "Close the review of another person's emergency, with a text",
        "manage",
        EmergencySerializer,
        body=Verdict,
        others=_LATE,
    )
    def post(self, request: Request, id: int) -> HttpResponse:
        actor = self.require_scope("manage").actor()
        emergency_access.close(id, Verdict.read(request)["verdict"], by=actor)
        return self.one(*emergency_access.seen(id, actor))

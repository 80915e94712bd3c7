"""`/authz/v1/emergencies`: breaking the glass by program, ending it, and closing its review."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from authzsite.api.strictjson import BadBody, read_object
from authzsite.api.surface import Forbidden, respond
from authzsite.api.v1 import named
from authzsite.api.v1.call import Call
from authzsite.api.v1.describing import (
    MOMENT,
    NULL,
    PAGED,
    PRINCIPAL,
    TEXT,
    WHOLE,
    Told,
    either,
    listed,
    page,
    record,
    ref,
)
from catalog.nodes import Node, nodes
from policies.authority import Actor
from policies.emergency import access as emergency_access
from policies.emergency import traces
from policies.emergency.access import Wanted
from policies.errors import NotFound
from policies.models import Emergency

SCOPES = ("manage", "audit")
SALT = "emergencies"
UNKNOWN = "There is nothing of that name that you may open."


class _Call(Call):
    def reader(self) -> Actor:
        if not any(self.caller.covers(scope) for scope in SCOPES):
            raise Forbidden(f"this token lacks the scope {SCOPES[0]}")
        return self.caller.actor()

    def one(self, row: Emergency, node: Node, status: int = 200) -> HttpResponse:
        return respond(wire(row, node, traces.how_many_uses([row])[row.pk]), status)


class Emergencies(_Call):
    """Those the caller opened; a POST opens one for the caller."""

    http_method_names = ["get", "post"]

    def get(self, request: Request) -> HttpResponse:
        person, asked = self.reader().principal, request._request.GET.dict()
        if person is None:
            raise Forbidden("this is for somebody")
        after = named.cursor(asked, SALT)
        rows = emergency_access.of_person(person).select_related("reviewer")
        if after and isinstance(after[0], int):
            rows = rows.filter(pk__lt=after[0])
        found = list(rows[: named.limit(asked) + 1])
        shown, more = found[: named.limit(asked)], len(found) > named.limit(asked)
        places = nodes(row.securable_id for row in shown)
        uses = traces.how_many_uses(shown)
        lines = [
            wire(row, places[row.securable_id], uses[row.pk]) for row in shown if row.securable_id in places
        ]
        return respond(named.listed(lines, [shown[-1].pk] if more else None, SALT))

    def post(self, request: Request) -> HttpResponse:
        caller = self.require_scope("manage")
        body = read_object(request._request)
        node = named.the_object(_reference(body))
        if node is None or not emergency_access.may(caller.principal, node):
            raise NotFound(UNKNOWN)
        hours = body.get("hours", 1)
        if isinstance(hours, bool) or not isinstance(hours, int):
            raise BadBody("hours must be a whole number")
        key = request._request.headers.get("Idempotency-Key", "")[:64]
        action, reason = named.text(body, "action", longest=32), named.text(body, "reason", longest=2000)
        wanted = Wanted(node, action, hours, reason, key)
        return self.one(emergency_access.open_for_oneself(wanted, by=caller.actor()), node, 201)


def _reference(body: dict[str, Any]) -> dict[str, str]:
    found = body.get("resource")
    if not isinstance(found, dict):
        raise BadBody("resource must be an object with type and id")
    return {"type": named.text(found, "type", longest=32), "resource": named.text(found, "id", longest=2000)}


class OneEmergency(_Call):
    http_method_names = ["get"]

    def get(self, request: Request, id: int) -> HttpResponse:
        return self.one(*emergency_access.seen(id, self.reader()))


class Deed(_Call):
    """Its end before its time, or the words that close its review."""

    http_method_names = ["post"]
    deed = ""

    def post(self, request: Request, id: int) -> HttpResponse:
        actor = self.require_scope("manage").actor()
        body = read_object(request._request)
        if self.deed == "close":
            emergency_access.close(id, named.text(body, "verdict", longest=2000), by=actor)
        else:
            emergency_access.end(id, by=actor)
        return self.one(*emergency_access.seen(id, actor))


def wire(row: Emergency, node: Node, uses: int) -> dict[str, object]:
    """An emergency as programs read it."""
    return {
        "id": row.pk,
        "status": row.state,
        "principal": str(row.person),
        "resource": {"type": node.type, "id": node.ref.id},
        "privileges": list(row.privileges),
        "reason": row.reason,
        "opened": row.opened.isoformat(),
        "until": row.until.isoformat(),
        "ended": row.ended.isoformat() if row.ended else None,
        "uses": uses,
        "reviewer": str(row.reviewer) if row.reviewer else None,
        "verdict": row.verdict,
    }


# As programs read about them

SCHEMAS = {
    "Emergency": record(
        ("id", "status", "principal", "resource", "opened", "until"),
        id=WHOLE,
        status={**TEXT, "enum": ["open", "ended", "closed"]},
        principal=PRINCIPAL,
        resource=ref("Reference"),
        privileges=listed(TEXT),
        reason=TEXT,
        opened=MOMENT,
        until=MOMENT,
        ended=either(MOMENT, NULL),
        uses=WHOLE,
        reviewer=either(TEXT, NULL),
        verdict=TEXT,
    ),
    "Breaking": record(
        ("resource", "action", "reason"), resource=ref("Reference"), action=TEXT, hours=WHOLE, reason=TEXT
    ),
}

_GONE = {404: "there is none, or it is not for the caller to see"}
_LATE = {409: "it is in another state by now"} | _GONE
CALLS = (
    Told(
        "emergencies",
        "post",
        "Open an object for oneself in an emergency; `Idempotency-Key` makes it one",
        "manage",
        ref("Emergency"),
        body=ref("Breaking"),
        status=201,
        others={409: "it is open already, waits for its review, or a rule of separation forbids it"} | _GONE,
    ),
    Told("emergencies", "get", "Those the caller opened", "manage or audit", page(ref("Emergency")), PAGED),
    Told("emergencies/{id}", "get", "One emergency", "manage or audit", ref("Emergency"), others=_GONE),
    Told("emergencies/{id}/end", "post", "End it before its time", "manage", ref("Emergency"), others=_LATE),
    Told(
        "emergencies/{id}/close",
        "post",
        "Close the review of somebody else's emergency with words",
        "manage",
        ref("Emergency"),
        body=record(("verdict",), verdict=TEXT),
        others=_LATE,
    ),
)

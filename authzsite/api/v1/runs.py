"""`POST /authz/v1/runs`: a job begins, and gets a token that is decided as the account it runs as."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from accounts.text import holdable
from authzsite.api.strictjson import BadBody, read_object
from authzsite.api.surface import respond
from authzsite.api.v1 import named
from authzsite.api.v1.call import Call
from catalog.nodes import Node
from catalog.queries import realm_named, root
from catalog.resolve import find, find_in_any_case
from lakewarden.law import dialects
from lakewarden.law.objects import BadName, ObjectRef, split_name
from policies.errors import Refused
from policies.record import access_log
from policies.services import jobs

USUAL, LONGEST = 3600, 7 * 24 * 3600


class Runs(Call):
    def post(self, request: Request) -> HttpResponse:
        caller = self.require_scope("request")
        body = read_object(request._request)
        realm, name, seconds = named.text(body, "realm"), named.text(body, "program"), _ttl(body)
        program = _program(realm, name)
        try:
            if program is None:
                raise Refused(f"You may not start {name[:200]}.")
            lasting = timedelta(seconds=seconds)
            started = jobs.start(program, by=caller.actor(), lasting=lasting)
        except Refused as refusal:
            access_log.refused(caller.principal, jobs.EXECUTE, program, name=f"{realm}/{name}", via="runs")
            raise Refused(f"You may not start {name[:200]}.") from refusal
        return respond(
            {
                "run": started.run.id,
                "runs_as": str(started.runs_as),
                "token": started.token,
                "expires": started.expires.isoformat(),
            },
            201,
        )


def _program(realm: str, name: str) -> Node | None:
    """What of that name a realm can run, whatever its type is there."""
    known = realm_named(realm) if holdable(realm) else None
    try:
        path = split_name(name)
    except BadName:
        return None
    if known is None:
        return None
    law, top = dialects.get(known.law), root(known)
    types = [one for one in law.types if jobs.EXECUTE in law.actions_for(one) and not law.child_types(one)]
    if law.ignores_case:
        found = [find_in_any_case(top, one, path) for one in types]
    else:
        found = [find(ObjectRef(one, realm, path)) for one in types]
    return next(filter(None, found), None)


def _ttl(body: Mapping[str, Any]) -> int:
    value = body.get("ttl", USUAL)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= LONGEST:
        raise BadBody(f"ttl must be a number of seconds from 1 to {LONGEST}")
    return value

"""`POST /authz/v1/runs`: a job begins, and gets a token that is decided as the account it runs as."""

from __future__ import annotations

from datetime import timedelta

from django.http import HttpResponse
from rest_framework.request import Request

from accounts.text import holdable
from authzsite.api.surface import respond
from authzsite.api.v1.call import Call
from authzsite.api.v1.describing import described
from authzsite.api.v1.fields import Answer, Body, Moment, PrincipalName, Text, Whole
from catalog.nodes import Node
from catalog.queries import realm_named, root
from catalog.resolve import find, find_in_any_case
from lakewarden.law import dialects
from lakewarden.law.objects import BadName, ObjectRef, split_name
from policies.errors import Refused
from policies.record import access_log
from policies.services import jobs

USUAL, LONGEST = 3600, 7 * 24 * 3600


class NewRun(Body):
    """Which program of a realm is started, and for how many seconds its token holds."""

    realm = Text()
    program = Text()
    ttl = Whole(default=USUAL, min_value=1, max_value=LONGEST)


class RunSerializer(Answer):
    run = Text(source="run.id")
    runs_as = PrincipalName()
    token = Text()
    expires = Moment()


class Runs(Call):
    @described(
        "Start a job; it gets a token that is decided as the account it runs as",
        "request",
        RunSerializer,
        body=NewRun,
        status=201,
        others={409: "no person or service account is responsible for the job"},
    )
    def post(self, request: Request) -> HttpResponse:
        caller = self.require_scope("request")
        self.require_proof()
        body = NewRun.read(request)
        realm, name = body["realm"], body["program"]
        program = _program(realm, name)
        try:
            if program is None:
                raise Refused(f"You cannot start {name[:200]}.")
            lasting = timedelta(seconds=body["ttl"])
            started = jobs.start(program, by=caller.actor(), lasting=lasting)
        except Refused as refusal:
            access_log.refused(caller.principal, jobs.EXECUTE, program, name=f"{realm}/{name}", via="runs")
            raise Refused(f"You cannot start {name[:200]}.") from refusal
        return respond(RunSerializer(started).data, 201)


def _program(realm: str, name: str) -> Node | None:
    """What of that name a realm can run, whatever its type is there."""
    realm_root = realm_named(realm) if holdable(realm) else None
    if realm_root is None:
        return None
    try:
        path = split_name(name)
    except BadName:
        return None
    law, top = dialects.get(realm_root.law), root(realm_root)
    for type_ in law.types:
        if jobs.EXECUTE not in law.actions_for(type_) or law.child_types(type_):
            continue  # what holds programs, such as a namespace, is none itself
        ref = ObjectRef(type_, realm, path)
        program = find_in_any_case(top, type_, path) if law.ignores_case else find(ref)
        if program is not None:
            return program
    return None

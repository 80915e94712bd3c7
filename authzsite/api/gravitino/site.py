"""What is asked of the site and of no metalake."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from authzsite.api.gravitino import SEPARATOR, VERSION
from authzsite.api.gravitino.call import Call, Route
from authzsite.api.gravitino.errors import Problem, unsupported
from authzsite.api.gravitino.http import caller_of, respond
from authzsite.api.gravitino.wire import Wire
from policies.decisions.facts import is_service_admin
from policies.sync.connections import peers


def version(call: Call) -> Wire:
    return {"version": {"version": VERSION, "compileDate": "", "gitCommit": ""}}


def me(call: Call) -> Wire:
    return {"principal": call.principal.name, "serviceAdmin": is_service_admin(call.principal)}


def configs(request: HttpRequest) -> HttpResponse:
    """`GET /configs`: what a client must know before it signs in; more to those who are."""
    if request.method != "GET":
        problem = unsupported("Only GET is supported here")
        return respond(problem.body, problem.status)
    configuration: dict[str, Any] = {
        "gravitino.authenticators": sorted(settings.LAKEWARDEN_AUTHENTICATORS),
        "gravitino.authorization.enable": True,
        "gravitino.schema.separator": SEPARATOR,
        **peers.description(),
    }
    try:
        caller_of(request)
    except Problem:
        return respond(configuration)
    return respond(
        {
            **configuration,
            "gravitino.authorization.serviceAdmins": ",".join(sorted(settings.LAKEWARDEN_SERVICE_ADMINS)),
        }
    )


ROUTES = (
    Route("GET", "version", "", version, site=True),
    Route("GET", "authn/me", "", me, site=True),
)

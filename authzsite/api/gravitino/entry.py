"""The door of `/api`: who calls, which call it is, in which form the answer leaves."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from authzsite.api.gravitino import bodies, call_table
from authzsite.api.gravitino.call import VIA, Call, Refusal
from authzsite.api.gravitino.errors import (
    OURS,
    Problem,
    broken,
    of_policy,
    of_status,
    unavailable,
)
from authzsite.api.gravitino.http import caller_of, respond
from authzsite.api.gravitino.routing import Table, segments
from authzsite.api.outage import RETRY_AFTER, TEXT, is_outage
from policies.events import OBJECT_ALTERED, OBJECT_DROPPED, OBJECT_REGISTERED
from policies.record import access_log
from policies.record.change import change
from policies.services import realm_of

log = logging.getLogger(__name__)
table = Table(call_table.every())
KINDS = {"POST": OBJECT_REGISTERED, "DELETE": OBJECT_DROPPED}
READING_SCOPES = ("manage", "check", "audit")


@csrf_exempt
def answer(request: HttpRequest) -> HttpResponse:
    """Every call below `/api`."""
    call: Call | None = None
    try:
        call = _call(request)
        return respond({"code": 0, **_work(call)})
    except Refusal as refusal:
        assert call is not None  # noqa: S101 - only a call is refused
        try:
            access_log.refused(call.principal, refusal.operation, refusal.node, name=refusal.name, via=VIA)
        except Exception:
            log.exception("a refusal could not be recorded")
        return respond(refusal.body, refusal.status)
    except Problem as problem:
        return respond(problem.body, problem.status)
    except OURS as error:
        policy_error = of_policy(error, *(call.route.words if call else ("", "", "")))
        return respond(policy_error.body, policy_error.status)
    except Exception as error:
        if is_outage(error):
            return out_of_order()
        log.exception("%s %s failed", request.method, request.path)
        return respond(broken().body, 500)


def out_of_order() -> HttpResponse:
    """The answer while the console's database is away."""
    problem = unavailable(TEXT)
    response = respond(problem.body, problem.status)
    response.headers["Retry-After"] = RETRY_AFTER
    return response


def _call(request: HttpRequest) -> Call:
    caller = caller_of(request)
    # only the escaped path tells a slash in a name from one between names
    raw = str(request.META.get("RAW_URI") or request.META.get("REQUEST_URI") or "")
    path = raw if raw.startswith("/") else request.get_full_path()
    route, names = table.match(
        request.method or "",
        segments(path.partition("?")[0].removeprefix(request.META.get("SCRIPT_NAME", ""))),
    )
    call = Call(
        caller,
        route,
        names,
        request.GET,
        active=request.META.get("HTTP_X_GRAVITINO_ACTIVE_ROLES"),
        request_id=request.META.get("HTTP_X_REQUEST_ID", "")[:64],
    )
    if route.body is not None:
        call.raw = _raw_body(request)
    return call


def _raw_body(request: HttpRequest) -> Any:
    # rights come before what is wrong with the body
    try:
        return bodies.read(request)
    except Problem as problem:
        return problem


def _work(call: Call) -> Mapping[str, Any]:
    wanted = ("manage",) if call.route.writes else READING_SCOPES
    if not any(call.caller.covers(scope) for scope in wanted):
        name = "/".join(call.names.values())
        raise Refusal(f"This token lacks the scope {wanted[0]}", call.route.operation, None, name)
    call.admit()
    if not call.route.writes:
        result = call.route.handle(call)
        return result() if callable(result) else result
    realm = None if call.route.site else realm_of(call.root)
    with change(KINDS.get(call.route.method, OBJECT_ALTERED), realm=realm, by=call.actor):
        # judged on the very state that is changed
        again = call.again()
        again.admit()
        done = again.route.handle(again)
    return done() if callable(done) else done


def outside(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Around everything: what Django itself refuses below `/api` is JSON too, and clients may say goodbye."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if request.method == "CLOSE":
            return HttpResponse()
        response = get_response(request)
        is_json = response.headers.get("Content-Type", "").startswith("application/json")
        if response.status_code < 400 or is_json or not is_ours(request.path):
            return response
        problem = of_status(response.status_code, response.reason_phrase)
        return respond(problem.body, problem.status)

    return middleware


def is_ours(path: str) -> bool:
    """Whether a path is one of this surface's."""
    return path == "/api" or path == "/configs" or path.startswith(("/api/", "/configs/"))

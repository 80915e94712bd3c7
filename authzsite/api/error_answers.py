"""What a program hears when its request comes to no call, in its surface's own form."""

from __future__ import annotations

import sys
from typing import cast

from django.http import HttpRequest, HttpResponse

from authzsite.api import outage
from authzsite.api.gravitino import entry as gravitino
from authzsite.api.herd import bodies
from authzsite.api.herd.problems import information
from authzsite.api.surface import respond
from authzsite.api.v1.call import problem
from authzsite.console.kit import error_pages
from authzsite.console.kit.http import Request

TEXT = "This request could not be read, or it names a host that this site does not answer for."

NOT_HERE = "There is no such endpoint here."


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """The 400 for a foreign host name, a suspicious header and the like."""
    return in_form(request, 400, TEXT) or error_pages.bad_request(cast("Request", request), exception)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """The 404 for a path that no call matches, as one with an end of line in a name."""
    return in_form(request, 404, NOT_HERE) or error_pages.not_found(cast("Request", request), exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """The 503 while the console's database is away, and the 500 for all else."""
    if not outage.is_outage(sys.exc_info()[1]):
        return error_pages.server_error(cast("Request", request))
    if gravitino.is_ours(request.path):
        return gravitino.out_of_order()
    response = in_form(request, 503, outage.TEXT) or error_pages.out_of_order(cast("Request", request))
    response.headers["Retry-After"] = outage.RETRY_AFTER
    return response


def in_form(request: HttpRequest, status: int, text: str) -> HttpResponse | None:
    """The answer on a program's surface; None for people."""
    path = "/" + request.path.lstrip("/")
    if path.startswith("/herd-app/"):
        body = bodies.write(bodies.ERROR, information(status, text), bodies.JSON)
        return HttpResponse(body, status=status, content_type=bodies.JSON)
    if path.startswith(("/v1/execute/", "/v3/")):
        return HttpResponse(text, status=status, content_type="text/plain; charset=utf-8")
    if path.startswith("/scim/"):
        from authzsite.api.scim.views import in_form as scim_form  # slow to load, and seldom needed

        return scim_form(status, text)
    if path.startswith("/v1/data/"):
        return respond({"code": "refused", "message": text}, status)
    if path.startswith(("/access/", "/.well-known/")):
        return respond(text, status)
    if path.startswith(("/authz/", "/api/", "/configs", "/health/", "/metrics")):
        return problem(status, text)
    return None

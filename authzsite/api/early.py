"""What a program hears when its request is turned away before any call, in its surface's own form."""

from __future__ import annotations

from typing import cast

from django.http import HttpRequest, HttpResponse

from authzsite.api.herd import bodies
from authzsite.api.herd.problems import information
from authzsite.api.surface import respond
from authzsite.api.v1.call import problem
from authzsite.console import errors
from authzsite.console.requests import Request

TEXT = "This request could not be read, or it names a host that this site does not answer for."


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """The 400 for a foreign host name, a suspicious header and the like."""
    path = "/" + request.path.lstrip("/")
    if path.startswith("/herd-app/"):
        body = bodies.write(bodies.ERROR, information(400, TEXT), bodies.JSON)
        return HttpResponse(body, status=400, content_type=bodies.JSON)
    if path.startswith(("/v1/execute/", "/v3/")):
        return HttpResponse(TEXT, status=400, content_type="text/plain; charset=utf-8")
    if path.startswith(("/access/", "/.well-known/")):
        return respond(TEXT, 400)
    if path.startswith(("/authz/", "/api/", "/configs", "/health/", "/metrics")):
        return problem(400, TEXT)
    return errors.bad_request(cast("Request", request), exception)

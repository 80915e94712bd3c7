"""What all calls below `/authz/v1/` share."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from authzsite.api.surface import Surface
from policies.errors import Conflict, Gone, Internal, Invalid, NotFound, PolicyError, Refused

_STATUS: dict[type[PolicyError], int] = {
    Refused: 403,
    NotFound: 404,
    Conflict: 409,
    Gone: 410,
    Invalid: 400,
    Internal: 500,
}


class Call(Surface):
    """A call that answers JSON, and problems when it cannot."""

    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]  # already rendered
        if isinstance(exc, PolicyError):
            status = next((code for kind, code in _STATUS.items() if isinstance(exc, kind)), 400)
            return problem(status, str(exc))
        status, text, headers = self._answer_to(exc)
        response = problem(status, text)
        for name, value in headers.items():
            response.headers[name] = value
        return response


def problem(status: int, detail: str) -> HttpResponse:
    body: dict[str, Any] = {"title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    content = json.dumps(body, separators=(",", ":"))
    return HttpResponse(content, status=status, content_type="application/problem+json")


@csrf_exempt  # nothing is done here
def unknown(request: HttpRequest) -> HttpResponse:
    """What programs hear at an address that is none, instead of a page."""
    response = problem(404, "there is no such endpoint")
    if request_id := request.headers.get("X-Request-ID"):
        response.headers["X-Request-ID"] = request_id
    return response

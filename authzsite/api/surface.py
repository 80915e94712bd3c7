"""The door that all calls of programs come through: who calls, in which form errors leave."""

from __future__ import annotations

import json
import logging
from typing import Any, cast

from django.http import HttpResponse
from rest_framework.exceptions import APIException, NotAuthenticated
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.permissions import BasePermission
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from authzsite.api import outage
from authzsite.api.authentication import Caller, SessionAuthentication, TokenAuthentication
from authzsite.api.strictjson import BadBody
from authzsite.console.kit import step_up
from authzsite.console.kit.http import Request as PageRequest

log = logging.getLogger(__name__)
PROVE = "this session was confirmed too long ago: confirm that it is you at /sign-in/again, or use a token"


class Forbidden(Exception):
    """The caller is known, but may not do this; the text says what."""


class SignedIn(BasePermission):
    message = "sign in with a token"

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not isinstance(request.user, Caller):
            raise NotAuthenticated(self.message)
        return True


class AlwaysJson(BaseContentNegotiation):
    """JSON whatever is asked for: a program that says nothing useful in Accept still gets its answer."""

    def select_parser(self, request: Request, parsers: Any) -> None:
        return None

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


class Surface(APIView):
    """A call that takes and answers JSON; errors leave as one JSON string, every answer names its request."""

    authentication_classes = [TokenAuthentication, SessionAuthentication]
    permission_classes = [SignedIn]
    renderer_classes = [JSONRenderer]
    parser_classes = ()
    throttle_classes = ()
    content_negotiation_class = AlwaysJson
    http_method_names = ["post"]

    @property
    def caller(self) -> Caller:
        caller = self.request.user
        if not isinstance(caller, Caller):
            raise NotAuthenticated(SignedIn.message)
        return caller

    def require_scope(self, scope: str) -> Caller:
        """The caller, when their token covers the scope.  Raises Forbidden."""
        if not self.caller.covers(scope):
            raise Forbidden(f"this token lacks the scope {scope}")
        return self.caller

    def require_proof(self) -> None:
        """Refuse a browser's session whose last proof of who it is is too old; the pages ask for one then.

        Raises Forbidden.
        """
        if self.caller.via == "session" and step_up.is_due(cast("PageRequest", self.request._request)):
            raise Forbidden(PROVE)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        request_id = request.META.get("HTTP_X_REQUEST_ID")
        if request_id is not None:
            response.headers["X-Request-ID"] = request_id
        return response

    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]  # already rendered
        status, text, headers = self._answer_to(exc)
        response = respond(text, status)
        for name, value in headers.items():
            response.headers[name] = value
        return response

    def _answer_to(self, exc: Exception) -> tuple[int, str, dict[str, str]]:
        if isinstance(exc, BadBody):
            return 400, str(exc), {}
        if isinstance(exc, Forbidden):
            return 403, str(exc), {}
        if isinstance(exc, APIException):
            asks = {"WWW-Authenticate": "Bearer"} if exc.status_code == 401 else {}
            return exc.status_code, str(exc.detail), asks
        if outage.is_outage(exc):
            log.warning("%s: %s", self.request.path, type(exc).__name__)
            return 503, outage.TEXT, {"Retry-After": outage.RETRY_AFTER}
        log.error("%s failed", self.request.path, exc_info=exc)
        return 500, "something went wrong here; no decision was made", {}


def respond(value: object, status: int = 200) -> HttpResponse:
    """The value as compact JSON; the same value is always the same bytes."""
    content = json.dumps(value, separators=(",", ":"))
    return HttpResponse(content, status=status, content_type="application/json")

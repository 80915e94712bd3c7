"""`/scim/v2/…`: every call of the directory, with SCIM's own form for what goes wrong."""

from __future__ import annotations

import json

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from rest_framework.request import Request
from scim2_models import (
    Error,
    ForbiddenException,
    InvalidSyntaxException,
    InvalidValueException,
    PayloadTooLargeException,
    SCIMException,
)
from scim2_server.handler import ScimHandler
from scim2_server.requests import ScimRequest
from scim2_server.responses import SCIM_MEDIA_TYPE
from scim2_server.service import ScimService

from accounts.text import holdable
from authzsite.api.authentication import TokenAuthentication
from authzsite.api.scim.resources import PROVIDER
from authzsite.api.scim.storage import Storage
from authzsite.api.surface import Surface
from policies.authority import DIRECTORY, Actor
from policies.decisions import site_permissions
from policies.errors import Refused

SCOPE = "directory"
BASE = "/scim/v2"
LONGEST_QUERY = 8000
"""Characters of an address: filters as directories write them are far shorter, and longer ones nest deep."""
LARGEST = 2_000_000
"""Bytes; a group of twenty thousand people is smaller."""
_service = ScimService(PROVIDER)


class Scim(Surface):
    """A call with a token of a service account that keeps the directory; nobody else is answered anything."""

    authentication_classes = [TokenAuthentication]
    http_method_names = ["get", "post", "put", "patch", "delete"]

    def get(self, request: Request, path: str) -> HttpResponse:
        return self._answer(path)

    post = put = patch = delete = get

    def _answer(self, path: str) -> HttpResponse:
        caller = self.require_scope(SCOPE)
        request = self.request._request
        actor = Actor(caller.principal, DIRECTORY.via, str(request.headers.get("X-Request-ID", ""))[:64])
        try:
            authority = site_permissions.of_directory(actor)
        except Refused as refused:
            raise ForbiddenException(detail=str(refused)) from None
        storage = Storage(actor, authority, changes=request.method != "GET")
        answer = ScimHandler(_service, storage).handle(_read(request, path))
        body = b"" if answer.body is None else json.dumps(answer.body).encode()
        response = HttpResponse(body, status=answer.status)
        for name, value in answer.headers.items():
            response.headers[name] = value
        response.headers["Cache-Control"] = "no-store"
        return response

    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]  # already rendered
        if isinstance(exc, RecursionError):
            exc = InvalidSyntaxException(detail="The body is nested too deeply.")
        if isinstance(exc, SCIMException):
            answer = _service.error_response(exc)
            response = problem(answer.status, json.dumps(answer.body))
            for name, value in answer.headers.items():
                response.headers[name] = value
            return response
        status, text, headers = self._answer_to(exc)
        response = in_form(status, text)
        for name, value in headers.items():
            response.headers[name] = value
        return response


def in_form(status: int, text: str) -> HttpResponse:
    """An error as SCIM writes it."""
    return problem(status, json.dumps(Error(status=status, detail=text).model_dump()))


def problem(status: int, body: str) -> HttpResponse:
    return HttpResponse(body, status=status, content_type=SCIM_MEDIA_TYPE)


def _read(request: HttpRequest, path: str) -> ScimRequest:
    """Raises SCIMException for what is too long, and for letters that the database cannot hold."""
    query = {name: str(value) for name, value in request.GET.items()}
    if len(request.META.get("QUERY_STRING", "")) > LONGEST_QUERY:
        raise InvalidValueException(detail=f"The query has more than {LONGEST_QUERY} characters.")
    try:
        body = request.body
    except (RequestDataTooBig, UnreadablePostError):
        body = b" " * (LARGEST + 1)
    if len(body) > LARGEST:
        raise PayloadTooLargeException(detail=f"The body has more than {LARGEST} bytes.")
    if b"\\u0000" in body or not all(map(holdable, query.values())):
        raise InvalidValueException(detail="A value contains a character that cannot be stored.")
    return ScimRequest(
        method=request.method or "",
        base_url=request.build_absolute_uri(BASE),
        path=path or "/",
        query=query,
        headers=dict(request.headers),
        body=body,
    )

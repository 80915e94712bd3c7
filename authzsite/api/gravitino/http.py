"""Who calls over HTTP, and the form in which an answer leaves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from rest_framework.exceptions import APIException, AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from authzsite.api.authentication import (
    Caller,
    SessionAuthentication,
    TokenAuthentication,
    by_mere_name,
)
from authzsite.api.gravitino.errors import (
    forbidden,
    unauthorized,
)


def caller_of(request: HttpRequest) -> Caller:
    """Who calls.  Raises Problem 401."""
    wrapped = Request(request, authenticators=[TokenAuthentication(), SessionAuthentication()])
    try:
        caller = wrapped.user
    except PermissionDenied as error:
        raise forbidden(str(error.detail)) from None
    except APIException as error:
        raise unauthorized(str(error.detail)) from None
    if isinstance(caller, Caller):
        return caller
    if {"simple", "anonymous"} <= set(settings.LAKEWARDEN_AUTHENTICATORS):
        try:
            return by_mere_name("anonymous", request)[0]
        except AuthenticationFailed as error:
            raise unauthorized(str(error.detail)) from None
    raise unauthorized("Come with a token")


def respond(value: Mapping[str, Any], status: int = 200) -> HttpResponse:
    content = json.dumps(value, separators=(",", ":"))
    response = HttpResponse(content, status=status, content_type="application/json")
    if status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response

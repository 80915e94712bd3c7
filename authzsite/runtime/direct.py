"""Calls of programs go past what is made for pages: sessions, languages, messages, forms."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

from django.core.handlers.base import BaseHandler
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.module_loading import import_string

Answer = Callable[[HttpRequest], HttpResponseBase]

PROGRAMS = ("/access/v1/", "/authz/v1/")
"""All below these is asked by programs; errors have the form of the call there, never that of a page."""
KEPT = (
    "django.middleware.common.CommonMiddleware",  # refuses foreign hosts, says how long an answer is
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
)


class PastPages:
    """Takes a call with credentials straight to its view, past what comes after this in the settings.

    Whoever sends an Authorization header is judged by that alone.  Without one the browser's session may
    count, so such a call takes the way of pages.
    """

    def __init__(self, get_response: Answer) -> None:
        self.pages, self.calls = get_response, _Direct().way(KEPT)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        direct = "HTTP_AUTHORIZATION" in request.META and request.path_info.startswith(PROGRAMS)
        return self.calls(request) if direct else self.pages(request)


class _Direct(BaseHandler):
    """Django's own way from an address to a view."""

    def way(self, middleware: Iterable[str]) -> Answer:
        self._view_middleware: list[object] = []
        self._template_response_middleware: list[object] = []
        self._exception_middleware: list[object] = []
        answer = convert_exception_to_response(self._get_response)  # type: ignore[attr-defined]  # no stub
        for name in reversed(list(middleware)):
            answer = convert_exception_to_response(import_string(name)(answer))
        return cast("Answer", answer)

"""Which verbs an address takes; any other is answered with a page that says so."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http.response import HttpResponseBase

from authzsite.console.kit.error_pages import show
from authzsite.console.kit.http import Request

View = Callable[..., HttpResponseBase]


def _only(*allowed: str) -> Callable[[View], View]:
    def guard(view: View) -> View:
        @wraps(view)
        def guarded(request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.method in allowed:
                return view(request, *args, **kwargs)
            response = show(request, 405)
            response["Allow"] = ", ".join(allowed)
            return response

        return guarded

    return guard


reads = _only("GET", "HEAD")
writes = _only("POST")
reads_and_writes = _only("GET", "HEAD", "POST")

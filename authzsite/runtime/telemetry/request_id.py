"""Each request has an id, which its answer, its log lines and the tasks that it asks for carry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.signals import request_finished
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from lakewarden import request_ids

Answer = Callable[[HttpRequest], HttpResponseBase]


def request_id(get_response: Answer) -> Answer:
    """Work for the request under the caller's id or one of our own.

    The answer names it where the caller did, and where something failed here, so that its log line is found.
    """

    request_finished.connect(_end, dispatch_uid="request id")

    def answer(request: HttpRequest) -> HttpResponseBase:
        sent = request.headers.get(request_ids.HEADER)
        named = request_ids.of_caller(sent)
        # not for this block alone: Django's own line about a refusal or a failure comes after it
        request_ids.work_for(named)
        response = get_response(request)
        if sent or response.status_code >= 500:
            response.headers.setdefault(request_ids.HEADER, named)
        return response

    return answer


def _end(**_: Any) -> None:
    request_ids.work_for("")

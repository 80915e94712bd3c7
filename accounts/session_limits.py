"""Sessions end: so long after they began, whatever is done in them, and when nobody used them for a while."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY, logout
from django.http import HttpRequest, HttpResponse

from accounts.sessions import NOTED

BEGAN = "began"
NO_SESSION = ("/health/", "/metrics")
"""What is asked by machines, also while the database that holds the sessions is away."""


def note_beginning(request: HttpRequest | None = None, **_: Any) -> None:
    """Keep when somebody signed in; what the session noted of an earlier one counts no more."""
    if request is not None:
        request.session[BEGAN] = time.time()
        request.session.pop(NOTED, None)


def is_over(request: HttpRequest, now: float) -> bool:
    """Whether the session of a request has lasted, or lain idle, longer than the settings let it."""
    began = request.session.get(BEGAN, 0)
    # use is noted every ten minutes, so that reading writes nothing
    used = max(began, request.session.get(NOTED, 0))
    idle = settings.LAKEWARDEN_SESSION_IDLE * 60
    return now - began > settings.SESSION_COOKIE_AGE or bool(idle and now - used > idle)


class SessionLimits:
    """Signs out whose session is over, before anything else looks at who comes."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        looks = settings.SESSION_COOKIE_NAME in request.COOKIES and not request.path.startswith(NO_SESSION)
        if looks and SESSION_KEY in request.session and is_over(request, time.time()):
            logout(request)
        return self.get_response(request)

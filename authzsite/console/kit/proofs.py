"""When somebody last proved who they are, kept with their session."""

from __future__ import annotations

import time

from authzsite.console.kit.http import Request

PROVED, CODES = "proved", "show_codes"


def note(request: Request, *, at: float | None = None) -> None:
    """They did so now, or at an earlier moment."""
    now = time.time()
    request.session[PROVED] = now if at is None else min(at, now)


def age(request: Request) -> float:
    """Seconds since then; without end where they never did."""
    proved = request.session.get(PROVED)
    return time.time() - proved if isinstance(proved, int | float) else float("inf")


def show_codes(request: Request) -> None:
    """Let the next look at the factors show the recovery codes, once."""
    request.session[CODES] = True

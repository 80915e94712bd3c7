"""Doing things at a moment of the past: the demo's six months are really done, one after the other."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.utils import timezone


@contextmanager
def at(moment: datetime) -> Iterator[None]:
    """Let this process believe that it is that moment; time goes on from there.

    Moments must follow one another, as the record's do.  Nobody else may be at work in the process.
    """
    real, begun = timezone.now, time.monotonic()

    def then() -> datetime:
        return moment + timedelta(seconds=time.monotonic() - begun)

    timezone.now = then
    try:
        yield
    finally:
        timezone.now = real

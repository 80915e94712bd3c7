"""The tests as if today were another day of the week: `--weekday sunday`.

Moves the clock that our code asks, by whole days, in this process and in those of ours that it starts.
The monotonic clock and servers of others, the database among them, go on as ever.
"""

from __future__ import annotations

import os
import time
from datetime import date, datetime, timedelta
from typing import Any

from django.utils import timezone

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
AHEAD = "LAKEWARDEN_TESTS_DAYS_AHEAD"
_real_time = time.time


def choose(day: str) -> None:
    """Go to the next such day, which may be today."""
    os.environ.setdefault(AHEAD, str((DAYS.index(day) - date.today().weekday()) % 7))
    move()


def move() -> None:
    """Go where the process went that started this one."""
    ahead = timedelta(days=int(os.environ.get(AHEAD, "0")))

    def moved_time() -> float:
        return _real_time() + ahead.total_seconds()

    class AnyDatetime(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, datetime)

    class Moved(datetime, metaclass=AnyDatetime):
        """What Django's `timezone` takes for its own; models know the function `timezone.now` already."""

        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime.now(tz) + ahead

    if ahead:
        time.time, timezone.datetime = moved_time, Moved

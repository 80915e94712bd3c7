"""The tests as if it were another day or hour: `--weekday sunday`, `--at 2027-01-31T23:58`.

Moves the clock that our code asks, in this process and in those of ours that it starts.  The monotonic clock
and servers of others, the database among them, go on as ever.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.utils import timezone

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
AHEAD = "LAKEWARDEN_TESTS_SECONDS_AHEAD"
_real_time = time.time


def moment(text: str) -> str:
    """The text, if it is a moment; a parallel worker takes no other types of options."""
    return datetime.fromisoformat(text).isoformat()


def choose(weekday: str | None, at: str | None) -> None:
    """Go to that moment, or to the next such day, which may be today."""
    ahead = timedelta(0)
    if at is not None:
        ahead = datetime.fromisoformat(at).replace(tzinfo=UTC) - datetime.now(UTC)
    elif weekday is not None:
        ahead = timedelta(days=(DAYS.index(weekday) - date.today().weekday()) % 7)
    os.environ.setdefault(AHEAD, str(ahead.total_seconds()))
    move()


def move() -> None:
    """Go where the process went that started this one."""
    ahead = timedelta(seconds=float(os.environ.get(AHEAD, "0")))

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

"""Moments of the past as revisions: the state at a moment is that after the last change before it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time

from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from policies.models import Change, Counter


@dataclass(frozen=True)
class Past:
    """A state of the site: the revision that made it, and the moment by which windows of facts are judged."""

    revision: int
    moment: datetime


def at_moment(moment: datetime) -> Past:
    """The state at a moment; revision 0, when nothing was there, before the first change."""
    last = Change.objects.filter(at__lte=moment).order_by("-at", "-revision").first()
    return Past(last.revision if last else 0, moment)


def at_revision(revision: int) -> Past | None:
    """The state right after a change; None when there was no such change."""
    change = Change.objects.filter(revision=revision).first()
    return Past(change.revision, change.at) if change else None


def moment_in(text: str, *, whole: bool = False) -> datetime | None:
    """A time as ISO 8601 writes it, in the current time zone when it names none; None when it is no time.

    A day alone is its beginning, or its end when the `whole` day is meant.
    """
    try:
        day = parse_date(text)
        # asked first, because a day alone also reads as the moment at which it begins
        if day is not None:
            time_: datetime | None = datetime.combine(day, time.max if whole else time.min)
        else:
            time_ = parse_datetime(text)
    except ValueError:
        return None
    return timezone.make_aware(time_) if time_ is not None and timezone.is_naive(time_) else time_


def latest() -> Past:
    return Past(Counter.objects.get().revision, timezone.now())

"""Moments of the past as revisions: the state at a moment is that after the last change before it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

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


def latest() -> Past:
    return Past(Counter.objects.get().revision, timezone.now())

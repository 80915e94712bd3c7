"""Dates that people ask for most, beside every field for one, as links or as buttons."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from authzsite.console.kit.display import words
from authzsite.console.kit.inputs.dates import typed_local

DAYS = (7, 30, 90)
MORNING = 8
"""The hour at which people begin to work."""


@dataclass(frozen=True)
class Preset:
    """A date under the name that people give it; `value` is what the field then holds."""

    label: str
    value: str


def quarter_begins(day: date) -> date:
    return date(day.year, 3 * ((day.month - 1) // 3) + 1, 1)


def quarter_ends(day: date) -> date:
    """The last day of the quarter that a day is in."""
    return quarter_begins(quarter_begins(day) + timedelta(days=95)) - timedelta(days=1)


def since() -> Iterable[Preset]:
    """Days from which on something is looked at."""
    today = timezone.localdate()
    yield Preset(_("Today"), today.isoformat())
    for days in DAYS:
        yield Preset(words.count(days, "day"), (today - timedelta(days=days)).isoformat())
    yield Preset(_("This quarter"), quarter_begins(today).isoformat())


def then() -> Iterable[Preset]:
    """Days of the past at whose end something is looked at."""
    today = timezone.localdate()
    for days in DAYS:
        label = ngettext("%(days)s day ago", "%(days)s days ago", days) % {"days": days}
        yield Preset(label, (today - timedelta(days=days)).isoformat())
    yield Preset(_("End of last quarter"), (quarter_begins(today) - timedelta(days=1)).isoformat())


def ahead() -> Iterable[Preset]:
    """Evenings that are still to come, at which something ends."""
    now = timezone.localtime()
    if words.evening(now) > now:
        yield Preset(_("Today"), _evening(now.date()))
    for days in DAYS:
        yield Preset(words.count(days, "day"), _evening(now.date() + timedelta(days=days)))
    yield Preset(_("End of the quarter"), _evening(quarter_ends(now.date())))


def begins() -> Iterable[Preset]:
    """Mornings that are still to come, at which something begins; today's is the next full hour."""
    now = timezone.localtime()
    today, soon = now.date(), now + timedelta(hours=1)
    if soon.date() == today:
        yield Preset(_("Today"), typed_local(soon.replace(hour=max(soon.hour, MORNING), minute=0))[:16])
    month = (today.replace(day=1) + timedelta(days=31)).replace(day=1)
    named = {
        today + timedelta(days=1): _("Tomorrow"),
        today + timedelta(days=7 - today.weekday()): _("Next Monday"),
        month: _("First of next month"),
    }
    for day, label in sorted(named.items()):
        yield Preset(label, f"{day.isoformat()}T{MORNING:02}:00")


def _evening(day: date) -> str:
    """When people go home on a day, as a field for a date and a time holds it."""
    zone = timezone.get_current_timezone()
    return typed_local(words.evening(datetime.combine(day, datetime.min.time(), zone)))[:16]


WAYS = {"since": since, "then": then, "ahead": ahead, "begins": begins}

"""How long: ISO 8601 durations read as people mean them, days by the calendar and hours by the clock."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.utils.translation import gettext

from policies.errors import Invalid
from policies.sentences import Said, joined, say, sentence

_FORM = re.compile(
    r"P(?:([0-9]{1,3})W|(?=.)(?:([0-9]{1,4})D)?(?:T(?=.)(?:([0-9]{1,5})H)?(?:([0-9]{1,6})M)?)?)"
)
LONGEST_DAYS = 3660
TIMES = {
    "day": sentence("lasts.days", "{many} day", "{many} days"),
    "hour": sentence("lasts.hours", "{many} hour", "{many} hours"),
    "minute": sentence("lasts.minutes", "{many} minute", "{many} minutes"),
}


@dataclass(frozen=True)
class Lasting:
    """A length of time: so many days of the calendar, then so many minutes of the clock."""

    days: int = 0
    minutes: int = 0

    @property
    def parts(self) -> tuple[tuple[int, str], ...]:
        """How many of which unit, the longest first."""
        hours, minutes = divmod(self.minutes, 60)
        units = ((self.days, "day"), (hours, "hour"), (minutes, "minute"))
        return tuple((many, unit) for many, unit in units if many)

    @property
    def words(self) -> Said:
        """7 days; 1 day and 12 hours"""
        return joined([say(TIMES[unit], many=many) for many, unit in self.parts])

    def __str__(self) -> str:
        return self.words.english

    def after(self, start: datetime, zone: ZoneInfo) -> datetime:
        """The moment so long after another; a day ends at the same time of day, whatever the clocks did."""
        local = start.astimezone(zone)
        wall = datetime.combine(local.date() + timedelta(days=self.days), local.timetz())
        # a time of day that the clocks leapt over that day becomes the one that they leapt to
        ended = wall.astimezone(UTC) if self.days else start.astimezone(UTC)
        return ended + timedelta(minutes=self.minutes)


def lasting(text: str) -> Lasting:
    """Read `P30D`, `P2W`, `PT8H`, `P1DT12H`.  Raises Invalid."""
    match = _FORM.fullmatch(text)
    weeks, days, hours, minutes = (int(group or 0) for group in match.groups()) if match else (0, 0, 0, 0)
    duration = Lasting(days + 7 * weeks, minutes + 60 * hours)
    if not duration.days and not duration.minutes:
        raise Invalid(
            gettext("`%(text)s` is not a length of time; write P30D for 30 days or PT8H for 8 hours.")
            % {"text": text[:40]}
        )
    if duration.days + duration.minutes / 1440 > LONGEST_DAYS:
        raise Invalid(
            gettext("Access can be requested for ten years at most; leave the length out for no end.")
        )
    return duration


def zone(name: str) -> ZoneInfo:
    """The time zone of that name.  Raises Invalid."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise Invalid(
            gettext("`%(name)s` is not a time zone; write one such as Europe/Berlin.") % {"name": name[:60]}
        ) from None


def ends(start: datetime, lasts: str, until: datetime | None, zone_name: str) -> datetime | None:
    """When access that begins at `start` ends; None for never."""
    if lasts:
        return lasting(lasts).after(start, zone(zone_name))
    return until


def shorter(one: datetime | None, other: datetime | None) -> datetime | None:
    """The earlier of two ends, where None is never."""
    ends = [end for end in (one, other) if end is not None]
    return min(ends, default=None)


__all__ = ["Lasting", "ends", "lasting", "shorter", "zone"]

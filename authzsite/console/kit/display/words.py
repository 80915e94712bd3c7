"""How the console speaks: dates, ends, durations, numbers and the words for kinds and actions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.utils import dateformat, timezone

from authzsite.console.kit.display import formats

NEAR = 330  # days: further away the year is said, and no time


def number(value: int | None) -> str:
    """100214 -> 100,214, in the reader's own way."""
    return "" if value is None else f"{value:,}".replace(",", formats.current().thousands)


def day(when: datetime) -> str:
    """Today; Fri 27 Nov within a year; 9 Apr 2025."""
    local, now = timezone.localtime(when), timezone.localtime()
    if local.date() == now.date():
        return "Today"
    if abs((local.date() - now.date()).days) < NEAR:
        return dateformat.format(local, formats.current().near)
    return dateformat.format(local, formats.current().far)


def moment(when: datetime) -> str:
    """Today, 09:14; Fri 27 Nov, 18:00; 9 Apr 2025."""
    local = timezone.localtime(when)
    if abs((local.date() - timezone.localtime().date()).days) >= NEAR:
        return day(when)
    return f"{day(when)}, {dateformat.time_format(local, formats.current().time)}"


def on(when: datetime) -> str:
    """A moment within a sentence: today, 09:14; on Fri 27 Nov, 18:00."""
    text = when_in_words(moment(when))
    return text if text.startswith("today") else f"on {text}"


def when_in_words(text: str) -> str:
    """A day or a moment within a sentence: today, 09:14; Fri 27 Nov."""
    return f"t{text[1:]}" if text.startswith("Today") else text


def ago(when: datetime) -> str:
    """just now; 40 s ago; 3 min ago; 5 h ago; else the day."""
    seconds = int((timezone.now() - when).total_seconds())
    if seconds < 5:
        return "just now"
    if seconds < 60:
        return f"{seconds} s ago"
    if seconds < 3600:
        return f"{seconds // 60} min ago"
    return f"{seconds // 3600} h ago" if seconds < 86400 else moment(when)


def ends_in(when: datetime) -> str:
    """in 11 days; tomorrow; today."""
    days = (timezone.localtime(when).date() - timezone.localtime().date()).days
    return {0: "today", 1: "tomorrow"}.get(days, f"in {days} days")


def zone() -> str:
    return timezone.get_current_timezone_name()


def evening(when: datetime, hour: int = 18) -> datetime:
    """The same day when people go home."""
    return when.replace(hour=hour, minute=0, second=0, microsecond=0)


def next_friday(hour: int = 18) -> datetime:
    """The coming Friday's evening; on a Friday after noon, that of next week."""
    now = timezone.localtime()
    ahead = (4 - now.weekday()) % 7
    if ahead == 0 and now.hour >= 12:
        ahead = 7
    return evening(now + timedelta(days=ahead), hour)


def count(many: int, one: str, several: str = "") -> str:
    """1 person; 28 people; 0 services -> no services."""
    several = several or f"{one}s"
    return f"{number(many)} {one if many == 1 else several}"


def listed(names: Sequence[str], limit: int = 0) -> str:
    """Ana; Ana and Ben; Ana, Ben and Carl; with a limit: Ana, Ben and 10 more."""
    if limit and len(names) > limit:
        return f"{', '.join(names[:limit])} and {number(len(names) - limit)} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def either(names: Sequence[str]) -> str:
    """Ana; Ana or Ben; Ana, Ben or Carl."""
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else "".join(names)


def spelled(many: int) -> str:
    """One … nine as words, above as digits; headings begin with it."""
    small = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
    return small[many] if many < len(small) else number(many)


def initials(name: str) -> str:
    """Ana Analyst -> AA; olivia -> O."""
    parts = [part for part in name.replace(".", " ").replace("_", " ").split() if part]
    return "".join(part[0] for part in (parts[:1] + parts[1:][-1:])).upper() or "?"


def able_words(people: int, services: int) -> str:
    """28 people, 2 services; Nobody."""
    parts = [count(people, "person", "people")] if people else []
    parts += [count(services, "service")] if services else []
    return ", ".join(parts) or "Nobody"

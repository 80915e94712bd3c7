"""How the console speaks: dates, ends, durations, numbers and lists, in the language of the page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.utils import dateformat, timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext, pgettext_lazy

from authzsite.console.kit.display import formats
from policies import sentences

NEAR = 330  # days: further away the year is said, and no time
_SMALL = (
    *(pgettext_lazy("before what is counted", "No"), gettext_lazy("One"), gettext_lazy("Two")),
    *(gettext_lazy("Three"), gettext_lazy("Four"), gettext_lazy("Five"), gettext_lazy("Six")),
    *(gettext_lazy("Seven"), gettext_lazy("Eight"), gettext_lazy("Nine")),
)


def number(value: int | None) -> str:
    """100214 -> 100,214, in the reader's own way."""
    return "" if value is None else f"{value:,}".replace(",", formats.current().thousands)


def day(when: datetime, *, within: bool = False) -> str:
    """Today (today, `within` a sentence); Fri 27 Nov within a year; 9 Apr 2025."""
    local, now = timezone.localtime(when), timezone.localtime()
    if local.date() == now.date():
        return pgettext("within a sentence", "today") if within else _("Today")
    if abs((local.date() - now.date()).days) < NEAR:
        return dateformat.format(local, formats.current().near)
    return dateformat.format(local, formats.current().far)


def moment(when: datetime, *, within: bool = False) -> str:
    """Today, 09:14; Fri 27 Nov, 18:00; 9 Apr 2025."""
    local = timezone.localtime(when)
    if abs((local.date() - timezone.localtime().date()).days) >= NEAR:
        return day(when, within=within)
    return f"{day(when, within=within)}, {dateformat.time_format(local, formats.current().time)}"


def on(when: datetime) -> str:
    """A moment within a sentence: today, 09:14; on Fri 27 Nov, 18:00."""
    text = moment(when, within=True)
    return text if is_today(when) else pgettext("a day", "on %(day)s") % {"day": text}


def on_day(when: datetime) -> str:
    """A day within a sentence: today; on Fri 27 Nov."""
    text = day(when, within=True)
    return text if is_today(when) else pgettext("a day", "on %(day)s") % {"day": text}


def is_today(when: datetime) -> bool:
    return timezone.localtime(when).date() == timezone.localtime().date()


def ago(when: datetime, *, within: bool = False) -> str:
    """just now; 40 s ago; 3 min ago; 5 h ago; else the day."""
    seconds = int((timezone.now() - when).total_seconds())
    if seconds < 5:
        return _("just now")
    if seconds < 60:
        return _("%(number)s s ago") % {"number": seconds}
    if seconds < 3600:
        return _("%(number)s min ago") % {"number": seconds // 60}
    return (
        _("%(number)s h ago") % {"number": seconds // 3600}
        if seconds < 86400
        else moment(when, within=within)
    )


def ends_in(when: datetime) -> str:
    """in 11 days; tomorrow; today."""
    days = (timezone.localtime(when).date() - timezone.localtime().date()).days
    if days in (0, 1):
        return _("tomorrow") if days else pgettext("within a sentence", "today")
    return ngettext("in %(number)s day", "in %(number)s days", days) % {"number": days}


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
    """1 person; 28 people.  Both forms are looked up, so that callers write them plainly."""
    return f"{number(many)} {ngettext(one, several or f'{one}s', many)}"


def quoted(text: str) -> str:
    """What somebody wrote, in the quotation marks of the reader's language."""
    return _("“%(text)s”") % {"text": text}


def outcome(kind: str, many: int, *, services: bool = False) -> str:
    """Behind a count, what happens to so many people, and `services` among them: person loses rights."""
    if kind == "lose" and services:
        return ngettext("person or service loses rights", "people and services lose rights", many)
    if kind == "gain" and services:
        return ngettext("person or service gains rights", "people and services gain rights", many)
    return {
        "lose": ngettext("person loses rights", "people lose rights", many),
        "gain": ngettext("person gains rights", "people gain rights", many),
        "lacking": _("granted, not yet usable"),
        "same": _("unchanged"),
        "denied": _("still denied"),
    }[kind]


def listed(names: Sequence[str], limit: int = 0) -> str:
    """Ana; Ana and Ben; Ana, Ben and Carl; with a limit: Ana, Ben and 10 more."""
    if limit and len(names) > limit:
        first, more = ", ".join(names[:limit]), number(len(names) - limit)
        return _("%(first)s and %(more)s more") % {"first": first, "more": more}
    return sentences.listed(names)


def spelled(many: int) -> str:
    """One … nine as words, above as digits; headings begin with it."""
    return str(_SMALL[many]) if many < len(_SMALL) else number(many)


def initials(name: str) -> str:
    """Ana Analyst -> AA; olivia -> O."""
    parts = [part for part in name.replace(".", " ").replace("_", " ").split() if part]
    return "".join(part[0] for part in (parts[:1] + parts[1:][-1:])).upper() or "?"


def able_words(people: int, services: int) -> str:
    """28 people, 2 services; Nobody."""
    parts = [count(people, "person", "people")] if people else []
    parts += [count(services, "service")] if services else []
    return ", ".join(parts) or _("Nobody")

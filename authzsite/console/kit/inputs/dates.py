"""From when and until when, as a form says it, in the reader's own zone, whose clock may change."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from django.http import QueryDict
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.kit.display import words

STARTS = ("now", "date")
ENDS = ("friday", "month", "date", "never")
NO_MOMENT = gettext_lazy("Enter a date and a time in the future.")


class Skipped(ValueError):
    """A time that no clock of that zone shows, because it was put forward over it."""


def local_moment(text: str, *, later: bool = False) -> datetime | None:
    """The moment that is typed, in the current zone; None for what is none.  Raises Skipped.

    Of a time that the clock shows twice the earlier is taken, or the `later`.
    """
    try:
        typed = parse_datetime(text)
    except ValueError:
        return None
    if typed is None or not datetime.min.year < typed.year < datetime.max.year:
        return None  # the zones of the first and the last year lead out of the calendar
    if timezone.is_aware(typed):
        return typed
    zone = timezone.get_current_timezone()
    moment = typed.replace(tzinfo=zone, fold=int(later)).astimezone(
        UTC
    )  # two of one zone compare by its clock
    if moment.astimezone(zone).replace(tzinfo=None) != typed:
        raise Skipped(
            _("This time does not exist in %(zone)s because the clocks go forward; enter another.")
            % {"zone": words.zone()}
        )
    return moment


def typed_local(when: datetime | None) -> str:
    """A moment as a form's field for dates and times holds it."""
    return timezone.localtime(when).replace(tzinfo=None).isoformat() if when else ""


@dataclass
class When:
    """The window that a form asks for; `problems` name, by field, why it cannot be meant.

    Fields: `from` (now, date), `begin`, `until` (friday, month, date, never), `date`.
    """

    data: QueryDict
    problems: dict[str, str] = field(default_factory=dict)

    @cached_property
    def starts(self) -> str:
        choice = self.data.get("from", "")
        return choice if choice in STARTS else "now"

    @cached_property
    def until(self) -> str:
        choice = self.data.get("until", "")
        return choice if choice in ENDS else "friday"

    @cached_property
    def begin(self) -> datetime | None:
        """When it begins; None for at once, or for a date that is none."""
        # what is given begins at the later of two equal times and ends at the earlier: never more than meant
        return self._typed("begin", later=True) if self.starts == "date" else None

    @cached_property
    def end(self) -> datetime | None:
        """The moment it ends, None for never or for a date that is no date."""
        if self.until == "friday":
            return words.next_friday()
        if self.until == "month":
            start = timezone.localtime(self.begin) if self.begin else timezone.localtime()
            return words.evening(start + timedelta(days=30)).astimezone(UTC)
        return self._typed("date") if self.until == "date" else None

    def _typed(self, name: str, *, later: bool = False) -> datetime | None:
        try:
            return local_moment(self.data.get(name, ""), later=later)
        except Skipped as problem:
            self.problems[name] = str(problem)
            return None

    @property
    def whole(self) -> bool:
        """Whether both sides can be read, so that what it does can be foretold."""
        return self.has_begin and self.has_end and not self._is_empty

    @property
    def has_begin(self) -> bool:
        return self.starts == "now" or self.begin is not None

    @property
    def has_end(self) -> bool:
        return self.until != "date" or self.end is not None

    @property
    def _is_empty(self) -> bool:
        return self.begin is not None and self.end is not None and self.end <= self.begin

    def check(self) -> dict[str, str]:
        """Why it cannot be saved, by field; empty when it can."""
        now = timezone.now()
        if not self.has_begin or (self.begin is not None and self.begin <= now):
            self.problems.setdefault("begin", f"{NO_MOMENT} {_('What begins at once begins now.')}")
        if not self.has_end or (self.end is not None and self.end <= now):
            self.problems.setdefault("date", str(NO_MOMENT))
        elif self._is_empty:
            self.problems["until"] = _("The end is before the beginning.")
        return self.problems

    # In words

    def end_words(self) -> str:
        """until Fri 4 Dec; for 30 days; without end"""
        if self.until == "friday":  # which one it is differs by the hour, so it is said by its date
            return _("until %(end)s") % {"end": words.day(words.next_friday())}
        labels = {"month": _("for 30 days"), "never": _("without end")}
        if self.until in labels:
            return labels[self.until]
        return _("until %(end)s") % {"end": words.moment(self.end, within=True)} if self.end else ""

    def words(self) -> str:
        """from Mon 30 Nov, 09:00 until Fri 4 Dec"""
        begins = _("from %(begin)s") % {"begin": words.moment(self.begin, within=True)} if self.begin else ""
        return f"{begins} {self.end_words()}".strip()

    def said(self) -> str:
        """What the toast says of it, the end as a date: from Mon 30 Nov, 09:00 until Fri 4 Dec, 18:00

        Empty for what begins now and has no end.
        """
        begin, end = (words.moment(moment) if moment else "" for moment in (self.begin, self.end))
        if begin and end:
            return _("from %(begin)s until %(end)s") % {"begin": begin, "end": end}
        if end:
            return _("until %(end)s") % {"end": end}
        return _("from %(begin)s") % {"begin": begin} if begin else ""

    def fields(self) -> dict[str, Any]:
        """What `console/kit/dates.html` draws."""
        return {
            "starts": (("now", _("Now")), ("date", _("A date"))),
            "start": self.starts,
            "begin": self.data.get("begin", "")[:40],
            "ends": list(
                zip(
                    ENDS,
                    (words.day(words.next_friday()), _("30 days"), _("A date"), _("No end")),
                    strict=True,
                )
            ),
            "end_texts": [
                (
                    "friday",
                    _("Ends by itself %(next_friday)s, %(zone)s.")
                    % {"next_friday": words.on(words.next_friday()), "zone": words.zone()},
                ),
                (
                    "month",
                    _("Ends by itself 30 days after it begins, at 18:00, %(zone)s.") % {"zone": words.zone()},
                ),
                ("never", _("Stays until someone revokes it.")),
            ],
            "until": self.until,
            "date": self.data.get("date", "")[:40],
            "zone": words.zone(),
            "begins_words": words.moment(self.begin) if self.begin else "",
        }

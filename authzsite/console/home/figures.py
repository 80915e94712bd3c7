"""The four numbers of Home: who reaches the viewer's objects, changes there, what ends, what backends say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.urls import reverse
from django.utils import dateformat, timezone
from django.utils.translation import gettext as _

from authzsite.console.history import timeline
from authzsite.console.home.summary import HomeSummary
from authzsite.console.kit.display import words
from authzsite.console.kit.display.charts import spark
from authzsite.console.kit.display.lists import Spark, Tile
from authzsite.console.kit.display.parts import State
from authzsite.console.sync.backend_state import LEFT
from policies.decisions.lookups import counts

DAYS = 7


@dataclass(frozen=True)
class Numbers:
    desk: HomeSummary

    def tiles(self) -> list[Tile]:
        """None for who owns nothing."""
        return [*self._owned(), *self._backends()] if self.desk.owned else []

    def _owned(self) -> Iterable[Tile]:
        now, before = counts.people(self.desk.owned, at=(self.desk.now, self.desk.now - timedelta(days=DAYS)))
        yield Tile(_("People with rights on your objects"), words.number(now), _more(now, before))
        changes = self._changes()
        yield Tile(
            _("Changes in %(days)s days") % {"days": DAYS},
            words.number(sum(changes)),
            url=reverse("console:history"),
            spark=_line(changes, self.desk.now),
        )
        ends = self.desk.endings
        first = _("next %(until)s") % {"until": words.on(ends[0].until)} if ends else _("none")
        yield Tile(_("Ends within 14 days"), words.number(len(ends)), first)

    def _changes(self) -> list[int]:
        """How many there were on each of the days, the oldest first."""
        today = timezone.localtime(self.desk.now).replace(hour=0, minute=0, second=0, microsecond=0)
        days = [today - timedelta(days=back) for back in range(DAYS - 1, -1, -1)]
        counts_by_day = counts.changes_by_day(self.desk.owned, timeline.ABOUT_ACCESS, since=days[0])
        return [counts_by_day.get(day.date(), 0) for day in days]

    def _backends(self) -> Iterable[Tile]:
        lines = self.desk.backends
        if not lines:
            return
        behind = [line for line in lines if line.state.kind != "ok" and line.code != LEFT]
        good = _("%(number)s of %(lines)s") % {
            "number": words.number(len(lines) - len(behind)),
            "lines": words.number(len(lines)),
        }
        many = words.count(len(behind), "backend")
        state = (
            State("behind", _("%(many)s to check") % {"many": many}) if behind else State("ok", _("In sync"))
        )
        yield Tile(_("Backends in sync"), good, url=reverse("console:sync"), state=state)


def _more(now: int, before: int) -> str:
    if now == before:
        return _("unchanged in 7 days")
    text = _("+%(many)s in 7 days") if now > before else _("−%(many)s in 7 days")
    return text % {"many": words.number(abs(now - before))}


def _line(numbers: Sequence[int], now: datetime) -> Spark:
    """A line through the numbers, one a day, and the same in words."""
    first = dateformat.format(timezone.localtime(now) - timedelta(days=len(numbers) - 1), "l")
    values = ", ".join(map(words.number, numbers))
    return spark(numbers, _("Changes a day, %(first)s to today: %(told)s") % {"first": first, "told": values})

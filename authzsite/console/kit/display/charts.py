"""Plots that the server draws: bars beside the numbers of a table, and a line that says how a number grew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from django.utils.translation import gettext

from authzsite.console.kit.display import words
from authzsite.console.kit.display.lists import Spark

WIDE, HIGH = 640, 96
"""The size of a line, in its own units; it is stretched to the room there is."""


@dataclass(frozen=True)
class Bar:
    """A length in hundredths of the longest one; the number stands beside it."""

    template: ClassVar[str] = "console/insights/bar.html"
    length: float


def bars(numbers: Sequence[int]) -> list[Bar]:
    """What is not nothing can still be seen."""
    most = max(numbers, default=0) or 1
    return [Bar(max(round(100 * number / most, 1), 1.0) if number else 0.0) for number in numbers]


@dataclass(frozen=True)
class GrowthChart:
    """How a number went from run to run: in steps, for it was counted at moments; `text` says the same."""

    template: ClassVar[str] = "console/insights/row.html"
    title: str
    line: str
    area: str
    text: str
    first: str
    last: str
    least: str
    most: str
    rows: tuple[tuple[str, str], ...] = ()
    """Each moment with its number, for the table behind."""


def line(title: str, points: Sequence[tuple[datetime, int]]) -> GrowthChart | None:
    """A line through at least two points in time, oldest first, over a scale that begins at nothing."""
    if len(points) < 2:
        return None
    start, end = points[0][0], points[-1][0]
    whole = max((end - start).total_seconds(), 1.0)
    most = max(max(number for _, number in points), 1)
    places = [
        (round(WIDE * (at - start).total_seconds() / whole, 1), round(HIGH - HIGH * number / most, 1))
        for at, number in points
    ]
    path = f"M{places[0][0]:g} {places[0][1]:g}" + "".join(f"H{x:g}V{y:g}" for x, y in places[1:])
    (_, before), (_, now) = points[0], points[-1]
    return GrowthChart(
        title,
        path,
        f"{path}V{HIGH}H0z",
        gettext("%(title)s: %(before)s (%(start)s), then %(now)s (%(end)s); %(before2)s.")
        % {
            "title": title,
            "before": words.number(before),
            "start": words.moment(start),
            "now": words.number(now),
            "end": words.moment(end),
            "before2": _turn(before, now),
        },
        words.moment(start),
        words.moment(end),
        "0",
        words.number(most),
        tuple((words.moment(at), words.number(number)) for at, number in points),
    )


def _turn(before: int, now: int) -> str:
    if now == before:
        return gettext("as many as before")
    text = gettext("%(many)s more") if now > before else gettext("%(many)s fewer")
    return text % {"many": words.number(abs(now - before))}


@dataclass(frozen=True)
class DayBar:
    """One day: where its bar stands, how high it is, and the same as a row of the table."""

    x: float
    y: float
    height: float
    day: str
    many: str
    bad_y: float = 0.0
    bad_height: float = 0.0
    bad: str = ""
    """How many of them went wrong; empty for none."""


@dataclass(frozen=True)
class DayChart:
    """How many there were on each of some days, with a table behind it; `text` says the same in a line."""

    template: ClassVar[str] = "parts/days.html"
    title: str
    text: str
    bars: tuple[DayBar, ...]
    width: float
    first: str
    last: str
    most: str
    head: str
    """What is counted, over its column of the table."""
    any_bad: bool = False


DAY_WIDE, DAY_HIGH = 10.0, 48.0


def by_day(
    title: str, numbers: Sequence[tuple[datetime, int]], *, head: str = "", wrong: Sequence[int] = ()
) -> DayChart | None:
    """A bar for each day, oldest first; None where nothing happened; `wrong` of each went wrong."""
    whole = sum(many for _, many in numbers)
    if not whole:
        return None
    busiest, most = max(numbers, key=lambda pair: pair[1])
    drawn = []
    for at, (day, many) in enumerate(numbers):
        height = max(round(DAY_HIGH * many / most, 1), 2.0) if many else 0.0
        bad = wrong[at] if wrong else 0
        low = max(round(DAY_HIGH * bad / most, 1), 2.0) if bad else 0.0
        row = words.day(day), words.number(many), DAY_HIGH - low, low, words.number(bad) if bad else ""
        drawn.append(DayBar(at * DAY_WIDE + 1, DAY_HIGH - height, height, *row))
    text = gettext("%(whole)s in %(numbers)s, most %(busiest)s") % {
        "whole": words.number(whole),
        "numbers": words.count(len(numbers), "day"),
        "busiest": words.on_day(busiest),
    }
    ends = words.day(numbers[0][0]), words.day(numbers[-1][0])
    if sum(wrong):
        text = gettext("%(text)s; %(many)s failed") % {"text": text, "many": words.number(sum(wrong))}
    measures = len(numbers) * DAY_WIDE, *ends, words.number(most)
    return DayChart(title, text, tuple(drawn), *measures, head or gettext("Changes"), any_bad=any(wrong))


SPARK_WIDE, SPARK_HIGH = 112, 20


def spark(numbers: Sequence[int], text: str) -> Spark:
    """A small line through numbers, oldest first; `text` says the same in words."""
    most, step = max(max(numbers), 1), SPARK_WIDE / (len(numbers) - 1)
    points = [
        (round(at * step, 1), round(SPARK_HIGH - SPARK_HIGH * many / most, 1))
        for at, many in enumerate(numbers)
    ]
    line = " ".join(f"{x:g} {y:g}" for x, y in points)
    return Spark(f"M0 {SPARK_HIGH}V{points[0][1]:g}L{line}V{SPARK_HIGH}z", f"M{line}", text)

"""How far a review is, as a picture that is made here and says the same in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy

from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Fact, Facts
from authzsite.console.kit.http import Request
from authzsite.console.kit.page import page
from authzsite.console.reviews.access import ReviewAccess

KINDS = (
    ("keep", gettext_lazy("keep")),
    ("remove", gettext_lazy("remove")),
    ("reduce", gettext_lazy("reduce")),
    ("end", gettext_lazy("end on a date")),
    ("unsure", gettext_lazy("not sure")),
    ("open", pgettext_lazy("rows", "open")),
    ("silent", gettext_lazy("without a decision")),
)


@dataclass(frozen=True)
class Part:
    """One kind of rows: where its bar begins and how long it is, in a thousandth of the whole."""

    code: str
    word: str
    many: str
    at: int
    width: int


@dataclass(frozen=True)
class Bar:
    parts: tuple[Part, ...]
    words: str


def bar(counts: Mapping[str, int]) -> Bar | None:
    """The rows by what is decided about them, as parts of one bar; None when there are none."""
    by_code = {code: counts.get(f"choice_{code}", 0) for code, _ in KINDS}
    by_code["open"] = counts["open"]
    by_code["silent"] = counts["all"] - counts["open"] - counts["decided"]
    by_code["remove"] -= counts["silent_removed"]
    return parts_of(by_code)


def parts_of(by_code: Mapping[str, int]) -> Bar | None:
    whole = sum(by_code.values())
    if not whole:
        return None
    parts, at = [], 0
    for code, word in KINDS:
        many = by_code.get(code, 0)
        width = round(1000 * many / whole)
        if many:
            parts.append(Part(code, str(word), words.number(many), at, max(width, 4)))
        at += width
    summary = ", ".join(f"{item.many} {item.word}" for item in parts)
    return Bar(tuple(parts), summary)


@dataclass(frozen=True)
class PaceChart:
    """Decisions over time: a stepped line from the start to the end, and the even pace beside it."""

    points: str
    now: int
    even: str
    first: str
    last: str
    words: str


def line(
    at: Sequence[tuple[datetime, int]], whole: int, begin: datetime, end: datetime, now: datetime
) -> PaceChart | None:
    """So many decided from each moment on, on a canvas of 1000 by 160."""
    if not whole or end <= begin:
        return None

    def across(moment: datetime) -> int:
        part: float = (moment - begin) / (end - begin)
        return round(1000 * min(1.0, max(0.0, part)))

    steps, many = ["0,160"], 0
    for moment, more in at:
        x = across(moment)
        steps.append(f"{x},{160 - round(160 * many / whole)}")
        many += more
        steps.append(f"{x},{160 - round(160 * many / whole)}")
    today = across(min(now, end))
    steps.append(f"{today},{160 - round(160 * many / whole)}")
    caption = gettext("%(many)s of %(whole)s decided") % {
        "many": words.number(many),
        "whole": words.number(whole),
    }
    return PaceChart(" ".join(steps), today, "0,160 1000,0", words.day(begin), words.day(end), caption)


def being_built(request: Request, visit: ReviewAccess) -> HttpResponse:
    """While the population is written down: how many rows, and that the page can be left."""
    rows = visit.review.progress.get("rows", 0)
    context = {
        "visit": visit,
        "crumbs": visit.crumbs(),
        "heading": visit.review.title,
        "rows": words.count(rows, "row"),
        "error": visit.review.error,
        "facts": Facts(
            (
                Fact(
                    gettext("Access as of"),
                    gettext("Revision %(revision)s") % {"revision": words.number(visit.review.revision)},
                ),
                Fact(gettext("Due"), visit.due_words),
            )
        ),
        "state_url": visit.url("review_state"),
    }
    if request.htmx:
        return render(request, "console/reviews/built.html", context)
    template = "console/reviews/building.html"
    return page(request, template, context, section="reviews", realm=visit.root.name)

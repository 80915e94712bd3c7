"""The reviews: what waits for me, what I started, what is over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.models import Principal
from authzsite.console.home.waiting import SHOWN as ON_HOME
from authzsite.console.home.waiting import Waits, waits
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import words
from authzsite.console.kit.display.lists import Item, Pager
from authzsite.console.kit.display.parts import Action, Empty, Face, Reason, State
from authzsite.console.kit.http import Request, asker_of, number_in
from authzsite.console.kit.inputs.visible_principals import circle_of
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.reviews.charts import Bar, parts_of
from authzsite.downloads import csv_file
from policies.models import Review, review_states
from policies.reviews import worklist
from policies.reviews.totals import summed
from policies.reviews.worklist import Owing
from policies.services.grants import revision_now

SHOWN = 30
MARKS = {
    "building": "behind",
    "open": "",
    "closing": "behind",
    "proving": "behind",
    "closed": "ok",
    "cancelled": "paused",
}


@dataclass(frozen=True)
class CampaignRow:
    """One review in a list."""

    title: str
    url: str
    note: str
    bar: Bar | None
    state: State
    due: str
    action: Action | None = None


@reads
@login_required
def review_list(request: Request) -> HttpResponse:
    """What waits first; then what goes on; then what is over."""
    circle = circle_of(request)
    owing = worklist.owing(circle.asker)
    after = min(number_in(request.GET.get("after", "")) or 0, 10**6)
    review_rows = worklist.reviews_for(circle.asker)
    running = list(review_rows.filter(state__in=("building", "open", "closing", "proving")))
    ended = list(review_rows.filter(state__in=("closed", "cancelled"))[after : after + SHOWN + 1])
    sums = summed([*running, *ended[:SHOWN]])
    mine = {item.review.pk for item in owing}
    start = Action(_("Start a review"), reverse("console:review_new"), "primary")
    reason = None
    if not circle.gives_access:
        text = _("Only people who may grant access to an object can start a review of it; ask its owner.")
        reason = Reason("why-no-start", text)
        start = replace(start, reason=reason.id)
    context: dict[str, Any] = {
        "heading": _("Reviews"),
        "lead": _("Check from time to time: does everyone still need their access?"),
        "actions": [start],
        "reason": reason,
        "waiting": [_owed(item) for item in owing],
        "running": [_line(item, sums, circle.asker) for item in running if item.pk not in mine],
        "ended": [_line(item, sums, circle.asker) for item in ended[:SHOWN]],
        "pager": Pager(
            _("Newest first"),
            "?" if after else "",
            f"?after={after + SHOWN}" if len(ended) > SHOWN else "",
        ),
        "csv": reverse("console:reviews_csv"),
        "empty": Empty(
            _("No review waits for you"),
            _("Anyone who may grant access can start one; the owners of its objects are asked."),
            level=2,
        ),
    }
    return page(request, "console/reviews/reviews.html", context, section="reviews", revision=revision_now())


@reads
@login_required
def as_csv(request: Request) -> HttpResponseBase:
    """All of them, the newest first."""
    asker = asker_of(request)
    waits = {item.review.pk: item.open for item in worklist.owing(asker)}
    head = ["review", "title", "started by", "state", "rows", "open", "wait for you", "due", "ended"]
    rows = worklist.reviews_for(asker).iterator(csv_file.CHUNK)
    return csv_file.answer("reviews", head, _csv_rows(rows, waits))


def _csv_rows(rows: Iterable[Review], waits: Mapping[int, int]) -> Iterator[list[object]]:
    for some in csv_file.chunks(rows):
        sums = summed(some)
        for item in some:
            counts = sums.get(item.pk, {})
            state = (item.pk, item.title, item.starter, review_states.REVIEW.words[item.state])
            many = (sum(counts.values()), counts.get("open", 0), waits.get(item.pk, 0))
            yield [*state, *many, csv_file.moment(item.due), csv_file.moment(item.closed)]


def _owed(owing: Owing) -> CampaignRow:
    review, url = owing.review, reverse("console:review", args=[owing.review.pk])
    done = parts_of({"keep": owing.all - owing.open, "open": owing.open})
    many = words.count(owing.open, "row")
    note = _("%(many)s of %(all)s to decide; started by %(label)s") % {
        "many": many,
        "all": words.number(owing.all),
        "label": review.starter.label,
    }
    due = f"{words.day(review.due)}, {words.ends_in(review.due)}"
    action = Action(
        _("Decide %(many)s") % {"many": many}, url, "mini", more=_("of %(title)s") % {"title": review.title}
    )
    return CampaignRow(review.title, url, note, done, State("behind", _("Waits for you")), due, action)


def _line(review: Review, sums: Mapping[int, Mapping[str, int]], asker: Principal) -> CampaignRow:
    counts = sums.get(review.pk, {})
    rows = words.count(sum(counts.values()), "row")
    started = (
        _("%(rows)s; started by you") if review.starter_id == asker.pk else _("%(rows)s; started by %(by)s")
    )
    ended = review.closed or review.ended
    when = ended or review.due
    day = {"day": words.day(when, within=True)}
    over = review.state in ("closed", "cancelled", "closing", "proving")
    name = "review_result" if over else "review"
    if over and "open" in counts:  # nobody decided them in time
        counts = {**counts, "silent": counts["open"], "open": 0}
    url = reverse(f"console:{name}", args=[review.pk])
    word = _(review_states.REVIEW.words[review.state])
    state = State(MARKS[review.state] or "ok", f"{word[:1].upper()}{word[1:]}")
    return CampaignRow(
        review.title,
        url,
        started % {"rows": rows, "by": review.starter.label},
        parts_of(counts),
        state,
        _("Ended %(day)s") % day if ended else _("Due %(day)s") % day,
    )


# Beside the name in the navigation, and on Home


@reads
@login_required
def count(request: Request) -> HttpResponse:
    """How many rows wait, for the rail; asked after the page has come."""
    rows = sum(item.open for item in worklist.owing(asker_of(request)))
    return render(request, "console/reviews/count.html", {"count": words.number(rows) if rows else ""})


@waits(20, "review")
def waiting(asker: Principal) -> Waits:
    """The reviews in which somebody still owes decisions, the most urgent first."""
    owing = worklist.owing(asker)
    items = tuple(_items(owing[:ON_HOME], asker))
    step = Action(_("Decide reviews"), reverse("console:reviews"), "primary")
    return Waits(items, len(owing), step if items else None)


def _items(owing: Sequence[Owing], asker: Principal) -> Iterable[Item]:
    for item in owing:
        url = reverse("console:review", args=[item.review.pk])
        own, many = item.review.starter_id == asker.pk, words.count(item.open, "row")
        text = (
            _("have %(many)s to decide in the review") % {"many": many}
            if own
            else _("asks you to decide %(many)s in the review") % {"many": many}
        )
        note = _("Due %(due)s, %(due2)s") % {
            "due": words.day(item.review.due),
            "due2": words.ends_in(item.review.due),
        }
        starter = item.review.starter
        face = Face("person", words.initials(starter.label))
        action = Action(_("Decide"), url, "mini", more=f"{item.review.title}")
        yield Item(
            face, _("You") if own else starter.label, text, note, action, object=item.review.title, url=url
        )

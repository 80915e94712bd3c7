"""How a review goes, for who leads it: who owes how much, how fast it is decided."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import Principal
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Fact, Facts, Note, Reason, Who
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.reviews import charts as reviews_charts
from authzsite.console.reviews.access import ReviewAccess, get_review_or_404
from authzsite.console.reviews.charts import Bar, parts_of
from authzsite.console.reviews.worklist import SILENCE
from policies.reviews import worklist
from policies.reviews.campaign_plans import BY
from policies.reviews.pace_checks import Pace, paces
from policies.reviews.totals import by_hour
from policies.services.grants import revision_now

NOT_LEADING = "why-not-lead"
FEW = 10
"""Fewer decisions than this say nothing about somebody's pace."""


@dataclass(frozen=True)
class ReviewerProgress:
    """One reviewer: how far, how fast."""

    who: Who
    bar: Bar | None
    decided: str
    owes: str
    pace: str
    quick: str
    quick_url: str
    """The decisions made quickly, where there are any."""
    kept: str
    stamps: bool
    action: Action | None


@reads
@login_required
def progress_page(request: Request, id: int) -> HttpResponse:
    """Progress as a picture, then person by person."""
    visit = get_review_or_404(request, id)
    if not visit.standing.reads:
        raise Http404
    if visit.review.state == "building":
        return reviews_charts.being_built(request, visit)
    return _show(request, visit)


@reads
@login_required
def state(request: Request, id: int) -> HttpResponse:
    """While it is prepared, for a script: how many rows; then the page itself is asked for again."""
    visit = get_review_or_404(request, id)
    if visit.review.state != "building":
        answer = HttpResponse(status=204)
        answer["HX-Redirect"] = visit.url()
        return answer
    return reviews_charts.being_built(request, visit)


def _show(request: Request, visit: ReviewAccess) -> HttpResponse:
    review, counts = visit.review, worklist.counts(visit.review)
    reviewers = list(_lines(visit))
    now, begin = timezone.now(), review.opened or review.started
    without_reviewer = review.counts.get("nobody", 0)
    context: dict[str, Any] = {
        "visit": visit,
        "crumbs": visit.crumbs(),
        "heading": review.title,
        "kind": _("Review"),
        "lead": review.purpose or _("Started by %(label)s.") % {"label": review.starter.label},
        "actions": _actions(visit, counts),
        "reason": None if visit.standing.leads else _reason(visit),
        "tabs": visit.tabs("review_lead"),
        "facts": Facts(tuple(_facts(visit, counts))),
        "note": _note(visit, counts, reviewers),
        "picture": reviews_charts.bar(counts),
        "line": reviews_charts.line(
            by_hour(review), counts["all"], begin, min(review.due, review.ended or review.due), now
        ),
        "lines": reviewers,
        "nobody": words.count(without_reviewer, "row") if without_reviewer else "",
        "stages": list(_stages(visit)),
        "many": words.count(len(reviewers), "reviewer"),
        "pace_words": words.count(review.pace, "second"),
        "again": words.count(counts["again"], "row") if counts["again"] else "",
    }
    realm, revision = visit.root.name, revision_now()
    template = "console/reviews/progress.html"
    return page(request, template, context, section="reviews", realm=realm, revision=revision)


def _actions(visit: ReviewAccess, counts: Mapping[str, int]) -> list[Action]:
    if visit.review.state not in ("open", "building"):
        return []
    why = "" if visit.standing.leads else NOT_LEADING
    actions = [
        Action(_("Cancel the review"), visit.url("review_deed", "cancel"), "danger plain", reason=why),
        Action(_("Give more time"), visit.url("review_deed", "extend"), reason=why),
    ]
    if visit.is_open:
        owes = counts["open"]
        if owes:
            actions.append(Action(_("Remind reviewers"), visit.url("review_deed", "remind"), reason=why))
        look = "" if owes else "primary"
        actions.append(Action(_("End it now"), visit.url("review_deed", "end"), look, reason=why))
    return actions


def _reason(visit: ReviewAccess) -> Reason:
    text = _("%(label)s started this review; only people who may grant there can lead it.") % {
        "label": visit.review.starter.label
    }
    return Reason(NOT_LEADING, text)


def _facts(visit: ReviewAccess, counts: Mapping[str, int]) -> Iterable[Fact]:
    review = visit.review
    yield Fact(
        _("Decided"),
        _("%(counts)s of %(counts2)s")
        % {"counts": words.number(counts["decided"]), "counts2": words.number(counts["all"])},
    )
    yield Fact(_("State"), visit.state_words.capitalize())
    yield visit.due_fact
    yield Fact(_("Without a decision"), str(SILENCE[review.silence]))
    yield Fact(
        _("Access as of"),
        _("Revision %(revision)s") % {"revision": words.number(review.revision)},
        note=words.day(review.started),
    )
    if review.every:
        yield Fact(_("Repeat"), _("every %(every)s") % {"every": words.count(review.every, "month")})


def _note(visit: ReviewAccess, counts: Mapping[str, int], reviewers: list[ReviewerProgress]) -> Note | None:
    """The one thing to know first: nobody can be asked, or somebody decides too fast to have looked."""
    nobody = visit.review.counts.get("nobody", 0)
    if (
        nobody
        and counts["open"]
        and visit.is_open
        and worklist.rows_of(visit.review).filter(desk__isnull=True).exists()
    ):
        return Note(
            "warn",
            _("Nobody can be asked about %(nobody)s.") % {"nobody": words.count(nobody, "row")},
            _("Reassign them, or they are handled as rows without a decision."),
            visit.url("review_pass"),
            _("Reassign them"),
        )
    fast = [item.who.name for item in reviewers if item.stamps]
    if fast:
        text = _("A random sample of their decisions goes to a second reviewer.")
        return Note(
            "warn",
            _("%(fast)s decided too fast to have read the rows.") % {"fast": words.listed(fast, 3)},
            text,
        )
    return None


def _stages(visit: ReviewAccess) -> Iterable[dict[str, Any]]:
    """Each round with its end: of a review that was ended before its time, when it really ended."""
    review, ended = visit.review, visit.review.ended if visit.is_over else None
    for number, stage in enumerate(review.stages):
        until = datetime.fromisoformat(stage["until"])
        yield {
            "who": _(BY.get(stage["by"], stage["by"])),
            "until": words.moment(min(until, ended) if ended else until, within=True),
            "now": number == review.stage and visit.is_open,
            "over": number < review.stage or visit.is_over,
            "skipped": visit.is_over and number > review.stage,
        }


def _lines(visit: ReviewAccess) -> Iterable[ReviewerProgress]:
    by_reviewer = {item.reviewer.pk: item for item in paces(visit.review)}
    progress = worklist.progress(visit.review)
    for item in sorted(progress, key=lambda each: (-each.open, each.reviewer.label.casefold())):
        yield _line(visit, item, by_reviewer.pop(item.reviewer.pk, None))
    for pace in by_reviewer.values():  # those who decided in an earlier round, or passed everything on
        yield _line(visit, worklist.Progress(pace.reviewer, pace.decided, open=0, silent=0), pace)


def _line(visit: ReviewAccess, progress: worklist.Progress, pace: Pace | None) -> ReviewerProgress:
    person, owes = progress.reviewer, progress.open
    done = progress.all - owes - progress.silent
    return ReviewerProgress(
        terms.who(person, person.name),
        parts_of({"keep": done, "open": progress.all - done}),
        _("%(done)s of %(whole)s") % {"done": words.number(done), "whole": words.number(progress.all)},
        words.number(owes) if owes else _("Nothing"),
        _seconds(pace),
        words.number(pace.quick) if pace and pace.quick else _("None") if pace else "",
        f"{visit.url('review_result')}?show=quick" if pace and pace.quick else "",
        _kept(pace),
        _stamps(visit, pace),
        _passing(visit, person) if owes and visit.is_open and visit.standing.leads else None,
    )


def _passing(visit: ReviewAccess, person: Principal) -> Action:
    url = f"{visit.url('review_pass')}?{urlencode({'of': str(person)})}"
    return Action(_("Reassign"), url, "mini", more=_("open rows of %(label)s") % {"label": person.label})


def _seconds(pace: Pace | None) -> str:
    if pace is None or pace.seconds is None:
        return ""
    return _("%(seconds)s s a row") % {"seconds": words.number(round(pace.seconds))}


def _kept(pace: Pace | None) -> str:
    if pace is None:
        return ""
    far = pace.kept_far
    text = _("%(kept)s of %(decided)s, %(far)s of them high risk") if far else _("%(kept)s of %(decided)s")
    return text % {
        "kept": words.number(pace.kept),
        "decided": words.number(pace.decided),
        "far": words.number(far),
    }


def _stamps(visit: ReviewAccess, pace: Pace | None) -> bool:
    """Whether most of what somebody decided was decided quickly."""
    return pace is not None and pace.decided >= FEW and pace.quick * 2 > pace.decided

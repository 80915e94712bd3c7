"""What who leads a review does to it: more time, an early end, a reminder, a series."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect

from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Action, Diff, DiffLine, Note, Verdict
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.reviews.access import ReviewAccess, get_review_or_404
from policies.authority import Actor
from policies.errors import PolicyError
from policies.record import access_log
from policies.reviews import management, reminders, worklist

LONGEST_REASON = 2000


@dataclass(frozen=True)
class ReviewAction:
    """One thing that can be done to a review: its question, its button, what is said when it is done."""

    heading: str
    button: str
    done: str
    states: tuple[str, ...]
    danger: bool = False
    field: tuple[str, str, str] = ("", "", "")


DEEDS: Mapping[str, ReviewAction] = {
    "extend": ReviewAction(
        "Give {title} more time?",
        "Give more time",
        "{title} has more time",
        ("open", "building"),
        field=("days", "Days more", "7"),
    ),
    "end": ReviewAction(
        "End {title} now?", "End it now", "{title} is over; it is carried out", ("open",), danger=True
    ),
    "cancel": ReviewAction(
        "Call {title} off?",
        "Call it off",
        "{title} is cancelled; nothing is removed",
        ("open", "building"),
        danger=True,
    ),
    "remind": ReviewAction("Remind reviewers with open rows?", "Remind them", "Reminded", ("open",)),
    "repeat": ReviewAction(
        "How often should {title} repeat?",
        "Set it",
        "The series is changed",
        ("open", "closing", "proving", "closed"),
        field=("every", "Repeat after how many months; 0 to stop", "3"),
    ),
}


@reads_and_writes
@login_required
def review_action(request: Request, id: int, deed: str) -> HttpResponse:
    """What it means; then it is done."""
    visit, known = get_review_or_404(request, id), DEEDS.get(deed)
    if known is None or not visit.standing.reads:
        raise Http404
    if not visit.standing.leads:
        return _refused(request, visit)
    if visit.review.state not in known.states:
        say(request, f"This review is {visit.state_words}")
        return redirect(visit.url("review_lead"))
    if request.method == "POST":
        return _do(request, visit, deed, known)
    return _show(request, visit, deed, known, [])


def _do(request: Request, visit: ReviewAccess, deed: str, known: ReviewAction) -> HttpResponse:
    nonce = request.POST.get("nonce", "")[:40]
    actor = Actor(visit.asker, "console", request_id=nonce if nonce.isalnum() else "")
    reason = request.POST.get("reason", "").strip()[:LONGEST_REASON].replace("\0", "")
    try:
        told = _ACTS[deed](visit, actor, reason, _number(request, known))
    except PolicyError as problem:
        return _show(request, visit, deed, known, [Note("bad", "Not done.", str(problem))])
    say(request, told or known.done.format(title=visit.review.title))
    return redirect(visit.url("review_result" if deed in ("end", "cancel") else "review_lead"))


def _number(request: Request, known: ReviewAction) -> int:
    text = request.POST.get(known.field[0], "") if known.field[0] else ""
    return int(text) if text.isdecimal() and len(text) < 5 else -1


def _extend(visit: ReviewAccess, by: Actor, reason: str, number: int) -> str:
    review = management.extend(visit.review, number, by=by, reason=reason)
    return f"{review.title} goes on until {words.day(review.due)}"


def _end(visit: ReviewAccess, by: Actor, reason: str, number: int) -> str:
    management.end(visit.review, by=by, reason=reason)
    return ""


def _cancel(visit: ReviewAccess, by: Actor, reason: str, number: int) -> str:
    management.cancel(visit.review, by=by, reason=reason)
    return ""


def _remind(visit: ReviewAccess, by: Actor, reason: str, number: int) -> str:
    many = reminders.remind(visit.review, by=by)
    return (
        f"{words.count(many, 'reviewer')} reminded"
        if many
        else "Every reviewer with open rows was reminded today"
    )


def _repeat(visit: ReviewAccess, by: Actor, reason: str, number: int) -> str:
    management.repeat(visit.review, number or None, by=by, reason=reason)
    return ""


_ACTS: Mapping[str, Callable[[ReviewAccess, Actor, str, int], str]] = {
    "extend": _extend,
    "end": _end,
    "cancel": _cancel,
    "remind": _remind,
    "repeat": _repeat,
}


def _refused(request: Request, visit: ReviewAccess) -> HttpResponse:
    access_log.refused(visit.asker, "review", visit.root, via="console")
    text = f"{visit.review.starter.label} started it; only people who may grant on all of it can lead it."
    context = {
        "verdict": Verdict("no", f"You do not lead {visit.review.title}", text, level=1),
        "actions": (Action("Back to the review", visit.url("review_lead")),),
    }
    return page(request, "errors/refused.html", context, section="reviews", status=403)


def _show(
    request: Request, visit: ReviewAccess, deed: str, known: ReviewAction, notes: list[Note]
) -> HttpResponse:
    title = visit.review.title
    name, label, usual = known.field
    context: dict[str, Any] = {
        "crumbs": visit.crumbs(inner=True),
        "heading": known.heading.format(title=title),
        "notes": notes,
        "diff": Diff(tuple(_lines(visit, deed))),
        "field": {"name": name, "label": label, "value": request.POST.get(name, usual)} if name else None,
        "reason": request.POST.get("reason", "")[:LONGEST_REASON],
        "button": known.button,
        "danger": known.danger,
        "nonce": secrets.token_hex(12),
        "here": request.path,
        "back": visit.url("review_lead"),
    }
    realm, revision = visit.root.name, visit.review.revision
    template, status = "console/reviews/action.html", 409 if notes else 200
    return page(request, template, context, section="reviews", realm=realm, revision=revision, status=status)


def _lines(visit: ReviewAccess, deed: str) -> list[DiffLine]:
    review, counts = visit.review, worklist.counts(visit.review)
    taking = counts["choice_remove"] + counts["choice_reduce"] + counts["choice_end"]
    owed = counts["open"]
    if deed == "end":
        lines = [DiffLine("lose", words.count(taking, "row"), "to be removed, reduced or given an end")]
        if owed:
            silent = {"keep": ("same", "left as they are"), "remove": ("lose", "to be removed too")}
            kind, text = silent.get(review.silence, ("same", "left for you to decide"))
            lines.append(DiffLine(kind, words.count(owed, "row"), text, "Nobody decided them."))
        lines.append(DiffLine("same", words.count(counts["choice_keep"], "row"), "kept"))
        return lines
    if deed == "cancel":
        return [DiffLine("same", "Nobody", "loses anything", "Decisions stay on the record.")]
    if deed == "remind":
        some = [item.reviewer.label for item in worklist.progress(review) if item.open]
        text = f"{'is' if len(some) == 1 else 'are'} told once today, by inbox and mail"
        return [DiffLine("change", words.listed(some, 8) or "Nobody", text)]
    if deed == "extend":
        return [DiffLine("change", "The end", "moves; later rounds move with it", f"Now {visit.due_words}.")]
    return [DiffLine("change", "The series", "goes on with the same plan", "Each is a review of its own.")]

"""The work-list: rows to decide, in three views; what is ready waits in a bar until it is submitted."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext, gettext_lazy

from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Action, Empty, Fact, Facts, Note
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.reviews import charts as reviews_charts
from authzsite.console.reviews.access import get_review_or_404
from authzsite.console.reviews.draft_decisions import Ready
from authzsite.console.reviews.listing import VIEWS, ReviewerPage, ready_words
from policies.authority import Actor
from policies.errors import Invalid, PolicyError
from policies.models import Review, ReviewRow
from policies.reviews import worklist
from policies.reviews.decisions import Verdict, decide, needs_reason
from policies.services.grants import revision_now

Choice = ReviewRow.Choice
LOOKS_LIKE_A_QUERY = "?"


@reads_and_writes
@login_required
def worklist_page(request: Request, id: int) -> HttpResponse:
    """The rows one is asked about; ready decisions are kept, or submitted."""
    visit = get_review_or_404(request, id)
    if visit.review.state == "building":
        return reviews_charts.being_built(request, visit)
    if not visit.standing.asked:
        return redirect(visit.url("review_lead" if visit.standing.reads else "review_result"))
    work = ReviewerPage(request, visit, request.GET)
    if request.method == "POST" and visit.is_open:
        return answer(request, work)
    return show(request, work)


def answer(request: Request, work: ReviewerPage) -> HttpResponse:
    """Keep what is chosen; submit it when that is what was asked for."""
    chosen = work.tray.read(request.POST)
    if request.POST.get("step") == "submit":
        return _submit(request, work, chosen)
    work.tray.keep(chosen.values())
    go = request.POST.get("go", "")
    if not go.startswith(LOOKS_LIKE_A_QUERY):
        many = words.count(len(chosen), "decision")
        say(
            request,
            gettext("%(many)s ready; nothing is submitted") % {"many": many}
            if chosen
            else gettext("Nothing is ready"),
        )
        go = work.url()
    return redirect(f"{request.path}{go}")


def _submit(request: Request, work: ReviewerPage, chosen: dict[int, Ready]) -> HttpResponse:
    review = work.visit.review
    review_rows = worklist.rows_of(review, work.visit.asker).filter(pk__in=chosen)
    rows = {row.pk: row for row in review_rows.select_related("holder", "group", "decided_by")}
    reason = request.POST.get("reason", "").strip()[:2000].replace("\0", "")
    news = [decision for pk, decision in chosen.items() if pk in rows and _is_news(rows[pk], decision)]
    for item in news:
        problem = _lacks(review, rows[item.row], item, reason)
        if problem:
            work.problems[item.row] = problem
    work.problems |= {pk: problem for pk, problem in work.tray.problems.items() if pk in rows}
    if not news or work.problems:
        return _keep_and_show(request, work, chosen, [_nothing(work, rows)])
    return _decide(request, work, chosen, [(rows[item.row], item.verdict(reason)) for item in news])


def _is_news(row: ReviewRow, ready: Ready) -> bool:
    same = (row.choice, tuple(row.takes), row.until, row.reason)
    return (ready.choice, ready.takes, ready.until, ready.reason) != same or row.state == "again"


def _lacks(review: Review, row: ReviewRow, ready: Ready, reason: str) -> str:
    """What a decision still needs before it can go."""
    if ready.choice == Choice.END and ready.until is None:
        return gettext("Add an end date.")
    if ready.choice == Choice.REDUCE and not set(ready.takes) < set(row.privileges):
        return gettext("Choose the rights to remove, and keep at least one.")
    if ready.choice == Choice.REDUCE and not ready.takes:
        return gettext("Choose the rights to remove.")
    if needs_reason(review, row, ready.choice) and not (ready.reason or reason).strip(" .-"):
        return gettext("Add a reason.")
    return ""


def _nothing(work: ReviewerPage, rows: Mapping[int, ReviewRow]) -> Note:
    if not work.problems:
        return Note("", gettext("Nothing is ready to submit."), gettext("Choose a decision for a row."))
    lines = [f"{_named(rows[pk])}: {problem}" for pk, problem in list(work.problems.items())[:5]]
    return Note("bad", gettext("Nothing is submitted yet."), " ".join(lines))


def _named(row: ReviewRow) -> str:
    """Ana Analyst, orders: what its line is known by."""
    who = row.holder.label if row.holder else row.outside.get("holder") or row.role_name or gettext("Nobody")
    return f"{who}, {row.what}"


def _keep_and_show(
    request: Request, work: ReviewerPage, chosen: dict[int, Ready], notes: list[Note], status: int = 422
) -> HttpResponse:
    work.tray.keep(chosen.values())
    work.chosen = chosen
    work.notes += notes
    return show(request, work, status)


def _decide(
    request: Request,
    work: ReviewerPage,
    chosen: dict[int, Ready],
    wanted: Sequence[tuple[ReviewRow, Verdict]],
) -> HttpResponse:
    """Those that reach far by themselves, the others together, no more at once than the review lets."""
    review = work.visit.review
    alone = [decision for row, decision in wanted if row.far and decision.choice == Choice.KEEP]
    together = [decision for row, decision in wanted if decision not in alone][: review.bulk]
    nonce = request.POST.get("nonce", "")[:40]
    actor = Actor(work.visit.asker, "console", request_id=nonce if nonce.isalnum() else "")
    steps = [[item] for item in alone] + ([together] if together else [])
    spent, many = work.tray.seconds(), sum(map(len, steps))
    done: set[int] = set()
    refused: list[tuple[int, str]] = []
    for step in steps:
        seconds = spent / many * len(step) if spent is not None else None
        try:
            outcome = decide(review, step, by=actor, seconds=seconds)
        except PolicyError as problem:
            refused += [(item.row, str(problem)) for item in step]
            continue
        done |= set(outcome.decided)
        refused += outcome.refused
    work.tray.stepped()
    left = {pk: decision for pk, decision in chosen.items() if pk not in done and pk not in dict(refused)}
    work.tray.keep(left.values())
    if refused:
        return _overtaken(request, work, left, refused, len(done))
    return _done(request, work, len(done), len(left))


def _overtaken(
    request: Request,
    work: ReviewerPage,
    left: dict[int, Ready],
    refused: Sequence[tuple[int, str]],
    done: int,
) -> HttpResponse:
    """What another reviewer decided meanwhile stands, and a message says so."""
    reasons = list(dict.fromkeys(text for _, text in refused))
    strong = (
        gettext("%(refused)s not accepted; %(done)s accepted.")
        if done
        else gettext("%(refused)s not accepted.")
    )
    strong %= {"refused": words.count(len(refused), "decision"), "done": words.number(done)}
    text = gettext("%(said)s This decision is saved; choose again to change it.") % {
        "said": " ".join(reasons[:5])
    }
    work.chosen = left
    work.notes.append(Note("bad", strong, text))
    return show(request, work, 409)


def _done(request: Request, work: ReviewerPage, done: int, left: int) -> HttpResponse:
    message = gettext("%(done)s submitted") % {"done": words.count(done, "decision")}
    if left:
        more = gettext("%(left)s still ready: at most %(bulk)s go in one step") % {
            "left": words.number(left),
            "bulk": work.visit.review.bulk,
        }
        message = f"{message}; {more}"
    say(request, message)
    return redirect(f"{request.path}{work.url()}")


# The page


def show(request: Request, work: ReviewerPage, status: int = 200) -> HttpResponse:
    visit, review = work.visit, work.visit.review
    try:
        groups = work.groups()
    except Invalid:
        return redirect(visit.url())
    if visit.is_open:
        work.tray.looks()
    ready = list(work.ready.values())
    context: dict[str, Any] = {
        "visit": visit,
        "crumbs": visit.crumbs(),
        "heading": review.title,
        "kind": gettext("Review"),
        "lead": _lead(work),
        "actions": _actions(work),
        "tabs": visit.tabs("review"),
        "facts": Facts(tuple(_facts(work))),
        "notes": work.notes,
        "counts": work.counts,
        "picture": reviews_charts.bar(work.counts),
        "toggles": work.toggles(),
        "views": [(code, word, work.url(view=code, after=""), code == work.view) for code, word in VIEWS],
        "asked": work.text,
        "kept": [(name, work.data.get(name, "")) for name in ("view", "only")],
        "groups": groups,
        "is_open": visit.is_open,
        "here": f"{request.path}{work.url()}",
        "next": work.next,
        "start": work.url() if work.data.get("after") else "",
        "shown": gettext("%(rows)s of %(counts)s rows")
        % {"rows": words.number(len(work.page.rows)), "counts": words.number(work.counts[work.only])},
        "nonce": secrets.token_hex(12),
        "ready": words.count(len(ready), "decision"),
        "ready_many": len(ready),
        "ready_words": ready_words(ready),
        "wants_reason": review.reasons != review.Reasons.NEVER,
        "empty": _empty(work),
        "row_url": visit.url("review"),
        "always": review.reasons in (review.Reasons.ALWAYS, review.Reasons.FAR),
    }
    return page(
        request,
        "console/reviews/worklist.html",
        context,
        section="reviews",
        realm=visit.root.name,
        revision=revision_now(),
        status=status,
    )


def _lead(work: ReviewerPage) -> str:
    review = work.visit.review
    if work.visit.is_open:
        heading = gettext("Does everyone on this list still need it?")
        until = words.day(review.due)
        return gettext(
            "%(asked)s Nothing changes until the end; you can change a decision until %(until)s."
        ) % {"asked": heading, "until": until}
    return gettext("This review is %(state_words)s. Your decisions are below.") % {
        "state_words": work.visit.state_words
    }


def _actions(work: ReviewerPage) -> list[Action]:
    visit = work.visit
    actions = [Action(gettext("How removal works"), f"{visit.url('review_how')}", "plain")]
    if visit.is_open and work.counts["open"]:
        actions.append(Action(gettext("Reassign rows"), visit.url("review_pass")))
    return actions


SILENCE = {
    "keep": gettext_lazy("Access stays"),
    "remove": gettext_lazy("Access is removed"),
    "escalate": gettext_lazy("The starter decides"),
}


def _facts(work: ReviewerPage) -> Iterable[Fact]:
    review, counts = work.visit.review, work.counts
    yield Fact(
        gettext("Decided"),
        gettext("%(counts)s of %(counts2)s")
        % {"counts": words.number(counts["decided"]), "counts2": words.number(counts["all"])},
    )
    yield work.visit.due_fact
    silence = str(SILENCE[review.silence])
    if review.stage + 1 < len(review.stages):
        silence = (
            gettext("%(silence)s, and the next stage decides") % {"silence": silence}
            if review.silence == "keep"
            else silence
        )
    yield Fact(gettext("Without a decision"), silence)
    yield Fact(
        gettext("Access as of"),
        gettext("Revision %(revision)s") % {"revision": words.number(review.revision)},
        note=words.day(review.started),
    )
    if work.counts["again"]:
        yield Fact(gettext("To check again"), words.count(counts["again"], "row"))


def _empty(work: ReviewerPage) -> Empty:
    if not work.counts["all"]:
        return Empty(
            gettext("You have no row to decide here"), gettext("Your own access is decided by someone else.")
        )
    if work.only == "open" and not work.text and not work.visit.is_open:
        shown = Action(gettext("Show what I decided"), work.url(only="decided"))
        return Empty(gettext("No row is open any more"), "", drawn=False, actions=(shown,))
    if work.only == "open" and not work.text:
        text = gettext("You can still change what you decided, until %(due)s.") % {
            "due": words.day(work.visit.review.due)
        }
        shown = Action(gettext("Show what I decided"), work.url(only="decided"))
        return Empty(gettext("You have decided every row"), text, actions=(shown,))
    return Empty(
        gettext("No row matches"), drawn=False, actions=(Action(gettext("Show all that is open"), "?"),)
    )

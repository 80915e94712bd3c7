"""One row by itself: what it gives, what its removal does, who decided what; and its effect alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext

from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Diff, DiffLine, Fact, Facts, Moment, Note, State, Timeline
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads, reads_and_writes, writes
from authzsite.console.kit.page import page, say
from authzsite.console.reviews import preview as reviews_preview
from authzsite.console.reviews import worklist as worklist_page
from authzsite.console.reviews.access import ReviewAccess, get_review_or_404
from authzsite.console.reviews.draft_decisions import DraftDecisions, Ready
from authzsite.console.reviews.listing import TAKING, ReviewerPage
from authzsite.console.reviews.rows import CHANGED, SAID, RowWording, acts_of, effect, used_words, way
from authzsite.console.sync import applied
from catalog.queries import node
from policies.errors import PolicyError
from policies.models import Review, ReviewDecision, ReviewRow
from policies.reviews import consequences, worklist
from policies.reviews.campaign_plans import RISKS
from policies.reviews.consequences import Consequence
from policies.reviews.decisions import choices, take_back
from policies.reviews.row_members import has_members
from policies.services.grants import revision_now

NAMED = 8


@dataclass(frozen=True)
class ReviewItem:
    """A row that the visitor may read: they are asked about it, or they read the whole review."""

    visit: ReviewAccess
    row: ReviewRow
    mine: bool

    @property
    def may_decide(self) -> bool:
        return self.mine and self.visit.is_open


def item_or_404(request: Request, id: int, number: int) -> ReviewItem:
    """The row of that number; Http404 for viewers whom it does not concern."""
    visit = get_review_or_404(request, id)
    row = worklist.row(visit.review, number)
    if row is None:
        raise Http404
    rows = worklist.rows_of(visit.review, visit.asker) if visit.standing.asked else None
    mine = rows is not None and rows.filter(pk=row.pk).exists()
    if not mine and not visit.standing.reads:
        raise Http404
    return ReviewItem(visit, row, mine)


@reads_and_writes
@login_required
def review_item(request: Request, id: int, number: int) -> HttpResponse:
    """Everything about one row; deciding it here is one step."""
    item = item_or_404(request, id, number)
    work = ReviewerPage(request, item.visit, request.GET, alone=number)
    if request.method == "POST" and item.may_decide:
        answer = worklist_page.answer(request, work)
        if answer.status_code == 302:
            return redirect(request.path if request.POST.get("step") != "submit" else item.visit.url())
        return _show(request, item, work, answer.status_code)
    return _show(request, item, work)


def _show(request: Request, item: ReviewItem, work: ReviewerPage, status: int = 200) -> HttpResponse:
    visit, row = item.visit, item.row
    wording = RowWording(visit.review, [row])
    consequence = consequences.of(visit.review, [row])[row.pk]
    if item.may_decide:
        work.tray.looks()
    context: dict[str, Any] = {
        "visit": visit,
        "crumbs": visit.crumbs(inner=True),
        "heading": f"{wording.who(row).name}: {terms.lower(wording.can(row))}",
        "kind": gettext("Row %(number)s") % {"number": words.number(row.number)},
        "lead": wording.decided(row) or gettext("Nobody has decided it yet."),
        "facts": Facts(tuple(_facts(wording, row))),
        "notes": work.notes,
        "row": row,
        "how": wording.how(row),
        "suggestion": wording.suggests(row),
        "drawn": work.drawn(row) if item.may_decide else None,
        "wants_reason": False,
        "here": request.path,
        "members_url": visit.url("review_row_members", row.number) if has_members(row) else "",
        "row_url": visit.url(),
        "always": visit.review.reasons in (Review.Reasons.ALWAYS, Review.Reasons.FAR),
        "diff": Diff(tuple(reviews_preview.lines(row) or _lines(consequence, row))),
        "others": [_other(visit, wording, other) for other in consequence.rows] if item.may_decide else [],
        "gives": [_gift(wording, gift) for gift in row.gives],
        "timeline": Timeline(tuple(_moment(wording, made) for made in worklist.row_decisions(row))),
        "before": [
            {
                "title": earlier.review.title,
                "said": wording.decided(earlier) or gettext("Nothing was decided."),
            }
            for earlier in worklist.before(row)
        ],
        "may_take_back": item.may_decide and row.state == "decided",
        "asked": row.desk.label if row.desk else "",
    }
    realm, revision = visit.root.name, revision_now()
    template = "console/reviews/row.html"
    return page(request, template, context, section="reviews", realm=realm, revision=revision, status=status)


def _facts(wording: RowWording, row: ReviewRow) -> Iterable[Fact]:
    yield Fact(gettext("Last used"), used_words(row))
    since = wording.moments.get(row.since or 0)
    if since:
        yield Fact(
            gettext("Granted"),
            words.day(since),
            note=gettext("revision %(since)s") % {"since": words.number(row.since)},
        )
    if row.peers_of:
        yield Fact(
            gettext("Comparable people"),
            gettext("%(peers_have)s of %(peers_of)s have it")
            % {"peers_have": words.number(row.peers_have), "peers_of": words.number(row.peers_of)},
        )
    if row.change in CHANGED:
        yield Fact(
            gettext("Since the last review"),
            row.get_rank_display(),
            note=terms.lower(str(CHANGED[row.change])),
        )
    outside = _outside(row)
    if outside is not None:
        yield Fact(gettext("In the backend"), state=outside)
    if row.risks:
        yield Fact(
            gettext("Please check"),
            gettext("It %(listed)s")
            % {"listed": words.listed([gettext(RISKS[risk]) for risk in row.risks if risk in RISKS])},
        )


def _outside(row: ReviewRow) -> State | None:
    """How far what it gives has come in the backend behind its object."""
    place = node(row.securable_id) if row.securable_id and row.effect != "deny" else None
    if place is None or row.holder is None or row.kind == ReviewRow.Kind.FOREIGN:
        return None
    return applied.states([(place, row.holder, row.since or 0, frozenset(row.privileges))])[0]


def _lines(consequence: Consequence, row: ReviewRow) -> Iterable[DiffLine]:
    """What removing it does: losses first; who keeps it by another path; what a denial kept closed."""
    if consequence.gone:
        yield DiffLine("same", gettext("Nobody"), gettext("loses access: it has already ended."))
        return
    for kind, some in (("lose", consequence.loses), ("gain", consequence.gains)):
        for lost in some[:NAMED]:
            lost_acts = {"acts": words.listed(acts_of(row, lost.actions))}
            text = (
                gettext("loses %(acts)s") % lost_acts
                if kind == "lose"
                else gettext("gains %(acts)s") % lost_acts
            )
            yield DiffLine(kind, lost.person.label, text, lost.object)
        if len(some) > NAMED:
            yield DiffLine(kind, words.number(len(some) - NAMED), gettext("more lines like these."))
    for kept in consequence.keeps[:NAMED]:
        acts = words.listed(acts_of(row, kept.actions))
        yield DiffLine(
            "same",
            kept.person.label,
            gettext("keeps %(acts)s, by another path") % {"acts": acts},
            _ways(kept),
        )
    if consequence.unseen:
        yield DiffLine("lack", words.number(consequence.unseen), gettext("more people are not shown here."))
    if row.kind == ReviewRow.Kind.FOREIGN:
        yield DiffLine("lose", gettext("The backend"), gettext("revokes it from its holders there."))
    elif consequence.nothing and not consequence.keeps:
        yield DiffLine("same", gettext("No one"), gettext("loses access."))


def _ways(kept: consequences.KeptAccess) -> str:
    return gettext("%(object)s, through %(way)s") % {
        "object": kept.object,
        "way": words.listed(list(dict.fromkeys(map(way, kept.paths))), 3),
    }


def _other(visit: ReviewAccess, wording: RowWording, row: ReviewRow) -> dict[str, Any]:
    return {
        "number": row.number,
        "url": visit.url("review_row", row.number),
        "who": wording.who(row),
        "can": wording.can(row),
        "how": wording.how(row),
    }


def _gift(wording: RowWording, gift: list[Any]) -> dict[str, str]:
    _, name, codes, effect = gift
    return {
        "name": str(name),
        "rights": wording.rights(codes, ""),
        "denied": "denied" if effect == "deny" else "",
    }


def _moment(wording: RowWording, made: ReviewDecision) -> Moment:
    what = str(SAID[made.choice]) if made.choice else gettext("withdrew it")
    if made.until:
        what = gettext("end on %(until)s") % {"until": words.moment(made.until, within=True)}
    if made.choice == "reduce":
        what = gettext("remove %(takes)s") % {"takes": terms.lower(wording.rights(made.takes, ""))}
    kind = {"keep": "gain", "remove": "lose", "reduce": "lose", "end": "lose"}.get(made.choice, "")
    text = f"{made.reviewer.label}: {what}"
    return Moment(text, _decided_at(made), kind, made.reason)


def _decided_at(made: ReviewDecision) -> str:
    """Fri 27 Nov, 18:00, in 4 s, with 12 others: how long it took, and how many were decided at once."""
    when = words.moment(made.at)
    seconds = words.number(round(made.seconds)) if made.seconds is not None else ""
    number = words.number(made.together - 1) if made.together > 1 else ""
    if seconds and number:
        text = gettext("%(when)s, in %(seconds)s s, with %(number)s others")
    elif seconds:
        text = gettext("%(when)s, in %(seconds)s s")
    else:
        text = gettext("%(when)s, with %(number)s others") if number else "%(when)s"
    return text % {"when": when, "seconds": seconds, "number": number}


# Its effect alone, for a script


@reads
@login_required
def more(request: Request, id: int, number: int) -> HttpResponse:
    """What the choice needs besides, and what it does; nothing is kept."""
    item = item_or_404(request, id, number)
    row, work = item.row, ReviewerPage(request, item.visit, request.GET)
    choice = request.GET.get(f"d-{row.pk}", "")
    if not item.may_decide or choice not in choices(row):
        raise Http404
    ready = Ready(row.pk, row.version, choice)
    if choice not in TAKING:
        return render(request, "console/reviews/more.html", {"more": work.more(row, ready, None)})
    consequence = consequences.of(item.visit.review, [row])[row.pk]
    takes = row.advised if choice == ReviewRow.Choice.REDUCE else ()
    effect_text = reviews_preview.text(row, takes) or effect(row, consequence, choice)
    return render(
        request, "console/reviews/more.html", {"more": work.more(row, ready, consequence, effect_text)}
    )


@writes
@login_required
def also(request: Request, id: int, number: int) -> HttpResponse:
    """The rows behind the other paths are made ready to be removed too."""
    item = item_or_404(request, id, number)
    if not item.may_decide:
        raise Http404
    consequence = consequences.of(item.visit.review, [item.row])[item.row.pk]
    keys = [row.pk for row in consequence.rows]
    mine = worklist.rows_of(item.visit.review, item.visit.asker).filter(pk__in=keys)
    tray = DraftDecisions(request, item.visit.review.pk)
    new = {row.pk: Ready(row.pk, row.version, ReviewRow.Choice.REMOVE) for row in (item.row, *mine)}
    tray.keep((tray.all() | new).values())
    left = len(keys) - len(new) + 1
    message = gettext("%(new)s ready to be removed; nothing is submitted") % {
        "new": words.count(len(new), "row")
    }
    say(
        request,
        gettext("%(told)s. %(left)s are someone else’s to decide")
        % {"told": message, "left": words.number(left)}
        if left > 0
        else message,
    )
    return redirect(item.visit.url())


@writes
@login_required
def back(request: Request, id: int, number: int) -> HttpResponse:
    """A decision is taken back; the row is open again."""
    item = item_or_404(request, id, number)
    version = request.POST.get("version", "")
    if not item.may_decide or not version.isdecimal() or len(version) > 9:
        raise Http404
    try:
        take_back(item.visit.review, item.row.pk, int(version), by=item.visit.actor)
    except PolicyError as problem:
        work = ReviewerPage(
            request,
            item.visit,
            request.GET,
            [Note("bad", gettext("Not revoked."), str(problem))],
            alone=number,
        )
        return _show(request, item, work, 409)
    say(request, gettext("Row %(number)s is open again") % {"number": words.number(number)})
    return redirect(item.visit.url("review_row", number))

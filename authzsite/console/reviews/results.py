"""What came of a review: each removal with its proof, what could not be carried out and why, what is left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Q
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import words
from authzsite.console.kit.display.lists import Pager, Toggle
from authzsite.console.kit.display.parts import (
    Action,
    Empty,
    Fact,
    Facts,
    Note,
    Path,
    Reason,
    State,
    StrOrPromise,
    Who,
)
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.reviews import charts as reviews_charts
from authzsite.console.reviews.access import ReviewAccess, get_review_or_404
from authzsite.console.reviews.rows import RowWording
from authzsite.downloads import csv_file
from policies.decisions import duties
from policies.models import ReviewRow, review_states
from policies.record import access_log
from policies.reviews import completion, evidence, proofs, worklist
from policies.services.grants import revision_now

SHOWN, PRINTED = 50, 2000
EXPORT = "export_history"
TAKEN = ("remove", "reduce", "end")
TAKING = Q(choice__in=TAKEN)
KINDS: Mapping[str, tuple[StrOrPromise, Q]] = {
    "taken": (gettext_lazy("To be removed"), TAKING),
    "proved": (gettext_lazy("Proved"), Q(state="proved")),
    "failed": (gettext_lazy("Not carried out"), Q(state__in=("failed", "gone"))),
    "kept": (gettext_lazy("Kept"), Q(state="kept")),
    "quick": (gettext_lazy("Decided quickly"), Q(quick=True)),
    "all": (gettext_lazy("Every row"), Q()),
}
LEFT = "left"
MARKS = {
    "waiting": "behind",
    "carried": "behind",
    "proved": "ok",
    "gone": "ok",
    "failed": "failed",
    "kept": "ok",
    "open": "unknown",
    "again": "unknown",
    "decided": "behind",
}


@dataclass(frozen=True)
class ResultRow:
    """One row with what became of it."""

    number: int
    who: Who
    can: str
    how: Path
    decided: str
    state: State
    proof: str
    url: str


@dataclass
class Result:
    """Some rows of a review, as somebody may read them."""

    visit: ReviewAccess
    show: str
    after: int

    @cached_property
    def rows(self) -> list[ReviewRow]:
        only = KINDS[self.show][1] if self.show in KINDS else Q()
        mine = None if self.visit.standing.reads else self.visit.asker
        rows = worklist.rows_of(self.visit.review, mine).filter(only, number__gt=self.after)
        related = rows.select_related("holder", "group", "decided_by", "desk").order_by("number")
        return list(related[: SHOWN + 1])

    @cached_property
    def left(self) -> list[completion.Left]:
        return completion.listed(self.visit.review, after=self.after, limit=SHOWN + 1)

    @property
    def shown(self) -> list[ReviewRow]:
        some = [item.row for item in self.left] if self.show == LEFT else self.rows
        return some[:SHOWN]

    @property
    def more(self) -> bool:
        return len(self.left if self.show == LEFT else self.rows) > SHOWN

    def lines(self) -> list[ResultRow]:
        wording = RowWording(self.visit.review, self.shown)
        whys = {item.row.pk: item for item in self.left} if self.show == LEFT else {}
        return [self._line(wording, row, whys.get(row.pk)) for row in self.shown]

    def _line(self, wording: RowWording, row: ReviewRow, left: completion.Left | None) -> ResultRow:
        word = _(review_states.ROW.words[row.state])
        proof = (
            _("%(why)s %(label)s is responsible for it until %(until)s.")
            % {"why": left.why, "label": left.owner.label, "until": words.day(left.until)}
            if left
            else ""
        )
        return ResultRow(
            row.number,
            wording.who(row),
            wording.can(row),
            wording.how(row),
            wording.decided(row) or _("Nobody decided"),
            State(MARKS.get(row.state, "unknown"), f"{word[:1].upper()}{word[1:]}"),
            proof or proved(row),
            self.visit.url("review_row", row.number),
        )


def proved(row: ReviewRow) -> str:
    """Read again in PostgreSQL at revision 48,300, today, 09:14, without it."""
    if row.state == "proved":
        at, revision = parse_datetime(row.proof.get("at") or ""), row.proof.get("revision")
        when = f", {words.moment(at, within=True)}," if at else ""
        where = str(row.proof.get("backend", ""))
        if where == proofs.CONSOLE:
            since = f"{words.number(revision)}{when}".strip(",")
            return _("Not synced to a backend; in force since revision %(since)s.") % {"since": since}
        return _("%(upper)s%(where)s was read at revision %(revision)s%(when)s without it.") % {
            "upper": where[:1].upper(),
            "where": where[1:],
            "revision": words.number(revision),
            "when": when,
        }
    if row.state == "carried":
        return row.outcome or _("Ended here; the backend is not read again yet.")
    if row.state in ("waiting", "decided") and row.choice in TAKEN:
        return _("It waits to be carried out.")
    return row.outcome


@reads
@login_required
def results_page(request: Request, id: int) -> HttpResponse:
    """Counts first; then the removals, each with its proof."""
    visit = get_review_or_404(request, id)
    if visit.review.state == "building":
        return reviews_charts.being_built(request, visit)
    show = request.GET.get("show", "taken")
    is_shown = show in KINDS or (show == LEFT and visit.standing.reads)
    after = number_in(request.GET.get("after", "")) or 0
    result = Result(visit, show if is_shown else "taken", min(after, 2**31 - 1))
    return _show(request, result)


def _show(request: Request, result: Result) -> HttpResponse:
    visit, review, lines = result.visit, result.visit.review, result.lines()
    mine = None if visit.standing.reads else visit.asker
    counts = worklist.counts(review, mine)
    last = result.shown[-1].number if result.shown else 0
    context: dict[str, Any] = {
        "visit": visit,
        "crumbs": visit.crumbs(),
        "heading": review.title,
        "kind": _("Result of a review"),
        "lead": _lead(visit, counts),
        "actions": _actions(visit),
        "reason": _reason(visit),
        "tabs": visit.tabs("review_result"),
        "facts": Facts(tuple(_facts(visit, counts))),
        "note": _note(visit, counts),
        "picture": reviews_charts.bar(counts),
        "toggles": _toggles(visit, result, counts),
        "lines": lines,
        "proof_head": _("Why, and responsible person") if result.show == LEFT else _("Proof"),
        "pager": Pager(
            words.count(len(lines), "row"),
            f"?show={result.show}" if result.after else "",
            f"?show={result.show}&after={last}" if result.more else "",
            visit.url("review_csv") if visit.standing.reads else "",
        ),
        "empty": Empty(_("No rows here"), "", drawn=False, level=2),
        "evidence_url": visit.url("review_evidence"),
    }
    realm, revision = visit.root.name, revision_now()
    template = "console/reviews/result.html"
    return page(request, template, context, section="reviews", realm=realm, revision=revision)


def _lead(visit: ReviewAccess, counts: Mapping[str, int]) -> str:
    removed = sum(counts[f"state_{state}"] for state in ("waiting", "carried", "proved", "gone", "failed"))
    done = counts["state_proved"]
    if not visit.is_over:
        return _("It is still open: nothing is carried out before its end.")
    if visit.review.state == "cancelled":
        return _("It was cancelled: nothing was removed.")
    if not removed:
        return _("Nothing was to be removed.")
    many = words.count(removed, "removal")
    return _("%(done)s of %(many)s proved: the backend was read again without it.") % {
        "done": words.number(done),
        "many": many,
    }


def _facts(visit: ReviewAccess, counts: Mapping[str, int]) -> Iterable[Fact]:
    review = visit.review
    yield Fact(_("State"), visit.state_words.capitalize())
    yield Fact(
        _("Decided"),
        _("%(number)s of %(counts)s")
        % {"number": words.number(counts["decided"]), "counts": words.number(counts["all"])},
    )
    if visit.is_over:
        yield Fact(_("Removed and proved"), words.number(counts["state_proved"]))
        yield Fact(_("Removed, not read again yet"), words.number(counts["state_carried"]))
        yield Fact(_("Not carried out"), words.number(counts["state_failed"]))
    yield Fact(
        _("Access as of"),
        _("Revision %(revision)s") % {"revision": words.number(review.revision)},
        note=words.day(review.started),
    )
    if review.closed:
        yield Fact(_("Closed"), words.moment(review.closed))


def _note(visit: ReviewAccess, counts: Mapping[str, int]) -> Note | None:
    failed = counts["state_failed"]
    if failed:
        return Note(
            "bad",
            _("%(failed)s could not be carried out.") % {"failed": words.count(failed, "removal")},
            _("Each line shows why, and who to ask."),
            "?show=failed",
            _("Show them"),
        )
    waits = counts["state_carried"]
    if waits and visit.review.state == "proving":
        text = _("Each removal is proved once its backend is read again. This page shows when.")
        strong = ngettext("%(waits)s waits for proof.", "%(waits)s wait for proof.", waits)
        return Note("", strong % {"waits": words.count(waits, "removal")}, text)
    return None


def _toggles(visit: ReviewAccess, result: Result, counts: Mapping[str, int]) -> tuple[Toggle, ...]:
    many = {
        "taken": counts["choice_remove"] + counts["choice_reduce"] + counts["choice_end"],
        "proved": counts["state_proved"],
        "failed": counts["state_failed"] + counts["state_gone"],
        "kept": counts["state_kept"],
        "all": counts["all"],
        "quick": worklist.rows_of(visit.review).filter(quick=True).count() if visit.standing.reads else 0,
    }
    toggles = [
        Toggle(str(word), f"?show={code}", code == result.show, words.number(many[code]))
        for code, (word, _) in KINDS.items()
        if code != "quick" or many[code] or result.show == code
    ]
    if visit.standing.reads:
        left = completion.exceptions(visit.review).count() if visit.is_over else 0
        toggles.insert(3, Toggle(_("Exceptions"), f"?show={LEFT}", result.show == LEFT, words.number(left)))
    return tuple(toggles)


def _actions(visit: ReviewAccess) -> list[Action]:
    actions = []
    if visit.standing.reads:
        actions.append(Action(_("Print view"), visit.url("review_print"), "plain", "print"))
        if visit.review.every and visit.standing.leads:
            actions.append(Action(_("The series"), visit.url("review_deed", "repeat")))
    return actions


def may_export(visit: ReviewAccess) -> bool:
    return visit.standing.reads and duties.has(visit.asker, EXPORT, visit.root)


def _reason(visit: ReviewAccess) -> Reason | None:
    if not visit.standing.reads or may_export(visit):
        return None
    text = _("Exporting evidence requires a duty; ask the owner of %(name)s for it.") % {
        "name": visit.root.name
    }
    return Reason("why-no-export", text)


# On paper, and as a file


@reads
@login_required
def paper(request: Request, id: int) -> HttpResponse:
    """Every row with its decision and its proof, to be printed."""
    visit = get_review_or_404(request, id)
    if not visit.standing.reads:
        raise Http404
    related = ("holder", "group", "decided_by", "desk")
    rows = list(worklist.rows_of(visit.review).select_related(*related).order_by("number")[:PRINTED])
    wording, counts = RowWording(visit.review, rows), worklist.counts(visit.review)
    result = Result(visit, "all", 0)
    left = counts["all"] - len(rows)
    context = {
        "visit": visit,
        "heading": visit.review.title,
        "lead": _lead(visit, counts),
        "facts": Facts(tuple(_facts(visit, counts))),
        "starter": visit.review.starter.label,
        "lines": [result._line(wording, row, None) for row in rows],
        "digest": visit.review.digest,
        "more": _left_out(left) if left > 0 else "",
        "back": visit.url("review_result"),
    }
    realm, revision = visit.root.name, revision_now()
    template = "console/reviews/printout.html"
    return page(request, template, context, section="reviews", realm=realm, revision=revision)


def _left_out(many: int) -> str:
    text = ngettext("%(left)s more row is in the file.", "%(left)s more rows are in the file.", many)
    return text % {"left": words.number(many)}


HEAD = (
    *("number", "kind", "holder", "group", "role", "object", "privileges", "effect", "risks", "change"),
    *(
        "advice",
        "state",
        "choice",
        "takes",
        "until",
        "reason",
        "decided_by",
        "decided_at",
        "carried_revision",
    ),
    *("proved_at", "backend", "read_at_revision", "outcome"),
)


@reads
@login_required
def as_csv(request: Request, id: int) -> HttpResponseBase:
    """Every row as a line of a file; for readers of the whole review."""
    visit = get_review_or_404(request, id)
    if not visit.standing.reads:
        raise Http404
    access_log.looked(visit.asker, f"file of review {id}", visit.root, via="console")
    return csv_file.answer(f"review-{id}", HEAD, _csv(visit))


def _csv(visit: ReviewAccess) -> Iterator[list[object]]:
    for row in evidence.rows(visit.review):
        proof = row["proof"] or {}
        columns = {**row, "backend": proof.get("backend", ""), "read_at_revision": proof.get("revision", "")}
        yield [
            ", ".join(map(str, columns[name])) if isinstance(columns[name], list) else columns[name]
            for name in HEAD
        ]

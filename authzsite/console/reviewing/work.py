"""The work-list: rows to decide, in three views; what is ready waits in a bar until it is submitted."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.utils import timezone

from authzsite.console import naming, words
from authzsite.console.door import signed_in
from authzsite.console.lists import Toggle
from authzsite.console.methods import reads_and_writes
from authzsite.console.parts import Action, Empty, Fact, Facts, Note, Path, Who
from authzsite.console.requests import Request
from authzsite.console.reviewing import pictures
from authzsite.console.reviewing.ready import Ready, Tray
from authzsite.console.reviewing.rows import LABELS, SAID, Suggestion, Told, effect
from authzsite.console.reviewing.visit import Visit, meet
from authzsite.console.shell import page, say
from authzsite.console.when import typed_local
from policies.authority import Actor
from policies.errors import Invalid, PolicyError
from policies.models import ReviewRow
from policies.reviews import consequences, worklist
from policies.reviews.consequences import Consequence
from policies.reviews.deciding import Verdict, choices, decide, needs_reason

SHOWN = 50
Choice, Rank = ReviewRow.Choice, ReviewRow.Rank
ONLY = (
    ("open", "Open"),
    ("changed", "Changed"),
    ("far", "Reaches far"),
    ("unused", "Unused"),
    ("again", "Look again"),
    ("decided", "Decided"),
)
VIEWS = (("risk", "Risk"), ("person", "Person"), ("object", "Object"))
HEADS = {
    Rank.CHANGED: ("Changed since the last review", "these first", "changed"),
    Rank.FAR: ("Reaches far", "decided one at a time", "far"),
    Rank.UNUSED: ("Unused", "never used, as far as is told", "unused"),
    Rank.OTHER: ("Everything else", "", ""),
}
KEYS = {Choice.KEEP: "1", Choice.REMOVE: "2", Choice.END: "3", Choice.UNSURE: "4"}
USUAL_END = timedelta(days=30)
LOOKS_LIKE_A_QUERY = "?"


@dataclass(frozen=True)
class Option:
    code: str
    label: str
    key: str
    picked: bool


@dataclass(frozen=True)
class More:
    """What a chosen decision needs besides, and what it does."""

    row: int
    number: int
    until: str = ""
    asks_until: bool = False
    takes: tuple[tuple[str, str, bool], ...] = ()
    reason: str = ""
    asks_reason: bool = False
    effect: str = ""
    others: str = ""
    problem: str = ""

    @property
    def shows(self) -> bool:
        return bool(self.asks_until or self.takes or self.asks_reason or self.effect or self.problem)


@dataclass(frozen=True)
class Drawn:
    """One row of the list."""

    id: int
    version: int
    number: int
    who: Who
    can: str
    how: Path
    suggestion: Suggestion
    options: tuple[Option, ...]
    more: More
    said: str = ""


@dataclass(frozen=True)
class Group:
    heading: str
    note: str
    rows: tuple[Drawn, ...]


@dataclass
class Work:
    """One reviewer's page of rows, with what is ready on it and elsewhere."""

    request: Request
    visit: Visit
    data: QueryDict
    notes: list[Note] = field(default_factory=list)
    problems: dict[int, str] = field(default_factory=dict)
    chosen: dict[int, Ready] | None = None
    alone: int = 0
    """The number of the one row that is looked at by itself."""

    @cached_property
    def tray(self) -> Tray:
        return Tray(self.request, self.visit.review.pk)

    @cached_property
    def ready(self) -> dict[int, Ready]:
        return self.tray.all() if self.chosen is None else self.chosen

    # What is asked for

    @cached_property
    def counts(self) -> Mapping[str, int]:
        return worklist.counts(self.visit.review, self.visit.asker)

    @cached_property
    def only(self) -> str:
        asked = self.data.get("only", "")
        usual = "open" if self.counts["open"] or not self.counts["decided"] else "decided"
        return asked if asked in dict(ONLY) else usual

    @cached_property
    def view(self) -> str:
        asked = self.data.get("view", "")
        return asked if asked in dict(VIEWS) else "risk"

    @property
    def text(self) -> str:
        return self.data.get("q", "").strip()[:255].replace("\0", "")

    @cached_property
    def page(self) -> worklist.Page:
        review, asker = self.visit.review, self.visit.asker
        if self.alone:
            found = worklist.rows_of(review, asker).filter(number=self.alone)
            return worklist.Page(tuple(found.select_related("holder", "group", "decided_by", "desk")), None)
        return worklist.page(
            review, asker, view=self.view, only=self.only, text=self.text, after=self._after, limit=SHOWN
        )

    @cached_property
    def _after(self) -> tuple[Any, ...] | None:
        number, found, first = self.data.get("after", "").partition("~")
        if not found or not number.isdecimal() or len(number) > 9 or "\0" in first:
            return None
        if self.view == "risk" and not (first.isdecimal() and len(first) < 4):
            return None
        return (int(first) if self.view == "risk" else first[:300], int(number))

    def url(self, **changed: object) -> str:
        kept = {"view": self.data.get("view", ""), "only": self.data.get("only", ""), "q": self.text}
        asked = {name: value for name, value in (kept | changed).items() if value}
        return f"?{urlencode(asked)}"

    @property
    def next(self) -> str:
        if self.page.next is None:
            return ""
        first, number = self.page.next
        return self.url(after=f"{number}~{first}")

    # What is drawn

    @cached_property
    def told(self) -> Told:
        return Told(self.visit.review, self.page.rows)

    @cached_property
    def effects(self) -> Mapping[int, Consequence]:
        """What the ready decisions on this page do."""
        taking = (Choice.REMOVE, Choice.REDUCE, Choice.END)
        wanted = [
            row for row in self.page.rows if row.pk in self.ready and self.ready[row.pk].choice in taking
        ]
        return consequences.of(self.visit.review, wanted) if wanted else {}

    def groups(self) -> list[Group]:
        if self.alone:
            return [Group("", "", tuple(self.drawn(row) for row in self.page.rows))]
        heads = {"risk": self._by_rank, "person": self._by_person, "object": self._by_object}[self.view]
        return [
            Group(*heading, tuple(self.drawn(row) for row in some))
            for heading, some in groupby(self.page.rows, key=heads)
        ]

    def _by_rank(self, row: ReviewRow) -> tuple[str, str]:
        heading, note, count = HEADS[Rank(row.rank)]
        left = f"{words.number(self.counts[count])} left" if count and self.only == "open" else ""
        return heading, ", ".join(filter(None, (left, note)))

    def _by_person(self, row: ReviewRow) -> tuple[str, str]:
        who = self.told.who(row)
        return who.name, who.note

    def _by_object(self, row: ReviewRow) -> tuple[str, str]:
        return row.what or row.role_name, naming.lower(naming.kind_of(row.type)) if row.type else ""

    def drawn(self, row: ReviewRow) -> Drawn:
        ready = self.ready.get(row.pk)
        picked = ready.choice if ready else row.choice
        return Drawn(
            row.pk,
            row.version,
            row.number,
            self.told.who(row, self.visit.url("review_row", row.number)),
            self.told.can(row),
            self.told.how(row),
            self.told.suggests(row),
            tuple(
                Option(code, LABELS[Choice(code)], KEYS.get(Choice(code), ""), code == picked)
                for code in choices(row)
            ),
            self.more(row, ready, self.effects.get(row.pk)),
            self.told.decided(row),
        )

    def more(self, row: ReviewRow, ready: Ready | None, consequence: Consequence | None) -> More:
        if ready is None:
            return More(row.pk, row.number, problem=self.problems.get(row.pk, ""))
        review = self.visit.review
        others = consequence.rows if consequence else []
        return More(
            row.pk,
            row.number,
            typed_local(ready.until or usual_end(row)) if ready.choice == Choice.END else "",
            ready.choice == Choice.END,
            self._takes(row, ready) if ready.choice == Choice.REDUCE else (),
            ready.reason,
            needs_reason(review, row, ready.choice),
            effect(consequence, ready.choice),
            self.visit.url("review_row", row.number) if others else "",
            self.problems.get(row.pk, ""),
        )

    def _takes(self, row: ReviewRow, ready: Ready) -> tuple[tuple[str, str, bool], ...]:
        law, picked = self.visit.review.realm.law, ready.takes or tuple(row.advised)
        return tuple((code, naming.right(code, row.type, law), code in picked) for code in row.privileges)

    def toggles(self) -> tuple[Toggle, ...]:
        return tuple(
            Toggle(word, self.url(only=code, after=""), code == self.only, words.number(self.counts[code]))
            for code, word in ONLY
            if self.counts[code] or code in ("open", self.only)
        )


def usual_end(row: ReviewRow) -> datetime:
    """Thirty days ahead, at 18:00; not after it ends by itself."""
    ahead = (timezone.localtime() + USUAL_END).replace(hour=18, minute=0, second=0, microsecond=0)
    return min(ahead, row.valid_until) if row.valid_until else ahead


def ready_words(ready: Iterable[Ready]) -> str:
    """1 keep, 1 remove, 1 end on a date"""
    found = [one.choice for one in ready]
    counted = [(found.count(code), SAID[code]) for code in SAID]
    return ", ".join(f"{words.number(many)} {word}" for many, word in counted if many)


# The room


@reads_and_writes
@signed_in
def room(request: Request, id: int) -> HttpResponse:
    """The rows one is asked about; ready decisions are kept, or submitted."""
    visit = meet(request, id)
    if visit.review.state == "building":
        return pictures.being_built(request, visit)
    if not visit.standing.asked:
        return redirect(visit.url("review_lead" if visit.standing.reads else "review_result"))
    work = Work(request, visit, request.GET)
    if request.method == "POST" and visit.is_open:
        return answer(request, work)
    return show(request, work)


def answer(request: Request, work: Work) -> HttpResponse:
    """Keep what is chosen; submit it when that is what was asked for."""
    chosen = work.tray.read(request.POST)
    if request.POST.get("step") == "submit":
        return _submit(request, work, chosen)
    work.tray.keep(chosen.values())
    go = request.POST.get("go", "")
    if not go.startswith(LOOKS_LIKE_A_QUERY):
        many = words.count(len(chosen), "decision")
        say(request, f"{many} ready; nothing is submitted" if chosen else "Nothing is ready")
        go = work.url()
    return redirect(f"{request.path}{go}")


def _submit(request: Request, work: Work, chosen: dict[int, Ready]) -> HttpResponse:
    review = work.visit.review
    found = worklist.rows_of(review, work.visit.asker).filter(pk__in=chosen)
    rows = {row.pk: row for row in found.select_related("holder", "group", "decided_by")}
    reason = request.POST.get("reason", "").strip()[:2000].replace("\0", "")
    news = [one for pk, one in chosen.items() if pk in rows and _is_news(rows[pk], one)]
    for one in news:
        problem = _lacks(review, rows[one.row], one, reason)
        if problem:
            work.problems[one.row] = problem
    work.problems |= {pk: said for pk, said in work.tray.problems.items() if pk in rows}
    if not news or work.problems:
        return _keep_and_show(request, work, chosen, [_nothing(work, rows)])
    return _decide(request, work, chosen, [(rows[one.row], one.verdict(reason)) for one in news])


def _is_news(row: ReviewRow, one: Ready) -> bool:
    same = (row.choice, tuple(row.takes), row.until, row.reason)
    return (one.choice, one.takes, one.until, one.reason) != same or row.state == "again"


def _lacks(review: Any, row: ReviewRow, one: Ready, reason: str) -> str:
    """What a decision still needs before it can go."""
    if one.choice == Choice.END and one.until is None:
        return "Say when it ends."
    if one.choice == Choice.REDUCE and not set(one.takes) < set(row.privileges):
        return "Say which rights go, and leave at least one."
    if one.choice == Choice.REDUCE and not one.takes:
        return "Say which rights go."
    if needs_reason(review, row, one.choice) and not (one.reason or reason).strip(" .-"):
        return "Say why."
    return ""


def _nothing(work: Work, rows: Mapping[int, ReviewRow]) -> Note:
    if not work.problems:
        return Note("", "Nothing is ready to submit.", "Choose for a row what is to become of it.")
    told = [f"row {rows[pk].number}: {said}" for pk, said in list(work.problems.items())[:5]]
    return Note("bad", "Nothing is submitted yet.", f"Still needed: {'; '.join(told)}")


def _keep_and_show(
    request: Request, work: Work, chosen: dict[int, Ready], notes: list[Note], status: int = 422
) -> HttpResponse:
    work.tray.keep(chosen.values())
    work.chosen = chosen
    work.notes += notes
    return show(request, work, status)


def _decide(
    request: Request, work: Work, chosen: dict[int, Ready], wanted: Sequence[tuple[ReviewRow, Verdict]]
) -> HttpResponse:
    """Those that reach far by themselves, the others together, no more at once than the review lets."""
    review = work.visit.review
    alone = [one for row, one in wanted if row.far and one.choice == Choice.KEEP]
    together = [one for row, one in wanted if one not in alone][: review.bulk]
    nonce = request.POST.get("nonce", "")[:40]
    actor = Actor(work.visit.asker, "console", request_id=nonce if nonce.isalnum() else "")
    steps = [[one] for one in alone] + ([together] if together else [])
    spent, many = work.tray.seconds(), sum(map(len, steps))
    done: set[int] = set()
    refused: list[tuple[int, str]] = []
    for step in steps:
        seconds = spent / many * len(step) if spent is not None else None
        try:
            outcome = decide(review, step, by=actor, seconds=seconds)
        except PolicyError as problem:
            refused += [(one.row, str(problem)) for one in step]
            continue
        done |= set(outcome.decided)
        refused += outcome.refused
    work.tray.stepped()
    left = {pk: one for pk, one in chosen.items() if pk not in done and pk not in dict(refused)}
    work.tray.keep(left.values())
    if refused:
        return _overtaken(request, work, left, refused, len(done))
    return _done(request, work, len(done), len(left))


def _overtaken(
    request: Request, work: Work, left: dict[int, Ready], refused: Sequence[tuple[int, str]], done: int
) -> HttpResponse:
    """What somebody else decided meanwhile stands as he decided it, and is said."""
    said = list(dict.fromkeys(text for _, text in refused))
    strong = f"{words.count(len(refused), 'decision')} not taken"
    strong += f"; {words.number(done)} taken." if done else "."
    text = f"{' '.join(said[:5])} It stands so; choose again to change it."
    work.chosen = left
    work.notes.append(Note("bad", strong, text))
    return show(request, work, 409)


def _done(request: Request, work: Work, done: int, left: int) -> HttpResponse:
    told = f"{words.count(done, 'decision')} submitted"
    if left:
        more = f"{words.number(left)} still ready: at most {work.visit.review.bulk} go in one step"
        told = f"{told}; {more}"
    say(request, told)
    return redirect(f"{request.path}{work.url()}")


# The page


def show(request: Request, work: Work, status: int = 200) -> HttpResponse:
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
        "kind": "Review",
        "lead": _lead(work),
        "actions": _actions(work),
        "tabs": visit.tabs("review"),
        "facts": Facts(tuple(_facts(work))),
        "notes": work.notes,
        "counts": work.counts,
        "picture": pictures.bar(work.counts),
        "toggles": work.toggles(),
        "views": [(code, word, work.url(view=code, after=""), code == work.view) for code, word in VIEWS],
        "asked": work.text,
        "kept": [(name, work.data.get(name, "")) for name in ("view", "only")],
        "groups": groups,
        "is_open": visit.is_open,
        "here": f"{request.path}{work.url()}",
        "next": work.next,
        "start": work.url() if work.data.get("after") else "",
        "shown": f"{words.number(len(work.page.rows))} of {words.number(work.counts[work.only])} rows",
        "nonce": secrets.token_hex(12),
        "ready": words.count(len(ready), "decision"),
        "ready_many": len(ready),
        "ready_words": ready_words(ready),
        "wants_reason": review.reasons != review.Reasons.NEVER,
        "empty": _empty(work),
        "row_url": visit.url("review"),
    }
    return page(
        request,
        "console/reviewing/work.html",
        context,
        room="reviews",
        realm=visit.root.name,
        revision=review.revision,
        status=status,
    )


def _lead(work: Work) -> str:
    review = work.visit.review
    if work.visit.is_open:
        asked = "Does everyone on this list still need it?"
        until = words.day(review.due)
        return f"{asked} Nothing changes until the end; you can change a decision until {until}."
    return f"This review is {work.visit.state_words}. What you decided stands below."


def _actions(work: Work) -> list[Action]:
    visit = work.visit
    found = [Action("How removal works", f"{visit.url('review_how')}", "plain")]
    if visit.is_open and work.counts["open"]:
        found.append(Action("Pass rows on", visit.url("review_pass")))
    return found


SILENCE = {
    "keep": "Access stays",
    "remove": "Access is removed",
    "escalate": "Whoever started it decides",
}


def _facts(work: Work) -> Iterable[Fact]:
    review, counts = work.visit.review, work.counts
    yield Fact("Decided", f"{words.number(counts['decided'])} of {words.number(counts['all'])}")
    yield Fact("Due", work.visit.due_words)
    silence = SILENCE[review.silence]
    if review.stage + 1 < len(review.stages):
        silence = f"{silence}, and the next stage decides" if review.silence == "keep" else silence
    yield Fact("If you say nothing", silence)
    yield Fact(
        "State under review", f"Revision {words.number(review.revision)}", note=words.day(review.started)
    )
    if work.counts["again"]:
        yield Fact("To look at again", words.count(counts["again"], "row"))


def _empty(work: Work) -> Empty:
    if not work.counts["all"]:
        return Empty("No row here is yours to decide", "Your own access is decided by somebody else.")
    if work.only == "open" and not work.text:
        text = f"You can still change what you decided, until {words.day(work.visit.review.due)}."
        shown = Action("Show what I decided", work.url(only="decided"))
        return Empty("You have decided every row", text, actions=(shown,))
    return Empty("No row fits", drawn=False, actions=(Action("Show all that is open", "?"),))

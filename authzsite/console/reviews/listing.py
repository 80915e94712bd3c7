"""The rows of a review as somebody sees them: in three views, with what is ready on them and what it does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.lists import Toggle
from authzsite.console.kit.display.parts import Note, Path, Who
from authzsite.console.kit.http import Request
from authzsite.console.kit.inputs.dates import typed_local
from authzsite.console.reviews.access import ReviewAccess
from authzsite.console.reviews.draft_decisions import DraftDecisions, Ready
from authzsite.console.reviews.rows import LABELS, SAID, RowWording, Suggestion, effect
from policies.models import ReviewRow
from policies.reviews import consequences, worklist
from policies.reviews.consequences import Consequence
from policies.reviews.decisions import choices, needs_reason
from policies.reviews.row_members import has_members

SHOWN = 50
Choice, Rank = ReviewRow.Choice, ReviewRow.Rank
ONLY = (
    ("open", pgettext_lazy("state", "Open")),
    ("changed", gettext_lazy("Changed")),
    ("far", gettext_lazy("High risk")),
    ("unused", gettext_lazy("Unused")),
    ("again", gettext_lazy("Look again")),
    ("decided", gettext_lazy("Decided")),
)
VIEWS = (
    ("risk", gettext_lazy("Risk")),
    ("person", gettext_lazy("Person")),
    ("object", gettext_lazy("Object")),
)
HEADS = {
    Rank.CHANGED: (gettext_lazy("Changed since the last review"), gettext_lazy("these first")),
    Rank.FAR: (gettext_lazy("High risk"), gettext_lazy("decided one at a time")),
    Rank.UNUSED: (gettext_lazy("Unused"), gettext_lazy("never used, as far as usage is reported")),
    Rank.OTHER: (gettext_lazy("Everything else"), ""),
}
KEYS = {Choice.KEEP: "1", Choice.REMOVE: "2", Choice.END: "3", Choice.UNSURE: "4"}
USUAL_END = timedelta(days=30)
TAKING = (Choice.REMOVE, Choice.REDUCE, Choice.END)
Kind = ReviewRow.Kind


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
    late: str = ""
    problem: str = ""


@dataclass(frozen=True)
class ListedRow:
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
    members: str = ""
    """Where its people are listed, if it reaches them through a group or a role."""


@dataclass(frozen=True)
class Group:
    heading: str
    note: str
    rows: tuple[ListedRow, ...]


@dataclass
class ReviewerPage:
    """One reviewer's page of rows, with what is ready on it and elsewhere."""

    request: Request
    visit: ReviewAccess
    data: QueryDict
    notes: list[Note] = field(default_factory=list)
    problems: dict[int, str] = field(default_factory=dict)
    chosen: dict[int, Ready] | None = None
    alone: int = 0
    """The number of the one row that is looked at by itself."""

    @cached_property
    def tray(self) -> DraftDecisions:
        return DraftDecisions(self.request, self.visit.review.pk)

    @cached_property
    def ready(self) -> dict[int, Ready]:
        return self.tray.all() if self.chosen is None else self.chosen

    # What is asked for

    @cached_property
    def counts(self) -> Mapping[str, int]:
        return worklist.counts(self.visit.review, self.visit.asker)

    @cached_property
    def only(self) -> str:
        choice = self.data.get("only", "")
        usual = "open" if self.counts["open"] or not self.counts["decided"] else "decided"
        return choice if choice in dict(ONLY) else usual

    @cached_property
    def view(self) -> str:
        choice = self.data.get("view", "")
        return choice if choice in dict(VIEWS) else "risk"

    @property
    def text(self) -> str:
        return self.data.get("q", "").strip()[:255].replace("\0", "")

    @cached_property
    def page(self) -> worklist.Page:
        review, asker = self.visit.review, self.visit.asker
        if self.alone:
            rows = worklist.rows_of(review, asker).filter(number=self.alone)
            return worklist.Page(tuple(rows.select_related("holder", "group", "decided_by", "desk")), None)
        return worklist.page(
            review, asker, view=self.view, only=self.only, text=self.text, after=self._after, limit=SHOWN
        )

    @cached_property
    def _after(self) -> tuple[Any, ...] | None:
        number, key, first = self.data.get("after", "").partition("~")
        if not key or not number.isdecimal() or len(number) > 9 or "\0" in first:
            return None
        if self.view == "risk" and not (first.isdecimal() and len(first) < 4):
            return None
        return (int(first) if self.view == "risk" else first[:300], int(number))

    def url(self, **changed: object) -> str:
        kept = {"view": self.data.get("view", ""), "only": self.data.get("only", ""), "q": self.text}
        query = {name: value for name, value in (kept | changed).items() if value}
        return f"?{urlencode(query)}"

    @property
    def next(self) -> str:
        if self.page.next is None:
            return ""
        first, number = self.page.next
        return self.url(after=f"{number}~{first}")

    # What is drawn

    @cached_property
    def told(self) -> RowWording:
        return RowWording(self.visit.review, self.page.rows)

    @cached_property
    def effects(self) -> Mapping[int, Consequence]:
        """What the ready decisions on this page do."""
        ready = self.ready
        wanted = [row for row in self.page.rows if row.pk in ready and ready[row.pk].choice in TAKING]
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
        heading, note = HEADS[Rank(row.rank)]
        left = (
            _("%(counts)s left") % {"counts": words.number(self.counts[f"rank_{row.rank}"])}
            if self.only == "open"
            else ""
        )
        return str(heading), ", ".join(filter(None, (left, str(note))))

    def _by_person(self, row: ReviewRow) -> tuple[str, str]:
        who = self.told.who(row)
        return who.name, who.note

    def _by_object(self, row: ReviewRow) -> tuple[str, str]:
        return row.what or row.role_name, terms.lower(terms.kind_of(row.type)) if row.type else ""

    def drawn(self, row: ReviewRow) -> ListedRow:
        ready = self.ready.get(row.pk)
        picked = ready.choice if ready else row.choice
        return ListedRow(
            row.pk,
            row.version,
            row.number,
            self.told.who(row, self.visit.url("review_row", row.number)),
            self.told.can(row),
            self.told.how(row),
            self.told.suggests(row),
            tuple(
                Option(code, str(LABELS[Choice(code)]), KEYS.get(Choice(code), ""), code == picked)
                for code in choices(row)
            ),
            self.more(row, ready, self.effects.get(row.pk)),
            self.told.decided(row),
            self.visit.url("review_row_members", row.number) if has_members(row) else "",
        )

    def more(
        self, row: ReviewRow, ready: Ready | None, consequence: Consequence | None, said: str = ""
    ) -> More:
        """What a ready decision needs, and what it does: `said`, or what the whole page's reading tells."""
        if ready is None:
            return More(row.pk, row.number, problem=self.problems.get(row.pk, ""))
        review = self.visit.review
        others = consequence.rows if consequence else []
        inside = ready.choice in TAKING and _gives_inside(row)
        return More(
            row.pk,
            row.number,
            typed_local(ready.until or usual_end(row)) if ready.choice == Choice.END else "",
            ready.choice == Choice.END,
            self._takes(row, ready) if ready.choice == Choice.REDUCE else (),
            ready.reason,
            needs_reason(review, row, ready.choice),
            said or ("" if inside else effect(row, consequence, ready.choice)),
            self.visit.url("review_row", row.number) if others else "",
            self.visit.url("review_row", row.number) if inside and not said else "",
            self.problems.get(row.pk, ""),
        )

    def _takes(self, row: ReviewRow, ready: Ready) -> tuple[tuple[str, str, bool], ...]:
        law, picked = self.visit.review.realm.law, ready.takes or tuple(row.advised)
        return tuple((code, terms.right(code, row.type, law), code in picked) for code in row.privileges)

    def toggles(self) -> tuple[Toggle, ...]:
        return tuple(
            Toggle(word, self.url(only=code, after=""), code == self.only, words.number(self.counts[code]))
            for code, word in ONLY
            if self.counts[code] or code in ("open", self.only)
        )


def _gives_inside(row: ReviewRow) -> bool:
    """Whether it matters in what a container holds, which is worked out for one row at a time."""
    if row.kind in (Kind.ROLE, Kind.MEMBER):
        return True
    return row.kind in (Kind.GRANT, Kind.RULE) and row.type in terms.CONTAINERS


def usual_end(row: ReviewRow) -> datetime:
    """Thirty days ahead, at 18:00; not after it ends by itself."""
    ahead = (timezone.localtime() + USUAL_END).replace(hour=18, minute=0, second=0, microsecond=0)
    return min(ahead, row.valid_until) if row.valid_until else ahead


def ready_words(ready: Iterable[Ready]) -> str:
    """1 keep, 1 remove, 1 end on a date"""
    words_ = [item.choice for item in ready]
    counted = [(words_.count(code), SAID[code]) for code in SAID]
    return ", ".join(f"{words.number(many)} {word}" for many, word in counted if many)

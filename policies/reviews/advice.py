"""What we suggest for a row, and on what ground: one table, the first line that fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext_noop as noop

from policies.models import ReviewRow

RECENTLY, LONG_AGO = timedelta(days=30), timedelta(days=90)
SETTLED = timedelta(days=60)
"""What was given less long ago may just not have been used yet."""
FEW = 0.1
ENOUGH = 5
"""Fewer comparable people say nothing."""

GROUNDS = {
    "closed": noop("{who} cannot sign in"),
    "ends": noop("it ends by itself on {until}"),
    "outside": noop("it was granted outside Lakewarden"),
    "conflict": noop("it breaks a separation-of-duties rule"),
    "used": noop("last used {used}"),
    "reads": noop("it was last used {used}, and for reading alone"),
    "never": noop("never used, and granted {since}"),
    "idle": noop("last used {used}"),
    "rare": noop("{have} of {of} comparable people have it"),
    "common": noop("{have} of {of} comparable people have it"),
    "denial": noop("removing a denial opens access"),
    "unknown": noop("no usage data"),
    "unclear": noop("usage gives no clear answer"),
}
"""What stands beside a suggestion; pages put the numbers in."""


@dataclass(frozen=True)
class RowFacts:
    """What the table asks beside the row: now, when it was given, when it last did more than read, which of
    its privileges do more, and whether another of them reads."""

    now: datetime
    begun: datetime | None
    wrote: datetime | None
    opening: tuple[str, ...]
    reading: bool

    def idle(self, row: ReviewRow, time: timedelta) -> bool:
        return row.uses_told and (row.last_used is None or self.now - row.last_used > time)

    @property
    def settled(self) -> bool:
        return self.begun is not None and self.now - self.begun > SETTLED


@dataclass(frozen=True)
class Advice:
    """What is suggested, on which ground of GROUNDS, and what to take where it is to be reduced."""

    choice: str
    ground: str
    takes: tuple[str, ...] = ()


Choice = ReviewRow.Choice


def of(row: ReviewRow, known: RowFacts) -> Advice:
    """The suggestion for a row."""
    for fits, choice, ground in _TABLE:
        if fits(row, known):
            takes = known.opening if choice == Choice.REDUCE else ()
            return Advice(choice, ground, takes)
    return Advice("", "unclear")


def _rare(row: ReviewRow, facts: RowFacts) -> bool:
    few = row.peers_of >= ENOUGH and row.peers_have < FEW * row.peers_of
    return few and facts.idle(row, RECENTLY)


def _only_reads(row: ReviewRow, facts: RowFacts) -> bool:
    wrote = facts.wrote is not None and facts.now - facts.wrote <= LONG_AGO
    can = row.kind in (ReviewRow.Kind.GRANT, ReviewRow.Kind.RULE) and bool(facts.opening)
    return can and facts.reading and row.last_used is not None and not wrote


_TABLE: tuple[tuple[Callable[[ReviewRow, RowFacts], bool], str, str], ...] = (
    (lambda row, known: row.effect == "deny", Choice.KEEP, "denial"),
    (lambda row, known: "closed" in row.risks, Choice.REMOVE, "closed"),
    (lambda row, known: "ending" in row.risks, Choice.KEEP, "ends"),
    (lambda row, known: "conflict" in row.risks, "", "conflict"),
    (lambda row, known: row.kind == ReviewRow.Kind.FOREIGN, Choice.REMOVE, "outside"),
    (lambda row, known: row.holder_id is None or row.kind == ReviewRow.Kind.OWNER, "", "unclear"),
    (lambda row, known: not row.uses_told, "", "unknown"),
    (lambda row, facts: row.last_used is None and facts.settled, Choice.REMOVE, "never"),
    (lambda row, facts: row.last_used is not None and facts.idle(row, LONG_AGO), Choice.REMOVE, "idle"),
    (_rare, Choice.REMOVE, "rare"),
    (_only_reads, Choice.REDUCE, "reads"),
    (lambda row, facts: not facts.idle(row, RECENTLY), Choice.KEEP, "used"),
)

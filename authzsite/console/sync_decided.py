"""What owners decided about foreign grants lately, each with the proof that was read back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import QuerySet
from django.utils import timezone

from authzsite.console import naming, words
from authzsite.console.outside import right_word
from authzsite.console.parts import State
from policies.models import ForeignOrder

SHOWN = 20
LATELY = timedelta(days=14)


@dataclass(frozen=True)
class Decided:
    """One decision on one right, and what was read back since."""

    what: str
    holder: str
    right: str
    object: str
    by: str
    proof: State


def decided(rows: QuerySet[ForeignOrder]) -> list[Decided]:
    """The newest first, for a fortnight; those that are still to be carried out for as long as it takes."""
    lately = rows.filter(at__gt=timezone.now() - LATELY)
    return [_told(row) for row in lately.select_related("by", "backend").order_by("-pk")[:SHOWN]]


def _told(row: ForeignOrder) -> Decided:
    by = row.by.label if row.by else "An erased person"
    return Decided(
        what="Adopted" if row.replaced else "Revoked",
        holder=row.holder,
        right=naming.lower(right_word(row.right, row.type)),
        object=".".join(row.path) or row.backend.place,
        by=f"{by}, {words.said(words.moment(row.at))}, revision {words.number(row.revision)}",
        proof=_proof(row),
    )


def _proof(row: ForeignOrder) -> State:
    if row.done is not None:
        gone = "ours is in its place" if row.replaced else "it is gone"
        return State("ok", "Read back", f"{words.said(words.moment(row.done))}: {gone}")
    if row.error:
        return State("failed", "Not done", f"{row.backend.get_kind_display()} answered: {row.error[:300]}")
    return State("behind", "On its way")

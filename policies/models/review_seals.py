"""The seals of reviews: what a row is about, what was decided about it and by whom, and for whom it is done.

What a row names is ended with the rights of who started the review, because of rows that anybody could have
written who can write into the database; a denial that ends so opens something.  So they are held against
seals like facts (adr 0026, 0045).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from accounts.fact_content import content, plain
from accounts.seals import is_newest, is_sealed, seal
from policies.models.reviews import Review, ReviewRow

UNDECIDED: tuple[Any, ...] = ("", (), None, None)
OVER = ("closed", "cancelled")
"""Nothing comes of such a review any more."""
FORGED = "This row was not written by this console, or before rows had seals. Nothing is done about it."


def seal_new_rows(rows: Iterable[ReviewRow]) -> None:
    """Before they are put into their table, undecided."""
    for row in rows:
        row.seal = seal(_content(row, UNDECIDED))
        row.desk_seal = desk_seal(row, row.desk_id) if row.desk_id else None


def decided_seal(
    row: ReviewRow, choice: str, takes: Iterable[str], until: datetime | None, by: int | None
) -> bytes:
    """The seal of a row about which that is decided now; the row's own must have been good."""
    return seal(_content(row, (choice, tuple(takes), until, by)))


def is_row_sealed(row: ReviewRow) -> bool:
    """Whether the row and what is decided in it were written by the console.

    What silence decides is not sealed, so it has to be what silence can mean: a denial stays, an owner too.
    """
    never = row.effect == "deny" or row.kind == ReviewRow.Kind.OWNER or row.choice != ReviewRow.Choice.REMOVE
    if row.default and row.choice and never:
        return False
    return is_sealed(_content(row, _decision(row)), row.seal)


def may_be_done(review: Review, row: ReviewRow) -> bool:
    """Whether what the row orders was decided in the console: by a reviewer, or by what silence means."""
    silence = review.silence == Review.Silence.REMOVE
    return review.is_sealed and is_row_sealed(row) and (silence or not row.default)


def desk_seal(row: ReviewRow, desk: int) -> bytes:
    """The seal of a row's place on a desk, where the console puts it."""
    return seal(_place(row, desk))


def is_on_its_desk(row: ReviewRow) -> bool:
    """Whether the console put the row on the desk that it lies on."""
    return row.desk_id is not None and is_sealed(_place(row, row.desk_id), row.desk_seal)


def _place(row: ReviewRow, desk: int) -> bytes:
    return content("reviewplace", row.review_id, row.number, None, desk)


def unfinished() -> Iterator[ReviewRow]:
    """Every row of the reviews that are not over, one after another."""
    rows = ReviewRow.objects.exclude(review__state__in=OVER).order_by("pk")
    yield from rows.iterator(chunk_size=2000)


def seal_anew(row: ReviewRow) -> bool:
    """Give a row with a good seal one of the newest key; whether that was needed."""
    if is_newest(row.seal) or not is_row_sealed(row):
        return False
    new = {"seal": seal(_content(row, _decision(row)))}
    if is_on_its_desk(row):
        new["desk_seal"] = desk_seal(row, row.desk_id or 0)
    ReviewRow.objects.filter(pk=row.pk).update(**new)
    return True


def _decision(row: ReviewRow) -> tuple[Any, ...]:
    if row.default or not row.choice:
        return UNDECIDED
    return row.choice, tuple(row.takes), row.until, row.decided_by_id


def _content(row: ReviewRow, decision: tuple[Any, ...]) -> bytes:
    about = (row.kind, row.holder_id, row.group_id, row.role_id, row.securable_id, row.pattern)
    ends = (row.effect, sorted(row.privileges), sorted(row.facts))
    choice, takes, until, by = decision
    decided = (str(choice), sorted(takes), plain(until), by)
    return content("reviewrow", row.review_id, row.number, None, *about, *ends, *decided)

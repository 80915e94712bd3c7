"""The seals of reviews: what a row is about, what was decided about it and by whom, and for whom it is done.

What a row names is ended with the rights of who started the review, because of rows that anybody could have
written who can write into the database; a denial that ends so opens something.  So they are held against
seals like facts (adr 0026, 0045).  Both seals of a row cover its edition, so that none is of an earlier state
(adr 0056).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from accounts import editions
from accounts.fact_content import content, plain
from accounts.seals import is_newest, is_sealed, seal
from policies.models.reviews import Review, ReviewRow

Sealed = dict[str, Any]
"""The edition of a row and its seals, by their columns."""
UNDECIDED: tuple[Any, ...] = ("", (), None, None)
OVER = ("closed", "cancelled")
"""Nothing comes of such a review any more."""
FORGED = "This row was not written by this console, or before rows had seals. Nothing is done about it."


def seal_new_rows(rows: Iterable[ReviewRow]) -> None:
    """Before they are put into their table, undecided."""
    for row in rows:
        row.seal = seal(_content(row, UNDECIDED, row.edition))
        row.desk_seal = seal(_place(row, row.desk_id, row.edition)) if row.desk_id else None


def seals_of_decision(
    row: ReviewRow, choice: str, takes: Iterable[str], until: datetime | None, by: int | None
) -> Sealed:
    """What is written with a decision about a row, whose own seal must have been good."""
    return _next(row, (choice, tuple(takes), until, by), None)


def seals_of_place(row: ReviewRow, desk: int, *, undecided: bool = False) -> Sealed:
    """What is written with a row that the console puts on a desk; one without a good seal stays so."""
    return _next(row, UNDECIDED if undecided else _decision(row), desk)


def seals_undecided(row: ReviewRow) -> Sealed:
    """What is written with a row about which nothing is decided any more."""
    return _next(row, UNDECIDED, None)


def _next(row: ReviewRow, decision: tuple[Any, ...], desk: int | None) -> Sealed:
    """The next edition of a row, and its seals: for who writes it within a change, where nobody else did."""
    sealed = is_row_sealed(row)
    # the number of a row without a good seal may be any, and a further one would make it no better
    edition = row.edition + 1 if sealed else row.edition
    new: Sealed = {"edition": edition}
    if sealed:
        new["seal"] = seal(_content(row, decision, edition))
    if desk is not None:
        new["desk_seal"] = seal(_place(row, desk, edition))
    elif is_on_its_desk(row):
        new["desk_seal"] = seal(_place(row, row.desk_id or 0, edition))
    if sealed:
        editions.note(ReviewRow, row.pk, edition)
    return new


def is_row_sealed(row: ReviewRow) -> bool:
    """Whether the row and what is decided in it were written by the console.

    What silence decides is not sealed, so it has to be what silence can mean: a denial stays, an owner too.
    """
    never = row.effect == "deny" or row.kind == ReviewRow.Kind.OWNER or row.choice != ReviewRow.Choice.REMOVE
    if row.default and row.choice and never:
        return False
    return is_sealed(_content(row, _decision(row), row.edition), row.seal)


def may_be_done(review: Review, row: ReviewRow) -> bool:
    """Whether what the row orders was decided in the console: by a reviewer, or by what silence means."""
    silence = review.silence == Review.Silence.REMOVE
    return review.is_sealed and is_row_sealed(row) and (silence or not row.default)


def is_on_its_desk(row: ReviewRow) -> bool:
    """Whether the console put the row on the desk that it lies on."""
    return row.desk_id is not None and is_sealed(_place(row, row.desk_id, row.edition), row.desk_seal)


def _place(row: ReviewRow, desk: int, edition: int) -> bytes:
    return content("reviewplace", row.review_id, row.number, edition or None, desk)


def unfinished() -> Iterator[ReviewRow]:
    """Every row of the reviews that are not over, one after another."""
    rows = ReviewRow.objects.exclude(review__state__in=OVER).order_by("pk")
    yield from rows.iterator(chunk_size=2000)


def seal_anew(row: ReviewRow) -> bool:
    """Give a row with a good seal one of the newest key; whether that was needed."""
    if is_newest(row.seal) or not is_row_sealed(row):
        return False
    new = {"seal": seal(_content(row, _decision(row), row.edition))}
    if is_on_its_desk(row):
        new["desk_seal"] = seal(_place(row, row.desk_id or 0, row.edition))
    ReviewRow.objects.filter(pk=row.pk).update(**new)
    return True


def _decision(row: ReviewRow) -> tuple[Any, ...]:
    if row.default or not row.choice:
        return UNDECIDED
    return row.choice, tuple(row.takes), row.until, row.decided_by_id


def _content(row: ReviewRow, decision: tuple[Any, ...], edition: int) -> bytes:
    about = (row.kind, row.holder_id, row.group_id, row.role_id, row.securable_id, row.pattern)
    ends = (row.effect, sorted(row.privileges), sorted(row.facts))
    choice, takes, until, by = decision
    decided = (str(choice), sorted(takes), plain(until), by)
    return content("reviewrow", row.review_id, row.number, edition or None, *about, *ends, *decided)

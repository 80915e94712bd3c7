"""What reviewers and a review's leader look at: lists that take the same few queries at any size."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q, QuerySet, Value
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import Principal
from accounts.text import called, holdable
from policies.decisions import duties
from policies.errors import Invalid
from policies.models import Review, ReviewDecision, ReviewRow, ReviewSeat, review_states
from policies.reviews import management
from policies.reviews.events import place_of
from policies.reviews.reviewers import selves

OPEN = Q(state__in=review_states.UNDECIDED)
ONLY: Mapping[str, Q] = {
    "open": OPEN,
    "changed": OPEN & Q(rank=ReviewRow.Rank.CHANGED),
    "far": OPEN & Q(far=True),
    "unused": OPEN & Q(risks__contains=["unused"]),
    "again": Q(state="again"),
    "decided": ~OPEN & Q(default=False),
    "failed": Q(state="failed"),
    "all": Q(),
}
"""What can be kept to; pages show each with its count.  What ended in silence was decided by nobody."""
VIEWS: Mapping[str, tuple[str, ...]] = {
    "risk": ("rank", "number"),
    "person": ("who", "number"),
    "object": ("place", "number"),
}
"""The three orders of the one work-list."""


@dataclass(frozen=True)
class ReviewRole:
    """What a review is to somebody: `asked`, `leads`, or may read all of it; False when nothing."""

    asked: bool
    leads: bool
    reads: bool

    def __bool__(self) -> bool:
        return self.asked or self.leads or self.reads


@dataclass(frozen=True)
class Page:
    """Some rows of a list, and the place to go on after; None at the end."""

    rows: tuple[ReviewRow, ...]
    next: tuple[Any, ...] | None


@dataclass(frozen=True)
class Owing:
    """An open review in which somebody still owes decisions."""

    review: Review
    open: int
    all: int


def standing(review: Review, person: Principal | None) -> ReviewRole:
    """What a review is to somebody; a review that does not concern them reads like an absent one."""
    if person is None:
        return ReviewRole(False, False, False)
    seated = ReviewSeat.objects.filter(desk__review=review, reviewer=person).exists()
    leads = review.starter_id == person.pk or management.leads(review, person)
    reads = leads or duties.has(person, "view_history", place_of(review))
    return ReviewRole(seated, leads, reads)


def reviews_for(person: Principal) -> QuerySet[Review]:
    """The reviews somebody started or was asked in, newest first.  One query."""
    mine = Q(starter=person) | Q(pk__in=ReviewSeat.objects.filter(reviewer=person).values("desk__review"))
    return Review.objects.filter(mine).select_related("starter", "realm").order_by("-pk")


def owing(person: Principal) -> list[Owing]:
    """The open reviews in which somebody still has rows to decide, the most urgent first.  Two queries."""
    seats = ReviewSeat.objects.filter(reviewer=person, left__isnull=True, desk__review__state="open")
    rows = ReviewRow.objects.filter(desk__in=seats.values("desk"))
    counted = {
        row["review"]: row
        for row in rows.values("review").annotate(all=Count("pk"), open=Count("pk", filter=OPEN))
        if row["open"]
    }
    reviews = Review.objects.filter(pk__in=counted).select_related("starter", "realm").order_by("due", "pk")
    return [Owing(review, counted[review.pk]["open"], counted[review.pk]["all"]) for review in reviews]


def rows_of(review: Review, reviewer: Principal | None = None) -> QuerySet[ReviewRow]:
    """The rows of a review; with a reviewer those they are asked about, never their own access.

    Two queries are asked for the reviewer at once.
    """
    rows = ReviewRow.objects.filter(review=review)
    if reviewer is None:
        return rows
    seats = ReviewSeat.objects.filter(desk__review=review, reviewer=reviewer, left__isnull=True)
    mine = selves([reviewer.pk], now=timezone.now())[reviewer.pk]
    rows = rows.filter(desk__in=seats.values("desk"))
    holders, held = [key for key in mine if key > 0], [-key for key in mine if key < 0]
    own = Q(holder__in=holders) & ~Q(kind=ReviewRow.Kind.RULE) | Q(kind=ReviewRow.Kind.RULE, role__in=held)
    return rows.exclude(own)


def page(
    review: Review,
    reviewer: Principal | None = None,
    *,
    view: str = "risk",
    only: str = "open",
    text: str = "",
    after: Sequence[Any] | None = None,
    limit: int = 25,
) -> Page:
    """One page of the work-list, of a reviewer's rows or of all.  Three queries.  Raises Invalid.

    Rows come with holder, group, decided_by and desk; `next` is what to pass as `after`.
    """
    if view not in VIEWS or only not in ONLY:
        raise Invalid(
            gettext("known views are %(views)s; a view may keep to %(only)s")
            % {"views": ", ".join(VIEWS), "only": ", ".join(ONLY)}
        )
    rows = _matching(rows_of(review, reviewer).filter(ONLY[only]), text)
    rows = rows.annotate(who=Coalesce("holder__name", Value("")))
    order = VIEWS[view]
    if after is not None:
        rows = rows.filter(_behind(order, after))
    related = rows.select_related("holder", "group", "decided_by", "desk")
    rows_ = list(related.order_by(*order)[: limit + 1])
    last = tuple(getattr(rows_[limit - 1], name) for name in order) if len(rows_) > limit else None
    return Page(tuple(rows_[:limit]), last)


def _matching(rows: QuerySet[ReviewRow], text: str) -> QuerySet[ReviewRow]:
    if not text:
        return rows
    if not holdable(text):
        return rows.none()
    named = called(text, "holder__")
    return rows.filter(named | Q(what__icontains=text) | Q(role_name__icontains=text))


def _behind(order: Sequence[str], after: Sequence[Any]) -> Q:
    if len(after) != len(order) or not isinstance(after[1], int):
        raise Invalid(gettext("the place to go on after was not made here"))
    first, second = order
    # said twice, because an index is entered by one comparison, and not by one of two
    later = Q(**{f"{first}__gt": after[0]}) | Q(**{first: after[0], f"{second}__gt": after[1]})
    return Q(**{f"{first}__gte": after[0]}) & later


def counts(review: Review, reviewer: Principal | None = None) -> dict[str, int]:
    """How many rows there are of each kind of ONLY, of each choice, open rank and state.  Two queries."""
    rows = rows_of(review, reviewer)
    aggregates = {name: Count("pk", filter=condition) for name, condition in ONLY.items() if name != "all"}
    aggregates |= {
        f"choice_{choice}": Count("pk", filter=Q(choice=choice)) for choice in ReviewRow.Choice.values
    }
    aggregates |= {f"rank_{rank}": Count("pk", filter=OPEN & Q(rank=rank)) for rank in ReviewRow.Rank.values}
    aggregates |= {f"state_{state}": Count("pk", filter=Q(state=state)) for state in review_states.ROW.words}
    removed = Count("pk", filter=Q(choice=ReviewRow.Choice.REMOVE, default=True))
    return dict(rows.aggregate(all=Count("pk"), silent_removed=removed, **aggregates))


@dataclass(frozen=True)
class Progress:
    """How far one reviewer is: the rows they are asked about in the running stage, those still open, and
    those that the answer to silence decided when the review ended."""

    reviewer: Principal
    all: int
    open: int
    silent: int


def progress(review: Review) -> list[Progress]:
    """How far each reviewer of the running stage is, by name.  Two queries."""
    seats = ReviewSeat.objects.filter(
        desk__review=review, desk__stage=review.stage, left__isnull=True
    ).select_related("reviewer")
    rows = ReviewRow.objects.filter(review=review, desk__stage=review.stage)
    by_desk = {
        row["desk"]: (row["all"], row["open"], row["silent"])
        for row in rows.values("desk").annotate(
            all=Count("pk"), open=Count("pk", filter=OPEN), silent=Count("pk", filter=Q(default=True))
        )
    }
    by_reviewer: dict[Principal, tuple[int, int, int]] = {}
    for seat in seats:
        counted = by_desk.get(seat.desk_id, (0, 0, 0))
        whole, left, silent = map(sum, zip(counted, by_reviewer.get(seat.reviewer, (0, 0, 0)), strict=True))
        by_reviewer[seat.reviewer] = whole, left, silent
    listed = [Progress(reviewer, *counted) for reviewer, counted in by_reviewer.items()]
    return sorted(listed, key=lambda item: item.reviewer.label.casefold())


def keys(review: Review, numbers: Collection[int]) -> dict[int, int]:
    """The rows of these numbers, by number, as the database knows them.  One query."""
    rows = ReviewRow.objects.filter(review=review, number__in=set(numbers))
    return dict(rows.values_list("number", "pk"))


def row(review: Review, number: int) -> ReviewRow | None:
    """One row with everybody it names."""
    rows = ReviewRow.objects.filter(review=review, number=number)
    return rows.select_related("holder", "group", "decided_by", "desk", "securable", "role").first()


def row_decisions(row: ReviewRow) -> list[ReviewDecision]:
    """Every decision on a row, newest first; it comes with its reviewer.  One query."""
    return list(row.decisions.select_related("reviewer").order_by("-pk"))


def before(row: ReviewRow) -> list[ReviewRow]:
    """What earlier reviews decided about the same access, newest first.  One query."""
    rows = ReviewRow.objects.filter(key=row.key, review__realm=row.review.realm_id)
    closed = rows.filter(review__state="closed")
    return list(closed.exclude(pk=row.pk).select_related("review", "decided_by").order_by("-review")[:10])

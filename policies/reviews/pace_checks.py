"""Against rubber stamps: how fast somebody decides is kept and told, and quick decisions are drawn by lot for
another person to look at again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.models import F
from django.utils import timezone

from accounts.entering import able
from accounts.models import Principal
from policies.authority import Authority
from policies.events import REVIEW_AGAIN
from policies.models import Review, ReviewDesk, ReviewRow, ReviewSeat, review_states
from policies.models.review_seals import seals_of_place
from policies.record.change import ChangeInProgress
from policies.record.event_drafts import make_event
from policies.reviews.events import place_of
from policies.reviews.reviewers import desk_for, is_own, selves

AGAIN = "again"


@dataclass(frozen=True)
class Pace:
    """How one reviewer decides: how many rows, the seconds that the middle one of them took, how many were
    quick, how many were kept, how many of those reach far, and the most decided in one step."""

    reviewer: Principal
    decided: int
    seconds: float | None
    quick: int
    kept: int
    kept_far: int
    together: int


_PACES = """
WITH last AS (
    SELECT DISTINCT ON (d.row_id, d.reviewer_id) d.reviewer_id, d.seconds, d.together, d.choice, r.far
      FROM policies_reviewdecision d JOIN policies_reviewrow r ON r.id = d.row_id
     WHERE r.review_id = %s AND d.choice <> '' ORDER BY d.row_id, d.reviewer_id, d.id DESC)
SELECT reviewer_id, count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds),
       count(*) FILTER (WHERE seconds < %s), count(*) FILTER (WHERE choice = 'keep'),
       count(*) FILTER (WHERE choice = 'keep' AND far), max(together)
  FROM last GROUP BY reviewer_id ORDER BY 2 DESC, 1
"""


def paces(review: Review) -> list[Pace]:
    """How each reviewer of a review decides, the busiest first.  Two queries."""
    with connection.cursor() as cursor:
        cursor.execute(_PACES, [review.pk, review.pace])
        rows = cursor.fetchall()
    principals = Principal.objects.in_bulk([row[0] for row in rows])
    return [Pace(principals[reviewer], *rest) for reviewer, *rest in rows]


def drawn(review: Review, row: ReviewRow) -> bool:
    """Whether the lot falls on a row; anybody can draw it again from the digest of the population."""
    lot = hashlib.sha256(f"{review.digest}\n{row.key}".encode()).hexdigest()
    return int(lot[:8], 16) % 100 < review.sample


def look_again(
    current: ChangeInProgress,
    review: Review,
    rows: Sequence[ReviewRow],
    decider: Principal,
    authority: Authority,
) -> int:
    """Have another person look at those quick decisions on which the lot falls; answers how many."""
    drawn_rows = [row.pk for row in rows if drawn(review, row) and not row.seen_twice]
    # as they were decided just now
    chosen = ReviewRow.objects.filter(pk__in=drawn_rows).order_by("number") if drawn_rows else ()
    again = [(row, desk) for row in chosen if (desk := _other_desk(review, row, decider))]
    for row, desk in again:
        mine = ReviewRow.objects.filter(pk=row.pk)
        placed = seals_of_place(row, desk.pk)
        review_states.ROW.move(mine, "look_again", version=F("version") + 1, desk=desk, **placed)
    if again:
        data = {"review": review.pk, "rows": len(again), "numbers": [row.number for row, _ in again]}
        current.say(make_event(REVIEW_AGAIN, place_of(review), decider, **data), by=authority)
    return len(again)


def _other_desk(review: Review, row: ReviewRow, decider: Principal) -> ReviewDesk | None:
    """Where somebody else sits: a colleague, else the fallback, else the starter; None if nobody may."""
    seats = ReviewSeat.objects.filter(desk=row.desk_id, left__isnull=True).order_by("reviewer")
    colleagues = list(seats.values_list("reviewer", flat=True))
    wanted = [*colleagues, review.fallback_id, review.starter_id]
    others = [fromkey for fromkey in dict.fromkeys(wanted) if fromkey and fromkey != decider.pk]
    entering, mine = able(others), selves(others, now=timezone.now())
    fit = [other for other in others if other in entering and not is_own(row, mine[other])]
    if not fit:
        return None
    key = f"{AGAIN}:{fit[0]}"
    desk, new = desk_for(review, review.stage, key)
    if new:
        ReviewSeat.objects.create(desk=desk, reviewer_id=fit[0], ground=AGAIN)
    return desk

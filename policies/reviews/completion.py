"""The end of a review: what silence means, what is carried out, what is proved, and what is left."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from accounts.models import Principal
from catalog.models import Realm
from catalog.queries import root
from policies import notices
from policies.authority import SYSTEM, of_system
from policies.errors import Conflict
from policies.events import REVIEW_ALL_CARRIED, REVIEW_CLOSED
from policies.models import Review, ReviewRow, review_states
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.reviews import proofs, removals
from policies.reviews.management import notice_key
from policies.reviews.pace_checks import AGAIN
from policies.reviews.population import LEASE, Lost, keep_lease, release, take_lease
from policies.sentences import say, sentence

Choice, Kind = ReviewRow.Choice, ReviewRow.Kind
BATCH = 50
PATIENCE = timedelta(days=7)
"""So long a closed review waits for a backend that cannot be read."""
ENDED = notices.kind("review.ended", "your completed access reviews", mail=False)
CLOSED = sentence(
    "review.closed",
    "Review {title} is closed: {many} removal is proved.",
    "Review {title} is closed: {many} removals are proved.",
)
LOOK_AGAIN = timedelta(days=90)
"""When somebody has to look again at what a review left."""


def work(review: Review, *, told: Callable[[int], None] | None = None) -> bool:
    """Go on with a review whose deciding is over, from wherever it is; False when another worker is at it.

    `told` hears how many rows were carried out after each batch.
    """
    if not take_lease(review, ("closing", "proving")):
        return False
    try:
        if review.state == "closing":
            settle(review)
            _carry_all(review, told or (lambda many: None))
        _prove(review)
    except Lost:
        return False
    finally:
        release(review)
    review.refresh_from_db()
    return True


def settle(review: Review) -> None:
    """Give every row its end: kept, or to be carried out.  Done again it does nothing."""
    rows = ReviewRow.objects.filter(review=review, state__in=("open", "decided", "again"))
    decided = rows.exclude(choice="")
    changing = (Choice.REMOVE, Choice.REDUCE, Choice.END)
    _each(decided.filter(choice__in=changing), "order")
    _each(decided.exclude(choice__in=changing), "keep")
    silent = rows.filter(choice="")
    if review.silence == Review.Silence.REMOVE:
        # a denial that goes opens something, and an object without an owner is nobody's: not by silence
        removed = silent.exclude(Q(effect="deny") | Q(kind=Kind.OWNER))
        _each(removed, "order", default=True, choice=Choice.REMOVE)
    _each(rows.filter(choice=""), "keep", default=True)


def _each(rows: QuerySet[ReviewRow], name: str, **values: Any) -> None:
    with suppress(Conflict):  # there may be none
        review_states.ROW.move(rows, name, **values)


def _carry_all(review: Review, report: Callable[[int], None]) -> None:
    waiting = ReviewRow.objects.filter(review=review, state="waiting").order_by("number")
    done = 0
    while batch := list(waiting.select_related("holder", "group", "decided_by")[:BATCH]):
        for row in batch:
            removals.carry(review, row)
            done += 1
            keep_lease(review)
        report(done)
    with change(REVIEW_ALL_CARRIED, realm=Realm(pk=review.realm_id), by=SYSTEM) as current:
        review_states.REVIEW.move(Review.objects.filter(pk=review.pk, lease=review.lease), "carry")
        event = make_event(REVIEW_ALL_CARRIED, root(review.realm), review=review.pk, **_final_counts(review))
        current.say(event, by=of_system("deciding is over"))
    review.refresh_from_db()


def _final_counts(review: Review) -> dict[str, int]:
    counted = ReviewRow.objects.filter(review=review).values("state").annotate(many=Count("pk"))
    return {row["state"]: row["many"] for row in counted}


def _prove(review: Review) -> None:
    """Note which rows the backends no longer have; close it when none is left, or after all patience."""
    left = proofs.prove(review)
    waited = review.ended is not None and timezone.now() - review.ended > PATIENCE
    if left and not waited:
        return
    if left:
        proofs.give_up(review)
    close(review)


def close(review: Review) -> None:
    """Close a review in which nothing is left to do, and notify its starter.  Raises Conflict."""
    with change(REVIEW_CLOSED, realm=Realm(pk=review.realm_id), by=SYSTEM) as current:
        rows = Review.objects.filter(pk=review.pk)
        totals = _final_counts(review)
        counts = {**review.counts, "ended": totals, "exceptions": exceptions(review).count()}
        review_states.REVIEW.move(rows, "prove", closed=current.at, counts=counts)
        data = {"digest": review.digest, **totals}
        current.say(
            make_event(REVIEW_CLOSED, root(review.realm), review=review.pk, **data),
            by=of_system("all is proved"),
        )
        text = say(CLOSED, title=review.title, many=totals.get("proved", 0))
        key = notice_key(review, "closed")
        notices.tell(review.starter, ENDED, text, key=key, link=f"/reviews/{review.pk}")
    review.refresh_from_db()


def exceptions(review: Review) -> QuerySet[ReviewRow]:
    """What a review leaves to look at: silence, doubt, and what was not carried out or not proved."""
    left = Q(state__in=("failed", "carried", "waiting")) | Q(choice=Choice.UNSURE)
    left |= Q(default=True, state="kept") | Q(kind=Kind.FOREIGN, state="kept")
    left |= Q(desk__key__startswith=f"{AGAIN}:", seen_twice=False)
    rows = ReviewRow.objects.filter(left, review=review).order_by("rank", "number")
    return rows.select_related("holder", "group", "decided_by", "desk")


@dataclass(frozen=True)
class Left:
    """One exception: why the row is one, who answers for it, and until when."""

    row: ReviewRow
    why: str
    owner: Principal
    until: datetime


def listed(review: Review, *, after: int = 0, limit: int = 100) -> list[Left]:
    """Some exceptions of a review, after the one of that number.  One query."""
    rows = exceptions(review).filter(number__gt=after).order_by("number")[:limit]
    end = (review.ended or review.due) + LOOK_AGAIN
    return [Left(row, _why(row), row.decided_by or review.starter, end) for row in rows]


def _why(row: ReviewRow) -> str:
    if row.state == "failed":
        return row.outcome
    if row.state == "carried":
        return row.outcome or "It was ended here; the backend was not yet read without it."
    if row.state == "waiting":
        return "It waits to be carried out."
    if row.choice == Choice.UNSURE:
        return "The reviewer did not know."
    if row.default:
        return "Nobody decided."
    return "Given outside, and kept." if row.kind == Kind.FOREIGN else "Nobody looked at it again."


def waiting() -> list[Review]:
    """The reviews in which something is left to carry out or to prove, and nobody is at it."""
    free = Q(leased__isnull=True) | Q(leased__lt=timezone.now() - LEASE)
    return list(Review.objects.filter(free, state__in=("closing", "proving")).order_by("pk"))

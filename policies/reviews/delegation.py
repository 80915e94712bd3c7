"""Passing rows on: a reviewer to a colleague, the review's leader to anybody; and to the next stage."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from accounts.entering import able
from accounts.models import Principal
from catalog.models import Realm
from catalog.queries import root
from policies import notices
from policies.authority import Actor, Authority, of_duty
from policies.errors import Conflict, Invalid
from policies.events import REVIEW_PASSED
from policies.models import Review, ReviewDesk, ReviewRow, ReviewSeat, review_states
from policies.models.review_seals import is_on_its_desk, seals_of_place
from policies.record import newest_editions
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.reviews import management
from policies.reviews.decisions import REVIEWER
from policies.reviews.management import notice_key
from policies.reviews.population import ASKED
from policies.reviews.reviewers import desk_for, selves
from policies.sentences import say, sentence

PASSED = "passed"
PASSED_ON = sentence(
    "review.passed",
    "{who} passed {many} row on to you: {title}.",
    "{who} passed {many} rows on to you: {title}.",
)


def pass_on(
    review: Review,
    to: Principal,
    *,
    by: Actor,
    rows: Iterable[int] | None = None,
    reason: str = "",
) -> int:
    """Have somebody else decide rows that are still open; answers how many.

    A reviewer passes on what they are asked about, the review's leader any rows; with None all of theirs, or
    all that nobody can be asked about.  What is the other's own access stays.  Raises Refused, Invalid,
    Conflict when nothing is left to pass on.
    """
    with change(REVIEW_PASSED, realm=Realm(pk=review.realm_id), by=by, reason=reason) as current:
        _check(review, to)
        rows_ = _passable(review, by, rows).exclude(_own(to))
        desk, _ = desk_for(review, review.stage, f"{PASSED}:{to.pk}")
        may = _authority(review, by, rows_)
        many = _put_on(desk, rows_)
        if not many:
            raise Conflict(gettext("None of these rows can be reassigned to them any longer."))
        seat, new = ReviewSeat.objects.get_or_create(
            desk=desk, reviewer=to, defaults={"ground": PASSED, "by": by.principal}
        )
        if not new and seat.left:
            ReviewSeat.objects.filter(pk=seat.pk).update(left=None)
        event = make_event(REVIEW_PASSED, root(review.realm), to, review=review.pk, rows=many)
        current.say(event, by=may)
        _tell(review, to, by, many, current.revision)
    return many


def _put_on(desk: ReviewDesk, rows: QuerySet[ReviewRow]) -> int:
    moved = list(rows.select_for_update(of=("self",)))
    for row in moved:
        for name, value in seals_of_place(row, desk.pk).items():
            setattr(row, name, value)
        row.desk, row.version = desk, row.version + 1
    columns = ["desk", "desk_seal", "seal", "edition", "version"]
    return ReviewRow.objects.bulk_update(moved, columns, batch_size=500)


def _check(review: Review, to: Principal) -> None:
    if to.kind != Principal.Kind.USER or to.pk not in able([to.pk]):
        raise Invalid(gettext("%(to)s cannot sign in, so they cannot decide.") % {"to": to.label})
    state = Review.objects.filter(pk=review.pk).values_list("state", flat=True).first()
    if state != "open":
        raise Conflict(review_states.REVIEW.too_late(state))


def _passable(review: Review, by: Actor, rows: Iterable[int] | None) -> QuerySet[ReviewRow]:
    rows_ = ReviewRow.objects.filter(review=review, state__in=review_states.UNDECIDED)
    if rows is not None:
        return rows_.filter(pk__in=list(rows))
    mine = _seats(review, by)
    if mine.exists():
        return rows_.filter(desk__in=mine.values("desk"))
    return rows_.filter(desk__isnull=True)


def _seats(review: Review, by: Actor) -> QuerySet[ReviewSeat]:
    return ReviewSeat.objects.filter(desk__review=review, reviewer=by.principal, left__isnull=True)


def _authority(review: Review, by: Actor, rows: QuerySet[ReviewRow]) -> Authority:
    """A reviewer's, when they are asked about every one of the rows, or that of the review's leader."""
    seats = newest_editions.among([seat for seat in _seats(review, by) if seat.is_sealed])
    desks = {seat.desk_id for seat in seats}
    others = any(row.desk_id not in desks or not is_on_its_desk(row) for row in rows)
    held = by.principal is not None and (not others or management.leads(review, by.principal))
    return of_duty(by, REVIEWER, held=held, otherwise=gettext("You do not review all of these rows."))


def _own(person: Principal) -> Q:
    mine = selves([person.pk], now=timezone.now())[person.pk]
    held = [-key for key in mine if key < 0]
    rule = ReviewRow.Kind.RULE
    return Q(holder__in=[key for key in mine if key > 0]) & ~Q(kind=rule) | Q(kind=rule, role__in=held)


def _tell(review: Review, to: Principal, by: Actor, many: int, revision: int) -> None:
    notices.tell(
        to,
        ASKED,
        say(PASSED_ON, many=many, title=review.title),
        key=notice_key(review, f"passed {revision}"),
        link=f"/reviews/{review.pk}",
        who=by.principal,
        until=review.due,
    )

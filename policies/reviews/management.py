"""Leading a running review: its starter, or who else may grant there, extends, ends or calls it off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import Principal
from catalog.models import Realm
from catalog.nodes import Node
from catalog.queries import root
from policies.authority import SYSTEM, Actor, Authority, of_system
from policies.errors import Conflict, Invalid, Refused
from policies.events import REVIEW_CANCELLED, REVIEW_ENDED, REVIEW_EXTENDED, REVIEW_REPEATED
from policies.models import Notice, Review, review_states
from policies.notices import settle
from policies.record.change import ChangeInProgress, change
from policies.record.event_drafts import make_event
from policies.reviews.campaign_plans import LONGEST, scope_of
from policies.reviews.start import authority, nudge


class Led(NamedTuple):
    """A change to a running review: what gathers its events, the realm's root, and the right to do it."""

    current: ChangeInProgress
    place: Node
    may: Authority


def leads(review: Review, person: Principal | None) -> bool:
    """Whether somebody may extend, end and call off a review, and read all of it."""
    if person is None:
        return False
    try:
        authority(scope_of(review), Actor(person, "console"))
    except Refused:
        return False
    return True


def extend(review: Review, days: int, *, by: Actor, reason: str = "") -> Review:
    """Give the running stage, and those after it, so many days more.  Raises Refused, Invalid, Conflict."""
    if not 1 <= days <= LONGEST.days:
        raise Invalid(gettext("A review is extended by 1 to %(days)s days.") % {"days": LONGEST.days})
    with led(REVIEW_EXTENDED, review, by, reason) as (current, place, may):
        stages = _later(review, timedelta(days=days))
        rows = Review.objects.filter(pk=review.pk, state__in=("building", "open"), due=review.due)
        if not rows.update(stages=stages, due=stages[-1]["until"], reminded=[]):
            raise Conflict(
                review_states.REVIEW.too_late(
                    Review.objects.filter(pk=review.pk).values_list("state", flat=True).first()
                )
            )
        until = stages[-1]["until"]
        current.say(make_event(REVIEW_EXTENDED, place, review=review.pk, until=until), by=may)
    return _again(review)


def _later(review: Review, more: timedelta) -> list[dict[str, Any]]:
    """The stages with later ends, from the running one on."""
    kept = []
    for number, stage in enumerate(review.stages):
        end = datetime.fromisoformat(stage["until"]) + (more if number >= review.stage else timedelta())
        kept.append({**stage, "until": end.isoformat()})
    return kept


def end(review: Review, *, by: Actor, reason: str = "") -> Review:
    """End deciding before its time; what was decided is carried out.  Raises Refused, Conflict."""
    with led(REVIEW_ENDED, review, by, reason) as (current, place, may):
        _end(current, review, place, may)
    return _again(review)


def end_in_time(review: Review) -> None:
    """The same when its time is over.  Raises Conflict when somebody ended it meanwhile."""
    realm = Realm(pk=review.realm_id)
    with change(REVIEW_ENDED, realm=realm, by=SYSTEM) as current:
        _end(current, review, root(review.realm), of_system("its time is over"))


def _end(current: ChangeInProgress, review: Review, place: Node, may: Authority) -> None:
    review_states.REVIEW.move(Review.objects.filter(pk=review.pk), "end", ended=timezone.now())
    current.say(make_event(REVIEW_ENDED, place, review=review.pk), by=may)
    settle_notices(review)
    transaction.on_commit(lambda: nudge("policies.tasks.carry_reviews"), robust=True)


def cancel(review: Review, *, by: Actor, reason: str = "") -> Review:
    """Call a review off; nothing is removed.  Raises Refused, Conflict."""
    with led(REVIEW_CANCELLED, review, by, reason) as (current, place, may):
        now = timezone.now()
        review_states.REVIEW.move(Review.objects.filter(pk=review.pk), "cancel", ended=now, closed=now)
        current.say(make_event(REVIEW_CANCELLED, place, review=review.pk), by=may)
        settle_notices(review)
    return _again(review)


def repeat(review: Review, every: int | None, *, by: Actor, reason: str = "") -> Review:
    """Have a review come again after so many months, or, with None, no more.  Raises Refused, Invalid."""
    if every is not None and not 1 <= every <= 36:
        raise Invalid(gettext("A review comes again after 1 to 36 months."))
    with led(REVIEW_REPEATED, review, by, reason) as (current, place, may):
        Review.objects.filter(pk=review.pk).update(every=every)
        how = f"set to every {every} months" if every else "ended"
        current.say(make_event(REVIEW_REPEATED, place, review=review.pk, how=how), by=may)
    return _again(review)


@contextmanager
def led(kind: str, review: Review, by: Actor, reason: str) -> Iterator[Led]:
    """A change by somebody who leads the review, judged under the writers' lock.  Raises Refused."""
    with change(kind, realm=Realm(pk=review.realm_id), by=by, reason=reason) as current:
        may = authority(scope_of(review), by)
        yield Led(current, root(review.realm), may)


def notice_key(review: Review, what: str = "") -> str:
    """Under which key people are told of a review."""
    return f"review:{review.pk}:{what}" if what else f"review:{review.pk}"


def settle_notices(review: Review, person: Principal | None = None) -> None:
    """Nobody owes it anything any more, or one person does not."""
    key = notice_key(review)
    notices = Notice.objects.filter(Q(key=key) | Q(key__startswith=f"{key}:"), done__isnull=True)
    notices = notices.filter(recipient=person) if person else notices
    settle(*notices.values_list("key", flat=True).distinct(), person=person)


def _again(review: Review) -> Review:
    review.refresh_from_db()
    return review

"""What time brings about in running reviews: reminders, the next stage, the end, the next of a series."""

from __future__ import annotations

import calendar
import logging
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from accounts.entering import able
from accounts.models import Principal
from catalog.models import Realm
from policies import notices
from policies.authority import SYSTEM, Actor, of_system
from policies.errors import Conflict, PolicyError
from policies.events import (
    REVIEW_ASKED_ON,
    REVIEW_EXTENDED,
    REVIEW_REPEATED,
    REVIEW_RESEATED,
    REVIEW_STAGE,
    REVIEW_STARTED,
)
from policies.models import Review, ReviewRow, ReviewSeat, review_states
from policies.models.review_seals import seals_of_place, seals_undecided
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.reviews import management, start
from policies.reviews.campaign_plans import plan_of
from policies.reviews.events import place_of
from policies.reviews.management import notice_key
from policies.reviews.population import Lost, keep_lease, release, take_lease, tell_reviewers
from policies.reviews.reviewers import Seating
from policies.sentences import say, sentence

BATCH = 500
ESCALATED = "starter"
ESCALATION_DAYS = 7
REMIND = notices.kind("review.remind", "access reviews with open decisions of yours")
REPEAT = notices.kind("review.repeat", "your access reviews that cannot repeat")
STILL_WAIT = sentence("review.still_wait", "Some rows still wait for you: {title}.")
NOT_AGAIN = sentence("review.not_again", "The review {title} does not repeat: {why}")

logger = logging.getLogger(__name__)


def tick(now: datetime | None = None) -> None:
    """Look after every running review, and begin those whose time has come."""
    now = now or timezone.now()
    for review in Review.objects.filter(state="open").order_by("pk"):
        try:
            look_after(review, now)
        except (Conflict, Lost) as problem:
            logger.info("review %s: %s", review.pk, problem)
    for review in Review.objects.filter(every__isnull=False).exclude(state="building").order_by("pk"):
        if following(review) <= now:
            begin_again(review)


def look_after(review: Review, now: datetime) -> None:
    """Remind, or take a review on when its stage is over.  Raises Conflict when somebody else did."""
    until = datetime.fromisoformat(review.stages[review.stage]["until"])
    if now < until:
        seat_again(review, now)
        remind(review, now)
    elif review.stage + 1 < len(review.stages):
        next_stage(review)
    elif _escalates(review):
        _add_stage(review, now)
        next_stage(review)
    else:
        management.end_in_time(review)


def seat_again(review: Review, now: datetime) -> int:
    """Ask others about what is put to people none of whom can sign in any more; answers how many rows.

    Two queries where everybody can.
    """
    deserted = _deserted(review, now)
    if not deserted or not take_lease(review, ("open",)):
        return 0
    seating, many, last = Seating(review, place_of(review), review.stage), 0, 0
    left = ReviewRow.objects.filter(review=review, state="open", desk__in=deserted)
    try:
        with change(REVIEW_RESEATED, realm=Realm(pk=review.realm_id), by=SYSTEM) as current:
            while batch := list(left.filter(number__gt=last).order_by("number")[:BATCH]):
                last = batch[-1].number
                seating.seat(batch)
                many += _move_on(batch)
            if many:
                event = make_event(REVIEW_RESEATED, place_of(review), review=review.pk, rows=many)
                current.say(event, by=of_system("none of its reviewers can sign in"))
                tell_reviewers(review)
    finally:
        release(review)
    return many


def _deserted(review: Review, now: datetime) -> list[int]:
    """The desks at which something is left to decide, and nobody who can sign in."""
    open_rows = ReviewRow.objects.filter(desk=OuterRef("desk"), state="open")
    seats = ReviewSeat.objects.filter(Exists(open_rows), desk__review=review, left__isnull=True)
    by_desk: dict[int, set[int]] = {}
    for desk, person in seats.values_list("desk", "reviewer"):
        by_desk.setdefault(desk, set()).add(person)
    entering = (
        able({item for people in by_desk.values() for item in people}, now=now) if by_desk else frozenset()
    )
    return sorted(desk for desk, people in by_desk.items() if people.isdisjoint(entering))


# reminders


def remind(review: Review, now: datetime) -> int:
    """Remind those who still owe something, once at half time, three days and one day before the end."""
    due = [mark for mark, moment in marks(review) if moment <= now]
    marks_ = [mark for mark in due if _mark(review, mark) not in review.reminded]
    if not marks_:
        return 0
    with transaction.atomic():
        rows = Review.objects.filter(pk=review.pk, reminded=review.reminded, state="open")
        if not rows.update(reminded=[*review.reminded, *(_mark(review, mark) for mark in marks_)]):
            return 0
        return _tell(review, marks_[-1])


def marks(review: Review) -> list[tuple[str, datetime]]:
    """When reminders of the running stage go out, in order of time."""
    end = datetime.fromisoformat(review.stages[review.stage]["until"])
    begin = review.opened or review.started
    if review.stage:
        begin = datetime.fromisoformat(review.stages[review.stage - 1]["until"])
    before = {"3": end - timedelta(days=3), "1": end - timedelta(days=1)}
    marks_ = [("half", begin + (end - begin) / 2), *before.items()]
    return sorted(((mark, at) for mark, at in marks_ if at > begin), key=lambda pair: pair[1])


def _mark(review: Review, mark: str) -> str:
    return f"{review.stage}:{mark}:{review.stages[review.stage]['until']}"


def _tell(review: Review, mark: str) -> int:
    people = owing(review)
    if not people:
        return 0
    return notices.tell(
        people,
        REMIND,
        say(STILL_WAIT, title=review.title),
        key=notice_key(review, f"{review.stage}:{mark}"),
        link=f"/reviews/{review.pk}",
        until=datetime.fromisoformat(review.stages[review.stage]["until"]),
    )


def owing(review: Review) -> QuerySet[Principal]:
    """Who still has rows to decide."""
    rows = ReviewRow.objects.filter(review=review, state__in=review_states.UNDECIDED, desk__isnull=False)
    return Principal.objects.filter(
        seats__left__isnull=True, seats__desk__in=rows.values("desk").distinct()
    ).distinct()


# stages


def next_stage(review: Review) -> None:
    """Seat others for what is undecided or doubtful, and tell them; after a crash it goes on where it was."""
    if not take_lease(review, ("open",)):
        return
    try:
        many = _seat(review, review.stage + 1)
        with change(REVIEW_STAGE, realm=Realm(pk=review.realm_id), by=SYSTEM) as current:
            rows = Review.objects.filter(pk=review.pk, stage=review.stage, lease=review.lease, state="open")
            if not rows.update(stage=F("stage") + 1):
                raise Conflict(
                    gettext("Review %(number)s was taken on by someone else.") % {"number": review.pk}
                )
            review.stage += 1
            data = {"review": review.pk, "stage": review.stage + 1, "rows": many}
            current.say(make_event(REVIEW_STAGE, place_of(review), **data), by=of_system("a stage is over"))
            if many:
                tell_reviewers(review)
    finally:
        release(review)


def _seat(review: Review, stage: int) -> int:
    seating = Seating(review, place_of(review), stage)
    # what waits for a second look is decided, and stays where another person looks
    left = Q(state="open") | Q(state="decided", choice=ReviewRow.Choice.UNSURE)
    many = last = 0
    while True:
        # read under the writers' lock: nobody decides a row between its being read and its being moved
        with change(REVIEW_ASKED_ON, realm=Realm(pk=review.realm_id), by=SYSTEM) as current:
            rows = ReviewRow.objects.filter(left, review=review, number__gt=last)
            batch = list(rows.exclude(desk__stage=stage).order_by("number")[:BATCH])
            if not batch:
                break
            last = batch[-1].number
            seating.seat(batch)
            if moved := _move_on(batch):
                event = make_event(REVIEW_ASKED_ON, place_of(review), review=review.pk, rows=moved)
                current.say(event, by=of_system("a stage is over"))
            many += moved
            keep_lease(review)
    return many


def _move_on(batch: Iterable[ReviewRow]) -> int:
    moved = 0
    for row in batch:
        mine = ReviewRow.objects.filter(pk=row.pk, version=row.version)
        desk = row.desk
        sealed = seals_of_place(row, desk.pk, undecided=True) if desk else seals_undecided(row)
        blank: dict[str, Any] = {"choice": "", "quick": False, "desk": desk, **sealed}
        try:
            moved += review_states.ROW.move(mine, "pass_on", version=F("version") + 1, **blank)
        except Conflict:
            continue  # decided in this very moment, by who was asked until now
    return moved


def _escalates(review: Review) -> bool:
    rows = ReviewRow.objects.filter(review=review, state="open")
    last_stage = review.stages[-1]
    return review.silence == Review.Silence.ESCALATE and not last_stage.get("escalated") and rows.exists()


def _add_stage(review: Review, now: datetime) -> None:
    """Ask the starter for what nobody decided."""
    until = now + timedelta(days=ESCALATION_DAYS)
    stage: dict[str, Any] = {"by": ESCALATED, "people": [], "days": ESCALATION_DAYS, "escalated": True}
    stages = [*review.stages, {**stage, "until": until.isoformat()}]
    with change(REVIEW_EXTENDED, realm=Realm(pk=review.realm_id), by=SYSTEM) as current:
        rows = Review.objects.filter(pk=review.pk, stages=review.stages, state="open")
        if not rows.update(stages=stages, due=until):
            raise Conflict(gettext("Review %(number)s was changed by someone else.") % {"number": review.pk})
        data = {"review": review.pk, "until": until.isoformat()}
        current.say(make_event(REVIEW_EXTENDED, place_of(review), **data), by=of_system("a stage is over"))
    review.stages, review.due = stages, until


# series


def following(review: Review) -> datetime:
    """When the next of a series is due: so many months after this one was started."""
    months = review.started.month - 1 + (review.every or 0)
    year, month = review.started.year + months // 12, months % 12 + 1
    day = min(review.started.day, calendar.monthrange(year, month)[1])
    return review.started.replace(year=year, month=month, day=day)


def begin_again(review: Review) -> Review | None:
    """Start the next of a series, by the right of its starter; None when that is gone, or it was done."""
    by = Actor(review.starter, "review")
    try:
        with change(REVIEW_STARTED, realm=Realm(pk=review.realm_id), by=by):
            rows = Review.objects.filter(pk=review.pk, every=review.every)
            if not rows.update(every=None):
                return None
            return start.start(plan_of(review), by=by, series=review.series or review)
    except PolicyError as problem:
        _cannot(review, str(problem))
        return None


def _cannot(review: Review, why: str) -> None:
    with change(REVIEW_REPEATED, realm=Realm(pk=review.realm_id), by=SYSTEM) as current:
        if not Review.objects.filter(pk=review.pk, every=review.every).update(every=None):
            return
        event = make_event(REVIEW_REPEATED, place_of(review), review=review.pk, how="ended", why=why)
        current.say(event, by=of_system("it cannot begin"))
        text = say(NOT_AGAIN, title=review.title, why=why)
        notices.tell(review.starter, REPEAT, text, key=notice_key(review, "repeat"))

"""Deciding: a reviewer says of rows what is to become of them; nothing is carried out before the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from accounts.models import Principal
from accounts.text import holdable
from catalog.models import Realm
from policies.authority import Actor, Authority, of_duty
from policies.errors import Conflict, Invalid, NotFound, PolicyError, Refused
from policies.events import REVIEW_DECIDED, REVIEW_TAKEN_BACK
from policies.models import Review, ReviewDecision, ReviewRow, ReviewSeat, review_states
from policies.models.review_seals import (
    is_on_its_desk,
    is_row_sealed,
    seals_of_decision,
    seals_undecided,
)
from policies.record import newest_editions
from policies.record.change import ChangeInProgress, change
from policies.reviews import management, pace_checks
from policies.reviews.events import said_of
from policies.reviews.reviewers import is_own, selves

Choice, Kind = ReviewRow.Choice, ReviewRow.Kind
LONGEST_REASON = 2000
REVIEWER = "reviewer"
FAR_ONE_BY_ONE = gettext_lazy("High-risk rows are decided one at a time.")
REDUCIBLE = (Kind.GRANT, Kind.RULE)
ENDABLE = (Kind.GRANT, Kind.ROLE, Kind.RULE, Kind.FOREIGN)


@dataclass(frozen=True)
class Verdict:
    """What somebody decides about one row.

    `version` is that of the row as seen.  `takes` are the privileges that go where it is reduced,
    `until` is when it ends.
    """

    row: int
    version: int
    choice: str
    takes: tuple[str, ...] = ()
    until: datetime | None = None
    reason: str = ""


@dataclass(frozen=True)
class Outcome:
    """What became of the verdicts of one step: the rows decided, and of the others why not."""

    decided: tuple[int, ...]
    refused: tuple[tuple[int, str], ...]


def choices(row: ReviewRow) -> tuple[str, ...]:
    """What can be decided about a row, in the order of the keys 1 2 3 4 and reduce after them."""
    choices_ = [Choice.KEEP, Choice.REMOVE]
    if row.kind in ENDABLE and row.effect != "deny":
        choices_.append(Choice.END)
    choices_.append(Choice.UNSURE)
    if row.kind in REDUCIBLE and len(row.privileges) > 1:
        choices_.append(Choice.REDUCE)
    return tuple(choices_)


def decide(
    review: Review, verdicts: Sequence[Verdict], *, by: Actor, seconds: float | None = None
) -> Outcome:
    """Decide rows in one step; those that another reviewer changed meanwhile stay as decided.

    `seconds` is how long the reviewer looked at them.  Raises Refused for somebody who is asked about none of
    them, Invalid for too many at once and for a verdict that cannot be meant, Conflict when it is over.
    """
    reviewer = _person(by)
    with change(REVIEW_DECIDED, realm=Realm(pk=review.realm_id), by=_acting(by, review)) as current:
        _still_open(review)
        rows = {row.pk: row for row in _rows(review, verdicts)}
        if missing := [item.row for item in verdicts if item.row not in rows]:
            raise NotFound(gettext("There is no row %(missing)s in this review.") % {"missing": missing[0]})
        _not_too_many(review, verdicts, rows)
        question = _Asked(review, reviewer, list(rows.values()))
        for verdict in verdicts:
            question.check(rows[verdict.row])
            _check_seal(rows[verdict.row])
            _check(review, rows[verdict.row], verdict)
        step = _Step(current, review, reviewer, question.authority(by), len(verdicts), seconds)
        return step.take([(rows[item.row], item) for item in verdicts])


def take_back(review: Review, row: int, version: int, *, by: Actor) -> None:
    """Leave a row undecided again.  Raises Refused, Conflict, NotFound."""
    reviewer = _person(by)
    with change(REVIEW_TAKEN_BACK, realm=Realm(pk=review.realm_id), by=_acting(by, review)) as current:
        _still_open(review)
        rows = _rows(review, [Verdict(row, version, "")])
        if not rows:
            raise NotFound(gettext("There is no row %(row)s in this review.") % {"row": row})
        question = _Asked(review, reviewer, rows)
        question.check(rows[0])
        _check_seal(rows[0])
        blank: dict[str, Any] = {"choice": "", "takes": [], "until": None, "reason": "", "quick": False}
        _move(rows[0], version, "take_back", **blank, **seals_undecided(rows[0]))
        _log(rows[0], reviewer, review, Verdict(row, version, ""), current, None, 1)
        current.say(said_of(REVIEW_TAKEN_BACK, review, rows[0]), by=question.authority(by))


def _person(by: Actor) -> Principal:
    if by.principal is None:
        raise Refused(gettext("Nobody is signed in."))
    return by.principal


def _acting(by: Actor, review: Review) -> Actor:
    """The reviewer acts for the review's starter."""
    return Actor(by.principal, by.via, by.request_id, on_behalf_of=review.starter)


def _still_open(review: Review) -> None:
    state = Review.objects.filter(pk=review.pk).values_list("state", flat=True).first()
    if state != "open":
        raise Conflict(review_states.REVIEW.too_late(state))


def _rows(review: Review, verdicts: Sequence[Verdict]) -> list[ReviewRow]:
    wanted = {verdict.row for verdict in verdicts}
    rows = ReviewRow.objects.filter(review=review, pk__in=wanted)
    return list(rows.select_related("holder", "group", "decided_by", "desk").order_by("number"))


def _not_too_many(review: Review, verdicts: Sequence[Verdict], rows: dict[int, ReviewRow]) -> None:
    if not verdicts:
        raise Invalid(gettext("Enter at least one row."))
    if len({verdict.row for verdict in verdicts}) != len(verdicts):
        raise Invalid(gettext("A row is decided once in a step."))
    if len(verdicts) > review.bulk:
        raise Invalid(
            gettext("At most %(most)s rows are decided in one step; these are %(many)s.")
            % {"most": review.bulk, "many": len(verdicts)}
        )
    if len(verdicts) > 1 and any(
        rows[verdict.row].far and verdict.choice == Choice.KEEP for verdict in verdicts
    ):
        raise Invalid(str(FAR_ONE_BY_ONE))


def _check_seal(row: ReviewRow) -> None:
    """Raises Refused for a row that somebody wrote past the console: deciding would make it one of ours."""
    if not is_row_sealed(row):
        raise Refused(
            gettext("Row %(row)s cannot be decided: it was not written by this console.")
            % {"row": row.number}
        )


def _check(review: Review, row: ReviewRow, verdict: Verdict) -> None:
    """Raises Invalid for a verdict that cannot be meant of this row."""
    if verdict.choice not in choices(row):
        raise Invalid(gettext("Row %(row)s cannot be decided this way.") % {"row": row.number})
    if verdict.choice == Choice.REDUCE and not set(verdict.takes) < set(row.privileges):
        raise Invalid(
            gettext("Choose some, but not all, of the rights of row %(row)s to remove.") % {"row": row.number}
        )
    if verdict.choice == Choice.REDUCE and not verdict.takes:
        raise Invalid(gettext("Choose the rights of row %(row)s to remove.") % {"row": row.number})
    if verdict.choice == Choice.END:
        _check_end(row, verdict.until)
    if not holdable(verdict.reason) or len(verdict.reason) > LONGEST_REASON:
        raise Invalid(gettext("A reason has at most %(most)s characters.") % {"most": LONGEST_REASON})
    if needs_reason(review, row, verdict.choice) and not verdict.reason.strip(" .-"):
        raise Invalid(gettext("Give a reason for row %(row)s.") % {"row": row.number})


def _check_end(row: ReviewRow, until: datetime | None) -> None:
    if until is None or until <= timezone.now():
        raise Invalid(gettext("Row %(row)s ends on a date that is still to come.") % {"row": row.number})
    if row.valid_until is not None and until > row.valid_until:
        raise Invalid(
            gettext("Row %(row)s ends before that by itself; a review does not make access longer.")
            % {"row": row.number}
        )


def needs_reason(review: Review, row: ReviewRow, choice: str) -> bool:
    """Whether the review wants a reason for deciding a row so."""
    if review.reasons == Review.Reasons.NEVER or not choice:
        return False
    if review.reasons == Review.Reasons.ALWAYS:
        return True
    changes = choice not in (Choice.KEEP, Choice.UNSURE)
    return changes or (review.reasons == Review.Reasons.FAR and row.far)


class _Asked:
    """Whether somebody is asked about rows: by a seat at their desk, and never about their own access."""

    def __init__(self, review: Review, reviewer: Principal, rows: Sequence[ReviewRow]) -> None:
        self.review, self.reviewer = review, reviewer
        self.mine = selves([reviewer.pk], now=timezone.now())[reviewer.pk]
        desks = {row.desk_id for row in rows}
        seats = ReviewSeat.objects.filter(desk__in=desks, reviewer=reviewer, left__isnull=True)
        sealed = [seat for seat in seats if seat.is_sealed]
        newest = newest_editions.among([*sealed, *rows])
        self.desks = {seat.desk_id for seat in sealed if seat in newest}
        self.outdated = {row.pk for row in rows if row not in newest}

    def check(self, row: ReviewRow) -> None:
        """Raises Refused."""
        if row.desk_id not in self.desks or not is_on_its_desk(row) or row.pk in self.outdated:
            raise Refused(gettext("You do not review row %(row)s.") % {"row": row.number})
        if is_own(row, self.mine):
            raise Refused(
                gettext("Row %(row)s is your own access; someone else decides it.") % {"row": row.number}
            )
        if row.state == "again" and row.decided_by_id == self.reviewer.pk:
            raise Refused(
                gettext("Row %(row)s waits for another person to look again.") % {"row": row.number}
            )

    def authority(self, by: Actor) -> Authority:
        acting = _acting(by, self.review)
        return of_duty(
            acting, REVIEWER, held=bool(self.desks), otherwise=gettext("You are not a reviewer of this.")
        )


class _Step:
    """One step of one reviewer, while it is taken."""

    def __init__(
        self,
        current: ChangeInProgress,
        review: Review,
        reviewer: Principal,
        authority: Authority,
        many: int,
        seconds: float | None,
    ) -> None:
        self.current, self.review, self.reviewer, self.authority = current, review, reviewer, authority
        self.many = many
        self.each = seconds / many if seconds is not None and seconds >= 0 else None

    def take(self, pairs: Sequence[tuple[ReviewRow, Verdict]]) -> Outcome:
        decided, refused = [], []
        for row, verdict in pairs:
            try:
                self._decide(row, verdict)
            except Conflict as problem:
                refused.append((row.pk, str(problem)))
            else:
                decided.append(row.pk)
        self._have_looked_at([row for row, _ in pairs if row.pk in decided])
        self._settle()
        return Outcome(tuple(decided), tuple(refused))

    def _settle(self) -> None:
        """Reviewers who owe nothing more are no longer told that they do."""
        seats = ReviewSeat.objects.filter(desk__review=self.review, reviewer=self.reviewer, left__isnull=True)
        if not ReviewRow.objects.filter(owed(), desk__in=seats.values("desk")).exists():
            management.settle_notices(self.review, self.reviewer)

    def _have_looked_at(self, rows: Sequence[ReviewRow]) -> None:
        if self.each is not None and self.each < self.review.pace:
            given = (self.current, self.review, rows, self.reviewer, self.authority)
            pace_checks.look_again(*given)

    def _decide(self, row: ReviewRow, verdict: Verdict) -> None:
        row.seen_twice = row.seen_twice or row.state == "again"
        takes = list(verdict.takes) if verdict.choice == Choice.REDUCE else []
        until = verdict.until if verdict.choice == Choice.END else None
        _move(
            row,
            verdict.version,
            "decide",
            choice=verdict.choice,
            takes=takes,
            until=until,
            reason=verdict.reason.strip(),
            decided_by=self.reviewer,
            decided_at=self.current.at,
            quick=self.each is not None and self.each < self.review.pace,
            seen_twice=row.seen_twice,
            **seals_of_decision(row, verdict.choice, takes, until, self.reviewer.pk),
        )
        _log(row, self.reviewer, self.review, verdict, self.current, self.each, self.many)
        data = {"choice": verdict.choice, "takes": list(verdict.takes), "reason": verdict.reason.strip()}
        when = verdict.until.isoformat() if verdict.until else None
        event = said_of(REVIEW_DECIDED, self.review, row, **data, until=when, seconds=self.each)
        self.current.say(event, by=self.authority)


def _move(row: ReviewRow, version: int, name: str, **values: object) -> None:
    """Move a row that is as it was looked at; the loser of a race hears who was first.  Raises Conflict."""
    rows = ReviewRow.objects.filter(pk=row.pk, version=version)
    try:
        review_states.ROW.move(rows, name, version=F("version") + 1, **values)
    except Conflict as problem:
        raise Conflict(_overtaken(row.pk, version) or str(problem)) from None


def _overtaken(pk: int, version: int) -> str:
    now = ReviewRow.objects.filter(pk=pk).select_related("decided_by").first()
    if now is None or now.version == version:
        return ""
    if now.decided_by is None or not now.choice:
        return gettext("The decision on row %(row)s was withdrawn by someone else; check it again.") % {
            "row": now.number
        }
    return gettext("%(decided_by)s decided row %(row)s meanwhile: %(choice)s.") % {
        "decided_by": now.decided_by.label,
        "row": now.number,
        "choice": now.get_choice_display(),
    }


def _log(
    row: ReviewRow,
    reviewer: Principal,
    review: Review,
    verdict: Verdict,
    current: ChangeInProgress,
    seconds: float | None,
    many: int,
) -> None:
    ReviewDecision.objects.create(
        row=row,
        reviewer=reviewer,
        stage=review.stage,
        choice=verdict.choice,
        takes=list(verdict.takes),
        until=verdict.until,
        reason=verdict.reason.strip(),
        at=current.at,
        seconds=seconds,
        together=many,
        revision=current.revision,
    )


def owed() -> Q:
    """Rows that somebody still has to decide."""
    return Q(state__in=review_states.UNDECIDED)


__all__ = [
    "FAR_ONE_BY_ONE",
    "Outcome",
    "PolicyError",
    "Verdict",
    "choices",
    "decide",
    "needs_reason",
    "owed",
    "take_back",
]

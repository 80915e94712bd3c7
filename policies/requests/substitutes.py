"""Substitutes decide requests for people who are away: named ahead, from one moment until another."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import Principal
from policies.authority import Actor, of_duty
from policies.errors import Invalid, NotFound, Refused
from policies.events import event
from policies.models import Substitute
from policies.record.change import change
from policies.record.event_drafts import make_event

NAMED = event("substitute.named", "let {deputy} decide requests for {person} until {until}")
CALLED_OFF = event("substitute.ended", "no longer lets {deputy} decide requests for {person}")
LONGEST = timedelta(days=366)
AHEAD = timedelta(days=3660)


def name(person: Principal, deputy: Principal, starts: datetime, ends: datetime, *, by: Actor) -> Substitute:
    """Have somebody decide for a person who is away.  Raises Refused for another's absence, Invalid.

    The right to decide for others cannot be handed on.
    """
    if person.kind != Principal.Kind.USER or deputy.kind != Principal.Kind.USER:
        raise Invalid(gettext("Only people decide requests."))
    if person == deputy:
        raise Invalid(gettext("Enter someone else."))
    with change(NAMED, realm=None, by=by) as current:
        authority = of_duty(
            by,
            "self",
            held=by.principal == person,
            otherwise=gettext("Everyone names their own substitute."),
        )
        if current.at + AHEAD < starts:
            raise Invalid(gettext("A substitute can be named at most ten years ahead."))
        if ends <= starts or ends <= current.at or ends - starts > LONGEST:
            raise Invalid(
                gettext("The end must be after the beginning, in the future, and within a year of it.")
            )
        row = Substitute.objects.create(
            person=person, deputy=deputy, starts=starts, ends=ends, made_at=current.at
        )
        draft = make_event(NAMED, None, person, deputy, deputy=deputy.pseudonym, until=ends.isoformat())
        current.say(draft, by=authority)
    return row


def call_off(number: int, *, by: Actor) -> None:
    """End a substitution before its end: by whom it is for, or by the substitute.  Raises NotFound."""
    with change(CALLED_OFF, realm=None, by=by) as current:
        row = Substitute.objects.filter(pk=number, ended_at__isnull=True).first()
        if row is None or by.principal is None or by.principal.pk not in (row.person_id, row.deputy_id):
            raise NotFound(gettext("You have no such substitution."))
        authority = of_duty(by, "self", held=True, otherwise="")
        Substitute.objects.filter(pk=row.pk).update(ended_at=current.at)
        draft = make_event(CALLED_OFF, None, row.person, row.deputy, deputy=row.deputy.pseudonym)
        current.say(draft, by=authority)


def of(person: Principal, *, now: datetime | None = None) -> QuerySet[Substitute]:
    """Who decides for somebody, now or later, the next first."""
    return _lasting(now).filter(person=person).select_related("deputy").order_by("starts", "pk")


def for_deputy(deputy: Principal, *, now: datetime | None = None) -> QuerySet[Substitute]:
    """For whom somebody decides, now or later, the next first."""
    return _lasting(now).filter(deputy=deputy).select_related("person").order_by("starts", "pk")


def _lasting(now: datetime | None) -> QuerySet[Substitute]:
    return Substitute.objects.filter(ended_at__isnull=True, ends__gt=now or timezone.now())


__all__ = ["Refused", "call_off", "for_deputy", "name", "of"]

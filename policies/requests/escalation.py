"""What time does to requests: those that nobody decides go on to the next level, and in the end lapse."""

from __future__ import annotations

import logging
from datetime import datetime

from policies.authority import SYSTEM, of_system
from policies.errors import PolicyError
from policies.models import AccessRequest, RequestPart, RequestWant
from policies.models.requests import PART, STILL_OPEN
from policies.record.change import change
from policies.requests import (
    decision_places,
    fulfilment,
    notifications,
    outcomes,
    parties,
    provisioning,
    rules,
)
from policies.requests.record_words import part_said
from policies.requests.steps import ESCALATED, GIVEN, LAPSED, REOPENED, fresh, stepped
from policies.separation import Separated

log = logging.getLogger(__name__)
AT_ONCE = 500
"""So many are looked after in one turn; the rest in the next."""
SEPARATED = "A rule of separation of duties forbids it by now."


def tick(now: datetime) -> int:
    """Do what is due; answers how much was."""
    due = AccessRequest.objects.filter(STILL_OPEN, lapses_at__lte=now).order_by("lapses_at")
    lapse = sum(_lapsed(number, now) for number in list(due.values_list("pk", flat=True)[:AT_ONCE]))
    return lapse + _escalate(now) + _begin(now) + provisioning.look()


def _lapsed(number: int, now: datetime) -> bool:
    request = AccessRequest.objects.select_related("realm", "asker", "holder").get(pk=number)
    with change(LAPSED, realm=request.realm, by=SYSTEM) as current:
        request = fresh(request)
        if not request.open or request.lapses_at > now:
            return False
        outcomes.end(request, "lapse", now=current.at)
        stepped(current, request, LAPSED, by=of_system("time"))
        notifications.became(request, fresh(request).state)
    return True


def _escalate(now: datetime) -> int:
    due = RequestPart.objects.filter(state="asked", escalates_at__lte=now, request__lapses_at__gt=now)
    return sum(_escalated(pk, now) for pk in list(due.values_list("pk", flat=True)[:AT_ONCE]))


def _escalated(pk: int, now: datetime) -> bool:
    part = RequestPart.objects.select_related("request__realm").get(pk=pk)
    with change(ESCALATED, realm=part.request.realm, by=SYSTEM) as current:
        part = RequestPart.objects.select_related("request__holder", "request__realm").get(pk=pk)
        if part.state != "asked" or part.escalates_at is None or part.escalates_at > now:
            return False
        request = part.request
        place = decision_places.of_row(part, request.holder.kind)
        approvers = place.deciders(parties.of(request), now=now) if place else []
        up = place.next(approvers, part.addressed) if place else []
        again = rules.rules_along(place.way).escalates(now) if place else None
        waits = {"escalates_at": again}
        if set(up) == set(part.addressed):
            RequestPart.objects.filter(pk=pk).update(**waits)
            return False
        RequestPart.objects.filter(pk=pk).update(addressed=up, **waits)
        part.addressed = up
        part_text = part_said(part)
        stepped(current, request, ESCALATED, by=of_system("time"), part=part.number, told=part_text)
        notifications.escalated(request, part, request.steps.filter(move="escalated").count())
    return True


def _begin(now: datetime) -> int:
    due = RequestWant.objects.filter(due__lte=now, given_at__isnull=True).order_by("due")
    numbers = list(dict.fromkeys(due.values_list("request", flat=True)[:AT_ONCE]))
    return sum(_begun(number) for number in numbers)


def _begun(number: int) -> bool:
    """Give what was approved ahead, if its approvers still may and nothing else forbids it."""
    request = AccessRequest.objects.select_related("realm", "asker", "holder").get(pk=number)
    try:
        with change(GIVEN, realm=request.realm, by=SYSTEM) as current:
            before = request.state
            fulfilment.carry(current, request, SYSTEM, ())
            state = outcomes.settle(request, now=current.at)
            if state != before:
                notifications.became(request, state)
    except PolicyError as problem:
        log.warning("request %s could not begin: %s", number, problem)
        # the requester reads it, and a rule of separation may speak of others and of what they have
        _open_again(request, SEPARATED if isinstance(problem, Separated) else str(problem))
    return True


def _open_again(request: AccessRequest, why: str) -> None:
    """Nobody gets what may not begin: those who approved it decide again, and are told why."""
    with change(REOPENED, realm=request.realm, by=SYSTEM) as current:
        wants = list(request.wants.filter(given_at__isnull=True, due__isnull=False))
        request.wants.filter(pk__in=[want.pk for want in wants]).update(due=None)
        numbers = {want.number for want in wants}
        parts = [part for part in request.parts.all() if part.wants & numbers and not part.carried]
        for part in parts:
            PART.move(request.parts.filter(pk=part.pk), "reopen", given=[], role=None, note=why)
            part_text, who = part_said(part), part.decided_by
            stepped(
                current,
                request,
                REOPENED,
                by=of_system("time"),
                part=part.number,
                text=why,
                told=part_text,
                deputy=who.pseudonym if who else "",
            )
            notifications.reopened(request, part)
        state = outcomes.settle(request, now=current.at)
        notifications.became(request, state)

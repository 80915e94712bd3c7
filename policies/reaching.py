"""How many people hold rights on what somebody owns, and how often that changed: numbers for overviews."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date, datetime

from django.db.models import Count, Q, QuerySet
from django.db.models.functions import TruncDate
from django.utils import timezone

from accounts.models import Membership, Principal
from catalog.models import Placement
from catalog.nodes import any_in, on_or_below
from policies.models import Assignment, Change, Event, Grant, Ownership
from policies.models.grants import Effect


def people(owned: Collection[int], *, at: Sequence[datetime]) -> list[int]:
    """How many people and services are given something on objects, below or above them, at each moment.

    Rights that are held, not decisions: who is denied elsewhere counts too.  Two queries a moment.
    """
    return [_people(owned, moment) for moment in at]


def _people(owned: Collection[int], moment: datetime) -> int:
    revision = Change.objects.filter(at__lte=moment).order_by("-at", "-revision")
    as_of = revision.values_list("revision", flat=True).first() or 0
    under = Placement.objects.as_of(as_of).filter(on_or_below(owned)).values("securable")
    grants = Grant.objects.as_of(as_of).within(moment).filter(effect=Effect.ALLOW, securable__in=under)
    held = Assignment.objects.as_of(as_of).within(moment).filter(role__in=grants.values("role"))
    owners = Ownership.objects.as_of(as_of).filter(securable__in=under)
    holders = Q(pk__in=held.values("holder")) | Q(pk__in=owners.values("owner"))
    holders |= Q(pk__in=grants.filter(holder__isnull=False).values("holder"))
    found = Principal.objects.filter(holders)
    inside = Membership.objects.as_of(as_of).within(moment).filter(group__in=found.filter(kind="group"))
    alone = Q(pk__in=found.exclude(kind="group").values("pk")) | Q(pk__in=inside.values("member"))
    return Principal.objects.filter(alone).count()


def changes_by_day(owned: Collection[int], kinds: Sequence[str], *, since: datetime) -> dict[date, int]:
    """How many such events there were on objects and below them, by the reader's day.  One query."""
    zone = timezone.get_current_timezone()
    rows: QuerySet[Event] = Event.objects.filter(
        any_in("lineage", owned), kind__in=kinds, change__at__gte=since
    )
    days = rows.annotate(day=TruncDate("change__at", tzinfo=zone)).values("day").order_by("day")
    return {row["day"]: row["many"] for row in days.annotate(many=Count("pk"))}

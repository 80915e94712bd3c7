"""How often people used objects in some days, as jobs told it: counts for pictures, never facts of access."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date, datetime

from django.db.models import Count, Max, QuerySet
from django.db.models.functions import TruncDate
from django.utils import timezone

from accounts.models import Principal
from catalog.models import Placement
from catalog.nodes import Node, on_or_below
from policies.models import Use


def used_in(node: Node, *, since: datetime) -> QuerySet[Use]:
    """What was really used on an object and below it since a moment."""
    below = Placement.objects.open().filter(on_or_below({node.id})).values("securable")
    return Use.objects.filter(executed=True, at__gte=since, securable__in=below)


def by_day(rows: QuerySet[Use], people: Collection[int]) -> Mapping[int, Mapping[date, int]]:
    """How many uses of each of some people there were on each of the reader's days.  One query."""
    zone = timezone.get_current_timezone()
    days = rows.filter(principal__in=list(people)).order_by()
    counted = days.annotate(day=TruncDate("at", tzinfo=zone)).values_list("principal", "day")
    counts: dict[int, dict[date, int]] = {}
    for person, day, many in counted.annotate(many=Count("pk")):
        counts.setdefault(person, {})[day] = many
    return counts


def most_used(rows: QuerySet[Use], limit: int) -> list[int]:
    """The numbers of the objects that were used most, the most used first.  One query."""
    counted = rows.order_by().values("securable").annotate(many=Count("pk"))
    return list(counted.order_by("-many", "securable").values_list("securable", flat=True)[:limit])


def users(rows: QuerySet[Use], among: QuerySet[Principal]) -> list[int]:
    """The numbers of those who used something, the most active first, of some people.  One query."""
    counted = rows.filter(principal__in=among).order_by().values("principal").annotate(many=Count("pk"))
    return list(counted.order_by("-many", "principal").values_list("principal", flat=True))


def pairs(
    rows: QuerySet[Use], people: Collection[int], objects: Collection[int]
) -> Mapping[tuple[int, int], tuple[int, datetime]]:
    """How many uses of each object by each person there were, and the last of them.  One query."""
    wanted = rows.filter(principal__in=list(people), securable__in=list(objects)).order_by()
    counted = wanted.values_list("principal", "securable").annotate(many=Count("pk"), last=Max("at"))
    return {(person, key): (many, last) for person, key, many, last in counted}

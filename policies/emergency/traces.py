"""What somebody did during an emergency: uses of what was open, and changes on this site."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db.models import Count, Exists, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce

from catalog.models import Placement
from catalog.queries import all_below
from policies.models import Change, Emergency, Use


def uses_of(row: Emergency, *, limit: int = 200) -> list[Use]:
    """What they used on or below the object while it was open, the newest first.  One query."""
    placed = Q(securable=row.securable_id) | Q(securable__in=all_below(row.securable_id).values("securable"))
    rows = Use.objects.filter(placed, principal=row.person_id, at__gte=row.opened, at__lt=_last(row))
    return list(rows.order_by("-at", "-pk")[:limit])


def how_many_uses(rows: Collection[Emergency]) -> dict[int, int]:
    """How many those are, by the number of each emergency.  One query."""
    top = OuterRef(OuterRef("securable"))
    inside = Placement.objects.open().filter(securable=OuterRef("securable"), ancestors__contains=[top])
    during = Use.objects.filter(
        Q(securable=OuterRef("securable")) | Q(Exists(inside)),
        principal=OuterRef("person"),
        at__gte=OuterRef("opened"),
        at__lt=Coalesce(OuterRef("ended"), OuterRef("until")),
    )
    many = during.order_by().values("principal").annotate(many=Count("pk")).values("many")
    emergencies = Emergency.objects.filter(pk__in=[row.pk for row in rows])
    return dict(emergencies.values_list("pk", Coalesce(Subquery(many), 0)))


def changes_of(row: Emergency) -> int:
    """How many changes they made on this site while it was open, the opening left out.  One query."""
    mine = Change.objects.filter(actor=row.person.pseudonym, at__gte=row.opened, at__lt=_last(row))
    return mine.exclude(revision=row.revision).count()


def _last(row: Emergency) -> datetime:
    return row.ended or row.until

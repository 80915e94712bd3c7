"""What stands in many reviews at once, and when it was decided; counted by the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db.models import Count
from django.db.models.functions import TruncHour

from policies.models import Review, ReviewRow


def summed(reviews: Sequence[Review]) -> Mapping[int, Mapping[str, int]]:
    """The rows of each review by what is decided about them; `open` are the rest.  One query."""
    rows = ReviewRow.objects.filter(review__in=[item.pk for item in reviews])
    totals: dict[int, dict[str, int]] = {}
    for review, choice, many in (
        rows.values("review", "choice").annotate(many=Count("pk")).values_list("review", "choice", "many")
    ):
        totals.setdefault(review, {})[choice or "open"] = many
    return totals


def by_hour(review: Review) -> list[tuple[datetime, int]]:
    """How many rows were decided in each hour in which any was.  One query."""
    rows = ReviewRow.objects.filter(review=review, decided_at__isnull=False)
    hours = rows.annotate(hour=TruncHour("decided_at")).values("hour").annotate(many=Count("pk"))
    return list(hours.order_by("hour").values_list("hour", "many"))

"""Pages of a list in an order: each begins after the row that its address names, however far down that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from django.db.models import Model, Q, QuerySet

Row = TypeVar("Row", bound=Model)


def ordered(rows: QuerySet[Row], order: Sequence[str], after: int | None) -> QuerySet[Row]:
    """The rows by some columns and then by number, from behind the one of that number.

    From the first one where no such row is among them.  One query when there is one to begin after.
    """
    columns = [*order, "pk"]
    rows = rows.order_by(*columns)
    last = rows.filter(pk=after).values_list(*columns).first() if after is not None else None
    if last is None:
        return rows
    behind, alike = Q(pk__in=[]), Q()
    for column, value in zip(columns, last, strict=True):
        behind |= alike & Q(**{f"{column}__gt": value})
        alike &= Q(**{column: value})
    return rows.filter(behind)


def page_bounds(first: str, last: str) -> str:
    """What a page holds, by the names of its first and last row."""
    return f"{first} to {last}, by name" if first != last else f"{first}, by name"

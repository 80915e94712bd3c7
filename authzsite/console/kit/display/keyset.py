"""Pages of a list in an order: each begins after the row that its address names, however far down that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, Q, QuerySet
from django.utils.translation import gettext as _

from authzsite.console.kit.display.lists import Pager

Row = TypeVar("Row", bound=Model)


def ordered(rows: QuerySet[Row], order: Sequence[str], after: int | None) -> QuerySet[Row]:
    """The rows by some columns and then by number, from behind the one of that number.

    A column with a minus before its name is read from its end.  From the first one where no such row is
    among them.  One query when there is one to begin after.
    """
    columns = [*order, "pk"]
    rows, names = rows.order_by(*columns), [column.removeprefix("-") for column in columns]
    last = rows.filter(pk=after).values_list(*names).first() if after is not None else None
    if last is None:
        return rows
    behind, alike = Q(pk__in=[]), Q()
    for asked, column, value in zip(columns, names, last, strict=True):
        behind |= alike & Q(**{f"{column}__{'lt' if asked.startswith('-') else 'gt'}": value})
        alike &= Q(**{column: value})
    return rows.filter(behind)


@dataclass(frozen=True)
class KeysetPage(Generic[Row]):
    """One page of a list, from behind the row numbered `after`; `following` is 0 on the last page."""

    rows: list[Row]
    after: int | None
    following: int

    def pager(self, text: str, url: Callable[[int], str], csv: str = "") -> Pager:
        """The way on, and back to the beginning; `url` answers the address of what begins behind a row."""
        return Pager(text, url(0) if self.after else "", url(self.following) if self.following else "", csv)

    def bounds(self, label: Callable[[Row], str], *, by_name: bool = True) -> str:
        """What the page holds, by the names of its first and last row; "" in another order than by name."""
        return page_bounds(label(self.rows[0]), label(self.rows[-1])) if self.rows and by_name else ""


def keyset_page(rows: QuerySet[Row], order: Sequence[str], after: int | None, size: int) -> KeysetPage[Row]:
    """So many of the rows by some columns and then by number, from behind the one of a number."""
    rows_ = list(ordered(rows, order, after)[: size + 1])
    return KeysetPage(rows_[:size], after, rows_[size - 1].pk if len(rows_) > size else 0)


def page_bounds(first: str, last: str) -> str:
    """What a page holds, by the names of its first and last row."""
    return (
        _("%(first)s to %(last)s, by name") % {"first": first, "last": last}
        if first != last
        else _("%(first)s, by name") % {"first": first}
    )

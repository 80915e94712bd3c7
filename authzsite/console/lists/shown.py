"""A list as one person looks at it: its columns, its order, and the views they saved of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic
from urllib.parse import parse_qsl, urlencode

from django.http import QueryDict
from django.urls import reverse

from accounts.models import ListView
from authzsite.console.kit.display.lists import Toggle
from authzsite.console.kit.display.tables import Column, Head, Item, Order, PageOfTable, Table
from authzsite.console.kit.http import Request, account_of, number_in

PASSING = frozenset({"view", "after", "from", "before"})
"""What stands in the address of a list and is no filter of it: the view, and how far down one is."""


@dataclass(frozen=True)
class ColumnChoice:
    code: str
    label: Any
    shown: bool


@dataclass(frozen=True)
class ListOptions:
    """What stands beside the filters of a list: its views, and the form for columns and rows."""

    display_url: str
    save_url: str
    delete_url: str
    views: Sequence[Toggle]
    columns: Sequence[ColumnChoice]
    compact: bool
    view: str
    """The name of the view one is on."""
    number: int
    changed: bool
    """Whether the filters or the order are others than those of the view."""


@dataclass(frozen=True)
class ShownList(Generic[Item]):
    """One list for one person, as an address asks for it."""

    table: Table[Item]
    asked: QueryDict
    saved: Sequence[ListView]
    compact: bool

    @classmethod
    def of(cls, request: Request, table: Table[Item]) -> ShownList[Item]:
        """As the signed-in person looks at it.  One query."""
        account = account_of(request)
        saved = ListView.objects.filter(account=account, table=table.code).order_by("name")
        return cls(table, request.GET, list(saved), account.compact_lists)

    @cached_property
    def view(self) -> ListView | None:
        """The view that the address names, if it is one of theirs."""
        number = number_in(self.asked.get("view", ""))
        return next((view for view in self.saved if view.name and view.pk == number), None)

    @cached_property
    def order(self) -> Order | None:
        return self.table.order(self.asked.get("sort", ""))

    @property
    def by(self) -> tuple[str, ...]:
        """The columns of the database that the list is in order of."""
        return self.order.by if self.order else ()

    @property
    def as_it_opens(self) -> bool:
        """Whether it is in the order in which everybody first sees it."""
        return self.order == self.table.order()

    @cached_property
    def codes(self) -> list[str] | None:
        """Which columns were chosen; None when they never were."""
        opening = next((view for view in self.saved if not view.name), None)
        chosen = self.view or opening
        return [str(code) for code in chosen.columns] if chosen else None

    @property
    def kept(self) -> dict[str, str]:
        """What each address within the list holds beside its filters."""
        sort = "" if self.as_it_opens or self.order is None else self.order.code
        return {"sort": sort, "view": str(self.view.pk) if self.view else ""}

    def url(self, **filters: object) -> str:
        """The address of the list with these filters, in this order and view."""
        asked = {**filters, **self.kept}
        return "?" + urlencode({name: value for name, value in asked.items() if value})

    def page(self, rows: Iterable[Item]) -> PageOfTable:
        return self.table.page(rows, self.codes, self._head)

    def _head(self, column: Column[Item]) -> Head:
        order = self.order
        here = order is not None and order.column is column
        how = ("descending" if order and order.descending else "ascending") if here else ""
        if not column.sort or not column.code:
            return Head(column, how)
        wanted = f"-{column.code}" if how == "ascending" else column.code
        return Head(column, how, self._with(sort=wanted))

    def _with(self, **changed: str) -> str:
        rest = [(name, text) for name, text in self.asked.items() if name not in {"after", "from", *changed}]
        return "?" + urlencode([(name, text) for name, text in (*rest, *changed.items()) if text])

    def options(self) -> ListOptions:
        code, here = self.table.code, self.view
        shown = {column.code for column in self.table.shown(self.codes)}
        return ListOptions(
            display_url=reverse("console:list_display", args=[code]),
            save_url=reverse("console:list_view_save", args=[code]),
            delete_url=reverse("console:list_view_delete", args=[code, here.pk]) if here else "",
            views=[Toggle(view.name, address_of(view), view == here) for view in self.saved if view.name],
            columns=[
                ColumnChoice(column.code, column.label, column.code in shown)
                for column in self.table.choosable
            ],
            compact=self.compact,
            view=here.name if here else "",
            number=here.pk if here else 0,
            changed=here is not None and query_of(self.asked.urlencode()) != here.query,
        )


def address_of(view: ListView) -> str:
    """The filters and the order of a view, and which view it is."""
    return "?" + urlencode([*parse_qsl(view.query), ("view", view.pk)])


def query_of(query: str) -> str:
    """What a view keeps of the query in an address of its list: the filters and the order."""
    asked = sorted((name, text) for name, text in parse_qsl(query))
    return urlencode([(name, text) for name, text in asked if name not in PASSING])

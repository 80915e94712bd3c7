"""What can be read of a realm as a whole: each view with its keys, its filters, its rows and who may."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from accounts.models import Principal
from catalog.nodes import Node
from policies.data_views import access as data_views_access
from policies.data_views import events, grants, uses
from policies.data_views import objects as data_views_objects
from policies.data_views.pinned import Keys, Pin, Range
from policies.data_views.visibility import governed, recorded

Row = dict[str, Any]
Where = Mapping[str, Collection[str]]
"""For a column the texts that it may be."""


@dataclass(frozen=True)
class Page:
    """Rows in the order of their keys; `next` is the key to go on after, None at the end of the range."""

    rows: list[Row]
    next: Keys | None


@dataclass(frozen=True)
class View:
    """One view; `scope` is what a token needs for it, `filters` the columns that can be asked for.

    `sight` is where the viewer may look, None for nowhere; `rows` reads at most so many of a range.
    `archived`: it is told from the archive too, so that no past is too old for it.
    """

    name: str
    scope: str
    keys: str
    filters: frozenset[str]
    sight: Callable[[Principal, Node], Any]
    rows: Callable[[Pin, Any, Range, Where, int], tuple[list[Row], Keys | None]]
    archived: bool = False

    def page(self, pin: Pin, seen: Any, within: Range, where: Where, limit: int) -> Page:
        return Page(*self.rows(pin, seen, within, where, limit))


VIEWS = {
    view.name: view
    for view in (
        View(
            "access",
            "check",
            data_views_objects.KEYS,
            data_views_access.FILTERS,
            governed,
            data_views_access.rows,
        ),
        View("grants", "check", grants.KEYS, grants.FILTERS, governed, grants.rows),
        View("audit", "audit", events.KEYS, events.FILTERS, recorded, events.rows, archived=True),
        View("uses", "check", uses.KEYS, uses.FILTERS, governed, uses.rows),
        View(
            "objects",
            "check",
            data_views_objects.KEYS,
            data_views_objects.FILTERS,
            data_views_objects.sight,
            data_views_objects.rows,
        ),
    )
}

"""Events about reviews and their rows."""

from __future__ import annotations

from catalog.nodes import Node
from catalog.queries import root
from policies.events import EventDraft
from policies.models import Review, ReviewRow


def said_of(kind: str, review: Review, row: ReviewRow, **data: object) -> EventDraft:
    """An event about a row: at its object, about its holder.  The row comes with `holder` and `group`."""
    people = tuple(item.pseudonym for item in (row.holder, row.group) if item is not None)
    person = {"person": people[0]} if people else {}
    values = {"review": review.pk, "row": row.number, "key": row.key, **data, **person}
    name = f"{place_of(review).name}/{row.what}"
    return EventDraft(kind, row.type, name, tuple(row.lineage), people, values)


def place_of(review: Review) -> Node:
    """The realm of a review; asked once for a review at hand."""
    node: Node | None = review.__dict__.get("_place")
    if node is None:
        node = root(review.realm)
        review.__dict__["_place"] = node
    return node

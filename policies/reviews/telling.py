"""Events about the rows of a review."""

from __future__ import annotations

from catalog.queries import root
from policies.events import Said
from policies.models import Review, ReviewRow


def said_of(kind: str, review: Review, row: ReviewRow, **data: object) -> Said:
    """An event about a row: at its object, about its holder.  The row comes with `holder` and `group`."""
    people = tuple(one.pseudonym for one in (row.holder, row.group) if one is not None)
    person = {"person": people[0]} if people else {}
    told = {"review": review.pk, "row": row.number, "key": row.key, **data, **person}
    name = f"{realm_name(review)}/{row.what}"
    return Said(kind, row.type, name, tuple(row.lineage), people, told)


def realm_name(review: Review) -> str:
    """What the realm is called now; asked once for a review at hand."""
    name: str | None = review.__dict__.get("_realm_name")
    if name is None:
        name = root(review.realm).name
        review.__dict__["_realm_name"] = name
    return name

"""Who owns what, in sets: everything of somebody, what has no owner, what belongs to who cannot come in."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet

from accounts.entering import able_principals
from accounts.models import Principal
from accounts.text import holdable
from catalog.models import Placement
from catalog.nodes import Node, any_of, nodes, on_or_below
from policies.decisions.personal_role_names import MARK
from policies.models import Ownership

NOBODY, GONE = "nobody", "gone"
TOP = ("catalog", "role")
"""What should have an owner of its own: what lies in them has theirs."""
ORDER = ("ancestors__len", "type", "name")
"""The highest first, by name."""


@dataclass(frozen=True)
class OwnershipFilter:
    """Which objects of a realm: those of somebody, of nobody, or of who cannot come in; by type and name."""

    root: Node
    owner: Principal | None = None
    how: str = ""
    type: str = ""
    text: str = ""
    only: tuple[int, ...] = ()


def places(asked: OwnershipFilter, governed: Collection[int]) -> QuerySet[Placement]:
    """Those of them that lie in what the asker governs, in their `ORDER`."""
    rows = (
        Placement.objects.open()
        .filter(securable__realm=asked.root.realm_id)
        .exclude(type="role", name__startswith=MARK)
    )
    rows = rows.filter(on_or_below(governed))
    if asked.type:
        rows = rows.filter(type=asked.type)
    if asked.only:
        rows = rows.filter(any_of("securable_id", asked.only))
    if asked.text:
        rows = rows.filter(name__icontains=asked.text) if holdable(asked.text) else rows.none()
    return _owned(rows, asked).order_by(*ORDER, "pk")


def owners_in(root: Node, governed: Collection[int]) -> QuerySet[Principal]:
    """Those who own something of a realm that lies in what the asker governs."""
    inside = places(OwnershipFilter(root), governed).order_by().filter(securable=OuterRef("securable"))
    owned = Ownership.objects.open().filter(Exists(inside), owner=OuterRef("pk"))
    return Principal.objects.filter(Exists(owned))


def _owned(rows: QuerySet[Placement], filter_: OwnershipFilter) -> QuerySet[Placement]:
    owners = Ownership.objects.open().filter(securable=OuterRef("securable"))
    if filter_.how == NOBODY:
        return rows.filter(~Exists(owners), parent=filter_.root.id, type__in=TOP)
    if filter_.how == GONE:
        owners = owners.filter(~Exists(able_principals().filter(pk=OuterRef("owner"))))
    elif filter_.owner is not None:
        owners = owners.filter(owner=filter_.owner)
    return rows.filter(Exists(owners))


def owners_of(keys: Sequence[int]) -> dict[int, Principal]:
    """The own owner of each object that has one.  One query."""
    rows = Ownership.objects.open().filter(securable__in=keys).select_related("owner")
    return {row.securable_id: row.owner for row in rows}


def in_order(rows: Sequence[Placement]) -> list[Node]:
    """The objects of some placements, in their order.  One query or two."""
    by_id = nodes(row.securable_id for row in rows)
    return [by_id[row.securable_id] for row in rows if row.securable_id in by_id]

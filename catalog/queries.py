"""Realms by name, objects below one another.  Reads what is open now."""

from __future__ import annotations

from django.db.models import QuerySet

from accounts.text import holdable
from catalog.models import Mode, Placement, Realm
from catalog.nodes import Node, node, nodes
from catalog.resolve import find, find_all
from lakewarden.facts import Level

__all__ = [
    "Node",
    "all_below",
    "below",
    "find",
    "find_all",
    "mode_of",
    "node",
    "nodes",
    "realm_named",
    "root",
]


def realm_named(name: str) -> Realm | None:
    """The open realm of that name."""
    if not holdable(name):
        return None
    place = (
        Placement.objects.open()
        .filter(scope__isnull=True, name=name)
        .select_related("securable__realm")
        .first()
    )
    return place.securable.realm if place else None


def root(realm: Realm) -> Node:
    """The realm's own object."""
    place = Placement.objects.open().get(securable__realm=realm, parent__isnull=True)
    return Node(
        place.securable_id, realm.pk, realm.kind, (Level(place.type, place.securable_id),), (place.name,)
    )


def mode_of(realm_id: int) -> str:
    """Whether the realm's law is enforced now."""
    mode: str = Mode.objects.open().get(realm=realm_id).mode
    return mode


def below(node: Node, type: str | None = None) -> QuerySet[Placement]:
    """The open placements directly below an object, by name."""
    rows = Placement.objects.open().filter(parent=node.id).order_by("type", "name")
    return rows.filter(type=type) if type else rows


def all_below(id: int) -> QuerySet[Placement]:
    """The open placements of everything below an object, however deep."""
    return Placement.objects.open().filter(ancestors__contains=[id])

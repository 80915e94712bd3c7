"""Realms by name, objects below one another.  Reads what is open now."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db.models import Func, Q, QuerySet, TextField, Value
from django.db.models.functions import Upper

from accounts.text import holdable
from catalog.models import Mode, Placement, Realm
from catalog.models.securables import FOLDED, PIECES
from catalog.nodes import Node, node, nodes
from catalog.resolve import find, find_all
from lakewarden.law.facts import Level

__all__ = [
    "Node",
    "all_below",
    "begins",
    "below",
    "find",
    "find_all",
    "first_root",
    "holds",
    "mode_of",
    "named",
    "node",
    "nodes",
    "realm_named",
    "root",
]

LONGEST = 600  # characters: twice the longest name, whose letters may be two each in upper case


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
    return _root(Placement.objects.open().get(securable__realm=realm, parent__isnull=True), realm)


def first_root() -> Node | None:
    """The object of the realm that is here longest; None on a site without realms.  One query."""
    roots = Placement.objects.open().filter(parent__isnull=True).order_by("opened", "pk")
    place = roots.select_related("securable__realm").first()
    return None if place is None else _root(place, place.securable.realm)


def _root(place: Placement, realm: Realm) -> Node:
    levels = (Level(place.type, place.securable_id),)
    return Node(place.securable_id, realm.pk, realm.law, levels, (place.name,))


def mode_of(realm_id: int) -> str:
    """Whether the realm's law is enforced now."""
    mode: str = Mode.objects.open().get(realm=realm_id).mode
    return mode


def below(node: Node, type: str | None = None) -> QuerySet[Placement]:
    """The open placements directly below an object, by name."""
    rows = Placement.objects.open().filter(parent=node.id).order_by("type", "name")
    return rows.filter(type=type) if type else rows


def named(rows: QuerySet[Placement]) -> QuerySet[Any]:
    """The same rows, ready to be asked with `begins` and `holds`, and sorted by `folded`."""
    return rows.annotate(folded=FOLDED).alias(pieces=PIECES)


def begins(text: str) -> Q:
    """Whose name begins with a text, in any case; an index finds them in their order."""
    return Q(folded__startswith=Upper(Value(text))) if holdable(text) else Q(pk__in=[])


def holds(text: str) -> Q:
    """Whose name holds a text, in any case.  From three letters on an index finds them.

    What is longer than any name is found nowhere, and not cut to pieces first: that takes long.
    """
    if not holdable(text) or len(text) > LONGEST:
        return Q(pk__in=[])
    held = Q(folded__contains=Upper(Value(text)))
    if len(text) < 3:
        return held
    pieces = Func(Value(text), function="name_pieces", output_field=ArrayField(TextField()))
    return Q(pieces__contains=pieces) & held


def all_below(id: int) -> QuerySet[Placement]:
    """The open placements of everything below an object, however deep."""
    return Placement.objects.open().filter(ancestors__contains=[id])

"""What is switched off: a metalake or catalog that its owner disabled, in which nothing can be used."""

from __future__ import annotations

from threading import Lock

from catalog.models import Detail
from catalog.nodes import Node

SWITCHED = ("metalake", "catalog")
"""The types of objects that can be switched off."""
WHILE_OFF = {
    "metalake": ("Metalake.loadMetalake", "Metalake.setMetalake", "Metalake.dropMetalake"),
    "catalog": ("Catalog.loadCatalog", "Catalog.setCatalog", "Catalog.dropCatalog", "Owner.", "Permission."),
}
"""How what can be done nevertheless begins: look at it, switch it on, drop it, say who may do what."""


class _Off:
    """The numbers of what is off, as of one revision; read again when somebody asks of another."""

    def __init__(self) -> None:
        self.lock, self.revision, self.keys = Lock(), -1, frozenset[int]()

    def at(self, revision: int) -> frozenset[int]:
        with self.lock:
            if revision != self.revision:
                rows = Detail.objects.filter(securable__type__in=SWITCHED, content__in_use=False)
                self.keys, self.revision = frozenset(rows.values_list("securable", flat=True)), revision
            return self.keys

    def forget(self) -> None:
        with self.lock:
            self.revision = -1


off = _Off()


def blocking(node: Node, operation: str, revision: int) -> Node | None:
    """The object, on the way to this one or itself, that is off and keeps the operation from being done.

    A query when something was changed since the last question, none else.
    """
    keys = off.at(revision)
    if not keys:
        return None
    for place in (*node.above(), node):
        if place.id in keys and not operation.startswith(WHILE_OFF[place.type]):
            return place
    return None

"""What is switched off now, for everybody who decides; the rule is `lakewarden.law.switches`."""

from __future__ import annotations

from collections.abc import Collection
from threading import Lock

from catalog.models import Detail, Realm
from catalog.nodes import Node
from lakewarden.law import switches
from lakewarden.law.facts import Lineage
from lakewarden.law.switches import SWITCHED

SWITCHING = "Catalog.setCatalog"


class _Off:
    """The numbers of what is off, as of one revision; read again when somebody asks of another."""

    def __init__(self) -> None:
        self.lock, self.revision, self.keys = Lock(), -1, frozenset[int]()

    def at(self, revision: int) -> frozenset[int]:
        with self.lock:
            if revision != self.revision:
                self.keys, self.revision = now(), revision
            return self.keys

    def forget(self) -> None:
        with self.lock:
            self.revision = -1


off = _Off()


def now() -> frozenset[int]:
    """The numbers of what is off.  One query."""
    rows = Detail.objects.filter(securable__type__in=SWITCHED, content__in_use=False)
    return frozenset(rows.values_list("securable", flat=True))


def as_set(node: Node, operation: str) -> str:
    """The operation whose law holds, as the realm is set.

    Owners switch catalogs off and on; in a metalake set to do as release 1.3.1 whoever may use them does.
    A query when switching a catalog is asked about, none else.
    """
    if operation != SWITCHING or node.type != "catalog":
        return operation
    as_released = Realm.objects.filter(pk=node.realm_id, settings__switching="release").exists()
    return "Catalog.loadCatalog" if as_released else operation


def is_off(levels: Lineage, off: Collection[int]) -> bool:
    """Whether nothing on which data stands can be used there, neither by anybody nor out in a backend."""
    return switches.blocking(levels, "", off) is not None


def blocking(node: Node, operation: str, revision: int) -> Node | None:
    """The object, on the way to this one or itself, that is off and keeps the operation from being done.

    A query when something was changed since the last question, none else.
    """
    keys = off.at(revision)
    level = switches.blocking(node.levels, operation, keys) if keys else None
    if level is None:
        return None
    return next(place for place in (*node.above(), node) if place.id == level.key)

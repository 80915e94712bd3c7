"""The files of a fileset, where its catalog is connected to the tree that they lie in."""

from __future__ import annotations

from collections.abc import Sequence

from catalog.models import Securable
from catalog.nodes import Node, node, number
from lakewarden.backends.errors import Misconfigured
from policies.models import Backend
from policies.sync.backends.files.tree import Entry
from policies.sync.connections.sources import opened


def listed(fileset: Node, below: Sequence[str]) -> list[Entry]:
    """What lies in the fileset's folder, or in a folder below it, by name; no link is followed.

    Raises BackendError: Gone where the folder is not there, or is not the one that was registered;
    Misconfigured where the catalog is not connected to a tree of files.
    """
    catalog = node(next(number(level) for level in fileset.levels if level.type == "catalog"))
    row = Backend.objects.filter(catalog=catalog.id).first() if catalog else None
    if catalog is None or row is None:
        raise Misconfigured("its catalog is not connected to a tree of files")
    known = Securable.objects.values_list("external_id", flat=True).get(pk=fileset.id)
    with opened(row, catalog) as tree:
        lists = getattr(tree, "listing", None)
        if lists is None:
            raise Misconfigured("its catalog is not connected to a tree of files")
        entries: list[Entry] = lists(fileset.path[len(catalog.path) :], tuple(below), known)
    return entries

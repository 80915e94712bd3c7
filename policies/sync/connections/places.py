"""Where the objects below a connected node are kept, as their own properties say."""

from __future__ import annotations

from catalog.models import Detail
from catalog.nodes import Node
from lakewarden.backends.kinds import Kind
from policies.sync.desired import targets_below

UNNAMED = "unknown"
"""The name that a fileset's only location has in what clients say."""


def places(node: Node, kind: Kind) -> dict[tuple[str, ...], str]:
    """The storage location of each object that has one of its own, by its path below the node."""
    paths = {target.id: target.path for target in targets_below(node, kind)}
    rows = Detail.objects.filter(securable__in=paths).values_list("securable", "content")
    found = {paths[id]: _location(content) for id, content in rows}
    return {path: location for path, location in found.items() if location}


def _location(content: dict[str, dict[str, str]]) -> str:
    named = content.get("storageLocations") or {}
    if named:
        return named.get(UNNAMED) or named[min(named)]
    return (content.get("properties") or {}).get("location", "")

"""What a kind of backend is handed when it is opened: it knows nothing of the console itself (adr 0016)."""

from __future__ import annotations

from collections.abc import Callable

from accounts.models import Principal
from catalog.models import Detail
from catalog.nodes import Node
from lakewarden.backends.kinds import Kind
from policies.models import RealmMember
from policies.sync.connections.destinations import network
from policies.sync.connections.peers import KnownPeers
from policies.sync.connections.record import WrittenRecord
from policies.sync.desired import targets_below
from policies.sync.directory import RealmDirectory

PEOPLE = (Principal.Kind.USER, Principal.Kind.SERVICE)

UNNAMED = "unknown"
"""The name that a fileset's only location has in what clients say."""


def places(node: Node, kind: Kind) -> dict[tuple[str, ...], str]:
    """The storage location of each object that has one of its own, by its path below the node."""
    paths = {target.id: target.path for target in targets_below(node, kind)}
    rows = Detail.objects.filter(securable__in=paths).values_list("securable", "content")
    locations = {paths[id]: _location(content) for id, content in rows}
    return {path: location for path, location in locations.items() if location}


def _location(content: dict[str, dict[str, str]]) -> str:
    named = content.get("storageLocations") or {}
    if named:
        return named.get(UNNAMED) or named[min(named)]
    return (content.get("properties") or {}).get("location", "")


def people(node: Node) -> frozenset[str]:
    """The names of all people and services that the realm admits.  One query."""
    members = RealmMember.objects.open().filter(realm=node.realm_id, principal__kind__in=PEOPLE)
    return frozenset(members.values_list("principal__name", flat=True))


def needed(kind: Kind, node: Node | None, mark: str) -> dict[str, object]:
    """What a kind needs, by its name; without a node it is only tried, so nothing is known of objects."""
    given: dict[str, Callable[[], object]] = {
        "network": network,
        "places": lambda: places(node, kind) if node else {},
        "people": lambda: people(node) if node else (),
        "record": lambda: WrittenRecord(mark),
        "peers": KnownPeers,
        "directory": lambda: RealmDirectory(node.realm_id if node else None),
    }
    return {need: given[need]() for need in kind.needs}

"""What a kind of backend is handed when it is opened: it knows nothing of the console itself (adr 0016)."""

from __future__ import annotations

from collections.abc import Callable

from accounts.models import Principal
from catalog.models import Detail
from catalog.nodes import Node
from lakewarden.backends.errors import Misconfigured
from lakewarden.backends.kinds import Kind
from policies.errors import Unsealed
from policies.models import RealmMember
from policies.services import object_details
from policies.sync.connections.destinations import network
from policies.sync.connections.peers import KnownPeers
from policies.sync.connections.record import WrittenRecord
from policies.sync.desired import targets_below
from policies.sync.directory import RealmDirectory

PEOPLE = (Principal.Kind.USER, Principal.Kind.SERVICE)


def places(node: Node, kind: Kind) -> dict[tuple[str, ...], str]:
    """The storage location of each object that has one of its own, by its path below the node.

    Raises Misconfigured where somebody wrote one past the console.
    """
    paths = {target.id: target.path for target in targets_below(node, kind)}
    rows = list(Detail.objects.filter(securable__in=paths).defer("comment", "columns"))
    try:
        object_details.check_written_here(rows)
    except Unsealed as problem:
        raise Misconfigured(str(problem)) from None
    locations = {paths[row.pk]: object_details.location_of(row.content) for row in rows}
    return {path: location for path, location in locations.items() if location}


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

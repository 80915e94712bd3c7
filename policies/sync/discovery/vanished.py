"""Objects that their source no longer has: listed with their grants, closed by people who may connect."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from django.utils.translation import gettext

from catalog.models import Securable
from catalog.nodes import Node, last
from catalog.queries import all_below, nodes
from lakewarden.backends import kinds
from lakewarden.backends.base import Observation
from policies.authority import Actor
from policies.errors import Invalid, NotFound
from policies.events import OBJECT_DROPPED
from policies.models import Backend, BackendFinding, Grant
from policies.models.grants import Effect
from policies.record.change import change
from policies.services import objects, realm_of
from policies.sync.connections.registration import authority_to_connect
from policies.sync.connections.sources import opened
from policies.sync.desired import targets_below
from policies.sync.differences.findings import VANISHED
from policies.sync.discovery.objects import holds

REASON = "gone from the source"


@dataclass(frozen=True)
class Gone:
    """An object that was not found there at the last look, and the open grants on it and below."""

    node: Node
    grants: tuple[Grant, ...]
    below: int


def vanished(row: Backend) -> list[Gone]:
    """What a backend's last look did not find, by name; what is in something vanished stands with it.

    Four queries, and one more for each vanished object that holds others.
    """
    rows = BackendFinding.objects.filter(backend=row, kind="unknown", what=VANISHED)
    nodes_ = nodes(rows.exclude(securable=None).values_list("securable", flat=True))
    tops = [node_ for node_ in nodes_.values() if nodes_.keys().isdisjoint(node_.lineage[:-1])]
    inside = {top.id: _inside(top) for top in tops}
    keys = {key for some in inside.values() for key in some}
    given = Grant.objects.open().filter(securable__in=keys, effect=Effect.ALLOW)
    grants = list(given.select_related("holder").order_by("pk"))
    return [
        Gone(top, tuple(row for row in grants if row.securable_id in inside[top.id]), len(inside[top.id]) - 1)
        for top in sorted(tops, key=lambda top: top.names)
    ]


def _inside(node: Node) -> frozenset[int]:
    below = all_below(node.id).values_list("securable", flat=True) if holds(node) else ()
    return frozenset((node.id, *below))


def close(row: Backend, chosen: Collection[int], *, by: Actor, reason: str = "") -> list[Node]:
    """Close those of the chosen objects that a fresh look does not find either, under no name; answers which.

    Raises Refused, Invalid, BackendError.
    """
    catalog = last(row.catalog_id)
    if catalog is None:
        raise NotFound(gettext("The catalog no longer exists."))
    authority_to_connect(by, catalog)
    wanted = [lost.node for lost in vanished(row) if lost.node.id in chosen]
    with opened(row, catalog) as source:
        seen = source.observe()
    if not seen.complete:
        raise Invalid(gettext("Not everything could be read there, so nothing is treated as gone."))
    gone = _still_gone(row, catalog, wanted, seen)
    with change(OBJECT_DROPPED, realm=realm_of(catalog), by=by, reason=reason or REASON):
        authority = authority_to_connect(by, catalog)
        for node in gone:
            objects.drop(node, by=by, authority=authority, reason=reason or REASON)
        BackendFinding.objects.filter(
            backend=row, what=VANISHED, securable__in=[lost.id for lost in gone]
        ).delete()
    return gone


def _still_gone(row: Backend, catalog: Node, wanted: Iterable[Node], seen: Observation) -> list[Node]:
    there = {(source_object.kind, source_object.path) for source_object in seen.objects}
    numbers = {source_object.id for source_object in seen.objects if source_object.id}
    absent = {
        target.id
        for target in targets_below(catalog, kinds.get(row.kind))
        if (target.kind, target.path) not in there
    }
    listed = list(wanted)
    own = dict(
        Securable.objects.filter(pk__in=[target.id for target in listed]).values_list("pk", "external_id")
    )
    # one that only has another name there now is renamed here by the next reading
    return [target for target in listed if target.id in absent and own.get(target.id, "") not in numbers]

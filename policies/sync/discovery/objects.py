"""Bringing a catalog's objects up to what its source has, in batches of short changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from catalog.models import Detail, Securable
from catalog.nodes import Node, nodes
from catalog.queries import all_below
from lakewarden.backends import kinds
from lakewarden.backends.base import FoundObject, Observation
from lakewarden.law import dialects
from policies.authority import Actor, Authority
from policies.events import OBJECT_ALTERED
from policies.models import Backend
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.services import objects, realm_of
from policies.services.objects import Move, NewObject
from policies.simulation.changes import MoveObject
from policies.simulation.difference import Difference
from policies.simulation.replay import Replay, ReplayOutcome
from policies.simulation.simulation import Simulation
from policies.sync.differences.findings import ungovernable
from policies.sync.discovery import owners

BATCH = 500


def read(source: Any) -> Observation:
    """What a source has, with comments and columns where those take calls of their own.

    Raises errors of `lakewarden.backends.errors`.
    """
    seen: Observation = source.observe()
    describe = getattr(source, "describe", None)
    return describe(seen) if describe else seen


@dataclass
class Discovered:
    """What a discovery changed; `vanished` are reported, and closed only when asked for.

    `moved` of the `renamed` stand below another parent now; `replays` are what that does to uses.  `taken_up`
    were registered by hand under the name that the source has for them.  `left_out` says of which objects,
    and why, that they cannot be governed.
    """

    added: int = 0
    renamed: int = 0
    moved: int = 0
    described: int = 0
    taken_up: int = 0
    vanished: list[str] = field(default_factory=list)
    replays: list[ReplayOutcome] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def discover(
    catalog: Node,
    seen: Observation,
    *,
    by: Actor,
    authority: Authority,
    close_vanished: bool = False,
    tell: Callable[[int], object] = lambda added: None,
) -> Discovered:
    """Register what is new, rename what the source's own id says was renamed, keep comments and columns.

    Whose the objects are there is kept as a suggestion.

    `tell` hears after each batch how many objects are new so far.
    """
    result = Discovered()
    row = Backend.objects.get(catalog=catalog.id)
    types = kinds.get(row.kind).discovers
    every = [
        SourceObject(types[source_object.kind], source_object)
        for source_object in seen.objects
        if source_object.path and source_object.kind in types
    ]
    listings = [listed for listed in every if not ungovernable(listed.source)]
    result.left_out = [text for listed in every if (text := ungovernable(listed.source))]
    if seen.complete and seen.objects:  # a system that knows no objects says of none that it is gone
        _vanish(catalog, listings, {listed.key for listed in every}, result, by, authority, close_vanished)
    for depth in sorted({len(listed.path) for listed in listings}):
        level = [listed for listed in listings if len(listed.path) == depth]
        _bring_up(catalog, level, result, by, authority, tell)
    row.read_at = timezone.now()
    row.save(update_fields=["read_at"])
    known = _known(catalog)
    owners.remember(
        row, {known[listed.key].id: listed.source.owner for listed in listings if listed.key in known}
    )
    return result


@dataclass(frozen=True)
class SourceObject:
    """An object that the source has, and what type it is here."""

    type: str
    source: FoundObject

    @property
    def key(self) -> tuple[str, str]:
        return self.type, self.source.id

    @property
    def path(self) -> tuple[str, ...]:
        return self.source.path


def _below(node: Node, catalog: Node) -> tuple[str, ...]:
    """An object's path below what is connected."""
    return node.path[len(catalog.path) :]


def _bring_up(
    catalog: Node,
    listings: Sequence[SourceObject],
    result: Discovered,
    by: Actor,
    authority: Authority,
    tell: Callable[[int], object],
) -> None:
    result.taken_up += _take_up(catalog, listings, by, authority)
    known = _known(catalog)
    parents = {(): catalog} | {_below(node, catalog): node for node in known.values() if holds(node)}
    fresh: dict[tuple[str, ...], list[SourceObject]] = defaultdict(list)
    moves = []
    for listed in listings:
        node, parent = known.get(listed.key), parents.get(listed.path[:-1])
        if parent is None:
            continue  # what it lies in was not seen in the same look, so it waits for the next
        if node is None:
            fresh[listed.path[:-1]].append(listed)
        elif (node.name, node.lineage[-2]) != (listed.path[-1], parent.id):
            moves.append(Move(node, parent, listed.path[-1]))
    _foresee(catalog, moves, result)
    objects.move(moves, by=by, authority=authority)
    result.renamed += len(moves)
    for above, batch in fresh.items():
        for some in (batch[at : at + BATCH] for at in range(0, len(batch), BATCH)):
            objects.register(parents[above], [_new(listed) for listed in some], by=by, authority=authority)
            result.added += len(some)
            tell(result.added)
    result.described += _describe(known, listings)


def _foresee(catalog: Node, moves: Sequence[Move], result: Discovered) -> None:
    """Which uses are refused or allowed from now on because objects stand elsewhere.

    They moved in the source, where nobody is asked before; so it is kept and shown.
    """
    elsewhere = [item for item in moves if item.parent.id != item.node.lineage[-2]]
    if elsewhere:
        root = next(iter(catalog.above()), catalog)
        changes = [MoveObject(item.node, item.parent, item.name) for item in elsewhere]
        difference = Difference(Simulation(root, changes, at=timezone.now()))
        result.replays.append(Replay(difference).outcome)
        result.moved += len(elsewhere)


def holds(node: Node) -> bool:
    """Whether there can be objects in it."""
    return bool(dialects.get(node.kind).child_types(node.type))


def _take_up(catalog: Node, listings: Sequence[SourceObject], by: Actor, authority: Authority) -> int:
    """Give objects that were registered by hand the source's own id, so that they are what was found."""
    rows = all_below(catalog.id).filter(securable__external_id="").values_list("securable", flat=True)
    nameless = {(node.type, _below(node, catalog)): node for node in nodes(set(rows)).values()}
    pairs = [(nameless.get((listed.type, listed.path)), listed) for listed in listings]
    taken = [(node, listed) for node, listed in pairs if node is not None]
    if not taken:
        return 0
    with change(OBJECT_ALTERED, realm=realm_of(catalog), by=by) as current:
        for node, listed in taken:
            Securable.objects.filter(pk=node.id).update(external_id=listed.source.id)
            current.say(make_event(OBJECT_ALTERED, node, what="the source's own id"), by=authority)
    return len(taken)


def _known(catalog: Node) -> dict[tuple[str, str], Node]:
    rows = all_below(catalog.id).select_related("securable")
    ids = {row.securable_id: (row.type, row.securable.external_id) for row in rows}
    return {ids[node.id]: node for node in nodes(ids).values()}


def _new(source_object: SourceObject) -> NewObject:
    source = source_object.source
    return NewObject(
        source_object.type,
        source_object.path[-1],
        comment=source.comment,
        columns=_columns(source),
        properties=dict(source.detail),
        external_id=source.id,
    )


def _columns(found_object: FoundObject) -> list[dict[str, Any]]:
    return [
        {"name": col.name, "type": col.type, "nullable": col.nullable, "comment": col.comment}
        for col in found_object.columns
    ]


def _describe(known: dict[tuple[str, str], Node], listings: Iterable[SourceObject]) -> int:
    by_id = {known[listed.key].id: listed.source for listed in listings if listed.key in known}
    changed = []
    for row in Detail.objects.filter(securable__in=by_id):
        source = by_id[row.securable_id]
        if (row.comment, row.columns) != (source.comment, _columns(source)):
            row.comment, row.columns = source.comment, _columns(source)
            changed.append(row)
    Detail.objects.bulk_update(changed, ["comment", "columns"], batch_size=BATCH)
    return len(changed)


def _vanish(
    catalog: Node,
    listings: Sequence[SourceObject],
    there_at_all: Collection[tuple[str, str]],
    result: Discovered,
    by: Actor,
    authority: Authority,
    close_vanished: bool,
) -> None:
    there = {listed.key: listed.path for listed in listings}
    made_again = {(listed.type, listed.path) for listed in listings}
    known = _known(catalog)
    gone = [node for key, node in known.items() if key[1] and key not in there]
    now = {node.id: there[key] for key, node in known.items() if key in there}
    renamed_away = {node.id for key, node in known.items() if key in there_at_all}
    for node in sorted(gone, key=lambda node: -len(node.levels)):
        if node.id not in renamed_away:
            result.vanished.append(node.ref.full_name)
        closes = close_vanished and node.id not in renamed_away
        # another object bears its name now, so this one is surely gone, and its grants must not pass on
        if closes or (node.type, _place_now(node, catalog, now)) in made_again:
            objects.drop(node, by=by, authority=authority, reason="gone from the source")


def _place_now(node: Node, catalog: Node, now: Mapping[int, tuple[str, ...]]) -> tuple[str, ...]:
    """Where it would be today: what it lies in may have been renamed meanwhile."""
    above = now.get(node.lineage[-2])
    return _below(node, catalog) if above is None else (*above, node.name)

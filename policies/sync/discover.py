"""Bringing a catalog's objects up to what its source has, in batches of short changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from catalog.models import Detail, Securable
from catalog.nodes import Node, nodes
from catalog.queries import all_below
from lakewarden.backends.base import FoundObject, Observation
from policies.authority import Actor, Authority
from policies.changes import change
from policies.events import OBJECT_ALTERED
from policies.saying import said
from policies.services import objects, realm_of
from policies.services.objects import Move, NewObject

BATCH = 500
TYPES = {"schema": "schema", "table": "table", "view": "view"}


@dataclass
class Discovered:
    """What a discovery changed; `vanished` are reported, and closed only when asked for.

    `taken_up` were registered by hand under the name that the source has for them.
    """

    added: int = 0
    renamed: int = 0
    described: int = 0
    taken_up: int = 0
    vanished: list[str] = field(default_factory=list)


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

    `tell` hears after each batch how many objects are new so far.
    """
    result = Discovered()
    found = [one for one in seen.objects if one.kind in TYPES]
    if seen.complete:
        _vanish(catalog, found, result, by, authority, close_vanished)
    for depth in (1, 2):
        level = [one for one in found if len(one.path) == depth]
        _bring_up(catalog, level, result, by, authority, tell)
    return result


def _bring_up(
    catalog: Node,
    found: Sequence[FoundObject],
    result: Discovered,
    by: Actor,
    authority: Authority,
    tell: Callable[[int], object],
) -> None:
    result.taken_up += _take_up(catalog, found, by, authority)
    known = _known(catalog)
    parents = {(): catalog} | {node.path[1:]: node for node in known.values() if node.type == "schema"}
    fresh: dict[tuple[str, ...], list[FoundObject]] = defaultdict(list)
    moves = []
    for one in found:
        node, parent = known.get((TYPES[one.kind], one.id)), parents.get(one.path[:-1])
        if parent is None:
            continue  # its schema was not seen in the same look, so it waits for the next
        if node is None:
            fresh[one.path[:-1]].append(one)
        elif (node.name, node.lineage[-2]) != (one.path[-1], parent.id):
            moves.append(Move(node, parent, one.path[-1]))
    objects.move(moves, by=by, authority=authority)
    result.renamed += len(moves)
    for above, batch in fresh.items():
        for some in (batch[at : at + BATCH] for at in range(0, len(batch), BATCH)):
            objects.register(parents[above], [_new(one) for one in some], by=by, authority=authority)
            result.added += len(some)
            tell(result.added)
    result.described += _describe(known, found)


def _take_up(catalog: Node, found: Sequence[FoundObject], by: Actor, authority: Authority) -> int:
    """Give objects that were registered by hand the source's own id, so that they are what was found."""
    rows = all_below(catalog.id).filter(securable__external_id="").values_list("securable", flat=True)
    nameless = {(node.type, node.path[1:]): node for node in nodes(set(rows)).values()}
    pairs = [(nameless.get((TYPES[one.kind], one.path)), one) for one in found]
    taken = [(node, one) for node, one in pairs if node is not None]
    if not taken:
        return 0
    with change(OBJECT_ALTERED, realm=realm_of(catalog), by=by) as current:
        for node, one in taken:
            Securable.objects.filter(pk=node.id).update(external_id=one.id)
            current.say(said(OBJECT_ALTERED, node, what="the source's own id"), by=authority)
    return len(taken)


def _known(catalog: Node) -> dict[tuple[str, str], Node]:
    rows = all_below(catalog.id).select_related("securable")
    ids = {row.securable_id: (row.type, row.securable.external_id) for row in rows}
    return {ids[node.id]: node for node in nodes(ids).values()}


def _new(one: FoundObject) -> NewObject:
    return NewObject(
        TYPES[one.kind],
        one.path[-1],
        comment=one.comment,
        columns=_columns(one),
        properties=dict(one.detail),
        external_id=one.id,
    )


def _columns(one: FoundObject) -> list[dict[str, Any]]:
    return [
        {"name": col.name, "type": col.type, "nullable": col.nullable, "comment": col.comment}
        for col in one.columns
    ]


def _describe(known: dict[tuple[str, str], Node], found: Iterable[FoundObject]) -> int:
    by_id = {known[key].id: one for one in found if (key := (TYPES[one.kind], one.id)) in known}
    changed = []
    for row in Detail.objects.filter(securable__in=by_id):
        one = by_id[row.securable_id]
        if (row.comment, row.columns) != (one.comment, _columns(one)):
            row.comment, row.columns = one.comment, _columns(one)
            changed.append(row)
    Detail.objects.bulk_update(changed, ["comment", "columns"], batch_size=BATCH)
    return len(changed)


def _vanish(
    catalog: Node,
    found: Sequence[FoundObject],
    result: Discovered,
    by: Actor,
    authority: Authority,
    close_vanished: bool,
) -> None:
    there = {(TYPES[one.kind], one.id) for one in found}
    made_again = {(TYPES[one.kind], one.path) for one in found}
    gone = [node for key, node in _known(catalog).items() if key[1] and key not in there]
    for node in sorted(gone, key=lambda node: -len(node.levels)):
        result.vanished.append(node.ref.full_name)
        # another object bears its name now, so this one is surely gone, and its grants must not pass on
        if close_vanished or (node.type, node.path[1:]) in made_again:
            objects.drop(node, by=by, authority=authority, reason="gone from the source")

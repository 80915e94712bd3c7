"""What lies on the way to a name: the objects that exist along it, and what may be told of those that do not.

To somebody who may not see an object it reads like one that does not exist: the way to it is what may be
known, and below that names alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain

from catalog.nodes import Node
from catalog.resolve import find_all
from lakewarden.law import dialects
from lakewarden.law.dialects.cdap.authorizable import Authorizable
from lakewarden.law.facts import Key, Level, Lineage, Slice
from lakewarden.law.objects import ObjectRef
from policies.decisions import ask
from policies.errors import Invalid

Places = tuple[Node, ...]
"""The objects that exist along a name, from the realm on."""


def places(refs: Iterable[ObjectRef]) -> dict[ObjectRef, Places]:
    """What exists along each of some names.  Two queries, nested schemas apart."""
    wanted = list(refs)
    nodes = dict(zip(wanted, find_all(wanted), strict=True))
    ways = {ref: _ways(ref) for ref, node in nodes.items() if node is None}
    names = list(dict.fromkeys(chain.from_iterable(ways.values())))
    above = dict(zip(names, find_all(names), strict=True)) if names else {}
    return {
        ref: steps(node) if node else tuple(filter(None, map(above.get, ways[ref])))
        for ref, node in nodes.items()
    }


def _ways(ref: ObjectRef) -> list[ObjectRef]:
    """The names above a name, realm first, as far as any law can read it."""
    ways = []
    for law in dialects.every():
        steps = law.steps_to(ref.type, ref.path)
        if steps is not None:
            above = (law.root_type, *(type_ for type_, _ in steps[:-1])) if steps else ()
            ways += [ObjectRef(type_, ref.realm, ref.path[:at]) for at, type_ in enumerate(above)]
    return list(dict.fromkeys(ways))


def steps(node: Node) -> Places:
    """The objects on the way to one, itself the last, as far as they are parts of its name."""
    way = (*node.above(), node)
    types = [level.type for level in node.levels]
    if types.count("schema") < 2:
        return way
    # a nested schema `A:B` stands below `A`, but `A` is no part of its name
    return tuple(place for place in way if place.path == node.path[: len(place.path)])


def named_by(ref: ObjectRef, known: Places) -> Node | None:
    """The object of that name; where the law is about texts, one that need not exist."""
    node = known[-1] if known and known[-1].ref == ref else None
    if node is not None or not known or not dialects.get(known[0].kind).by_text:
        return node
    try:
        return ask.entity_node(known[0], Authorizable(ref.type, ref.path or (ref.realm,)))
    except Invalid:
        return None


def seen(known: Places, viewers: Sequence[Slice], *, now: datetime) -> int:
    """How many of the places along a name any of the viewers may know of."""
    if not viewers or not known:
        return 0
    if dialects.get(known[0].kind).by_text:
        return len(known)  # nothing is told that depends on what exists
    shown = [any(ask.may_see(each, place, now=now) for each in viewers) for place in known]
    return shown.index(False) if False in shown else len(shown)


def way(ref: ObjectRef, node: Node | None, shown: Places) -> tuple[Lineage, dict[Key, ObjectRef]]:
    """The lineage of the object, or of one that would bear its name below what may be spoken of.

    `shown` are the places that may be spoken of; the names are by the keys of the lineage.
    """
    if node is not None and dialects.get(node.kind).by_text:
        return node.levels, dict(_named_by_text(node.levels, ref))
    names: dict[Key, ObjectRef] = {place.id: place.ref for place in (*shown[-1].above(), *shown)}
    lineage = list(shown[-1].levels)
    types = dialects.get(shown[-1].kind).type_path(ref.type, len(ref.path)) or ()
    for depth in range(len(shown[-1].path), len(types)):
        below = ObjectRef(types[depth], ref.realm, ref.path[: depth + 1])
        lineage.append(Level(below.type, below))
        names[below] = below
    return tuple(lineage), names


def _named_by_text(lineage: Lineage, ref: ObjectRef) -> Iterator[tuple[Key, ObjectRef]]:
    for depth, level in enumerate(lineage):
        path = ref.path if depth == len(lineage) - 1 else ref.path[:depth]
        yield level.key, ObjectRef(level.type, ref.realm, path)


def unheard(ref: ObjectRef) -> tuple[dialects.Dialect, Lineage, dict[Key, ObjectRef]] | None:
    """The law and the way of a name in a realm that may not be known; None when no law knows such names."""
    for law in dialects.every():
        steps = law.steps_to(ref.type, ref.path)
        if ref.type in law.types and steps is not None:
            types = (law.root_type, *(type_ for type_, _ in steps))
            refs = [ObjectRef(type_, ref.realm, ref.path[:at]) for at, type_ in enumerate(types)]
            return law, tuple(Level(item.type, item) for item in refs), {item: item for item in refs}
    return None

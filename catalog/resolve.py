"""Names to objects, many at once, in one statement."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from django.db import connection

from accounts.text import holdable
from catalog.models import LAW_SQL, Placement
from catalog.nodes import Node, nodes
from lakewarden.law import dialects
from lakewarden.law.facts import Level
from lakewarden.law.objects import ObjectRef


def find(ref: ObjectRef) -> Node | None:
    """The object of that type and name, or None."""
    return find_all([ref])[0]


def find_all(refs: Sequence[ObjectRef]) -> list[Node | None]:
    """The objects of those names in their order, None where there is none.

    One query, and two more only where a name leads through a nested schema.
    """
    resolved: list[Node | None] = [None] * len(refs)
    readings = [(at, kind, steps) for at, ref in enumerate(refs) for kind, steps in _readings(ref)]
    if not readings:
        return resolved
    nested = {}
    for at, realm_id, law, named, *levels in _rows(refs, readings):
        ref, chain = refs[at], _chain(levels, named)
        if chain is None:
            continue
        *above, (leaf, _, ancestors) = chain
        if list(ancestors) == [key for key, _, _ in above]:
            resolved[at] = _node(realm_id, law, ref, chain)
        else:
            nested[at] = leaf
    between = nodes(nested.values()) if nested else {}
    for at, leaf in nested.items():
        resolved[at] = between.get(leaf)
    return resolved


def find_in_any_case(root: Node, type_: str, path: Sequence[str]) -> Node | None:
    """The object of that name below a realm, in any case of its letters.  A query for each part."""
    node: Node | None = root
    for kind, name in zip(dialects.get(root.kind).type_path(type_, len(path)) or (), path, strict=False):
        node = _child_in_any_case(node, kind, name) if node and holdable(name) else None
    return node if node and node.type == type_ else None


def _child_in_any_case(parent: Node, type_: str, name: str) -> Node | None:
    row = Placement.objects.open().filter(scope=parent.id, type=type_, name__iexact=name).first()
    if row is None:
        return None
    levels = (*parent.levels, Level(type_, row.securable_id))
    return Node(row.securable_id, parent.realm_id, parent.kind, levels, (*parent.names, row.name))


def spelled(refs: Sequence[ObjectRef]) -> list[ObjectRef]:
    """The names as they are kept, where a law takes any case and outer spaces for the same name.

    One query, and none when no such law knows the types asked for.
    """
    loose = [law for law in dialects.every() if law.ignores_case]
    types = {type_ for law in loose for type_ in law.child_types(law.root_type)}
    spellings = [
        (at, ref)
        for at, ref in enumerate(refs)
        if ref.type in types and ref.path and all(map(holdable, (ref.realm, *ref.path)))
    ]
    refs_ = list(refs)
    if spellings:
        columns: list[list[Any]] = [
            [at for at, _ in spellings],
            [ref.realm for _, ref in spellings],
            [ref.type for _, ref in spellings],
            [".".join(ref.path) for _, ref in spellings],
            [law.kind for law in loose],
        ]
        with connection.cursor() as cursor:
            cursor.execute(_SPELLED, columns)
            for at, name in cursor.fetchall():
                refs_[at] = ObjectRef(refs[at].type, refs[at].realm, (name,))
    return refs_


_SPELLED = """
SELECT q.at, p.name
  FROM unnest(%s::int[], %s::text[], %s::text[], %s::text[]) AS q(at, realm, type, name)
  JOIN catalog_placement p0 ON p0.scope_id IS NULL AND p0.closed IS NULL AND p0.name = q.realm
  JOIN catalog_securable s ON s.id = p0.securable_id
  JOIN catalog_realm r ON r.id = s.realm_id AND r.kind = ANY(%s)
  JOIN catalog_placement p ON p.scope_id = p0.securable_id AND p.type = q.type AND p.closed IS NULL
   AND upper(p.name) = upper(btrim(q.name))
"""


Steps = tuple[tuple[str, str], ...]
"""The type and name of each object on the way down from a realm."""


def _readings(ref: ObjectRef) -> list[tuple[str, Steps]]:
    """What a name can mean, by the kind of realm; the laws of one kind read it alike."""
    if not all(holdable(part) for part in (ref.realm, *ref.path)):
        return []
    read = ((law.kind, law.steps_to(ref.type, ref.path)) for law in dialects.every())
    return list(dict.fromkeys((kind, steps) for kind, steps in read if steps is not None))


def _rows(refs: Sequence[ObjectRef], readings: list[tuple[int, str, Steps]]) -> list[tuple[Any, ...]]:
    depth = max(len(steps) for *_, steps in readings)
    columns: list[list[Any]] = [
        [at for at, *_ in readings],
        [kind for _, kind, _ in readings],
        [len(steps) for *_, steps in readings],
        [refs[at].realm for at, *_ in readings],
    ]
    for level in range(depth):
        columns.append([steps[level][0] if level < len(steps) else None for *_, steps in readings])
        columns.append([steps[level][1] if level < len(steps) else None for *_, steps in readings])
    with connection.cursor() as cursor:
        cursor.execute(_statement(depth), columns)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


@cache
def _statement(depth: int) -> str:
    levels = range(1, depth + 1)
    first = ["%s::int[]", "%s::text[]", "%s::int[]", "%s::text[]"]
    arrays = ", ".join([*first, *("%s::text[], %s::text[]" for _ in levels)])
    names = ", ".join(["at", "kind", "named", "n0", *(f"t{i}, n{i}" for i in levels)])
    chosen = "".join(f", p{i}.securable_id, p{i}.type, p{i}.ancestors" for i in levels)
    joins = "".join(
        f" LEFT JOIN catalog_placement p{i} ON p{i}.scope_id = p{i - 1}.securable_id"
        f" AND p{i}.type = q.t{i} AND p{i}.name = q.n{i} AND p{i}.closed IS NULL"
        for i in levels
    )
    return (
        f"SELECT q.at, r.id, {LAW_SQL}, q.named, p0.securable_id, p0.type, p0.ancestors{chosen}"  # noqa: S608 - no outside text
        f" FROM unnest({arrays}) AS q({names})"
        " JOIN catalog_placement p0 ON p0.scope_id IS NULL AND p0.closed IS NULL AND p0.name = q.n0"
        " JOIN catalog_securable s ON s.id = p0.securable_id"
        f" JOIN catalog_realm r ON r.id = s.realm_id AND r.kind = q.kind{joins}"
    )


def _chain(levels: list[Any], length: int) -> list[tuple[int, str, list[int]]] | None:
    triples = list(zip(levels[::3], levels[1::3], levels[2::3], strict=True))[: length + 1]
    return None if any(key is None for key, _, _ in triples) else triples


def _node(realm_id: int, law: str, ref: ObjectRef, chain: list[tuple[int, str, list[int]]]) -> Node:
    levels = tuple(Level(type_, key) for key, type_, _ in chain)
    steps = dialects.get(law).steps_to(ref.type, ref.path) or ()
    return Node(chain[-1][0], realm_id, law, levels, (ref.realm, *(name for _, name in steps)))

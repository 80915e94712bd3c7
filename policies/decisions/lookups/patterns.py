"""Where rights are given on texts: which grants tell of an object, and which objects lists show."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from django.db.models import QuerySet

from catalog.models import Placement
from catalog.nodes import Node, number
from lakewarden.law import dialects, engine, pattern_levels
from lakewarden.law.facts import Level, Rule, Slice
from policies.models import Grant


def patterns_counting_on(*nodes: Node, as_of: int | None = None) -> list[str]:
    """The texts on which something was given that counts on an object, or on some of a realm.  One query."""
    return told_in(Grant.objects.as_of(as_of).filter(realm=nodes[0].realm_id), *nodes)


def told_in(rows: QuerySet[Grant], *nodes: Node) -> list[str]:
    """The same of some grants in the realm of the objects."""
    law = dialects.get(nodes[0].kind)
    if not isinstance(law, dialects.TextDialect):
        return []
    given = rows.values_list("pattern", flat=True).distinct()
    rules = ((text, Rule(text, "")) for text in given)
    return [text for text, rule in rules if any(_counts(rule, law, node) for node in nodes)]


def _counts(rule: Rule, law: dialects.TextDialect, node: Node) -> bool:
    return pattern_levels.deepest(rule, law, node.levels) is not None


def children(slice_: Slice, node: Node, type_: str, *, now: datetime) -> list[int]:
    """The numbers of an object's children of one type that lists show, to administrators all.  One query."""
    rows = Placement.objects.open().filter(parent=node.id, type=type_).values_list("securable", "name")
    if _administers(slice_, node, now):
        return [key for key, _ in rows]
    moment = now.timestamp()
    return [
        key for key, name in rows if engine.shows(slice_, (*node.levels, Level(type_, key, name)), now=moment)
    ]


def inside(slice_: Slice, root: Node, types: Collection[str], *, now: datetime) -> list[int]:
    """The numbers of everything in a realm, of some types or of all, that lists show, as above."""
    moment = now.timestamp()
    levels = (each for each in _levels(root) if not types or each[-1].type in types)
    if _administers(slice_, root, now):
        return [number(each[-1]) for each in levels]
    return [number(each[-1]) for each in levels if engine.shows(slice_, each, now=moment)]


def _administers(slice_: Slice, node: Node, now: datetime) -> bool:
    """Whether they decide access in the whole realm, and so must see all of it."""
    return bool(engine.decide(slice_, "role.list", node.levels[:1], now=now.timestamp()))


def _levels(root: Node) -> Iterable[tuple[Level, ...]]:
    rows = Placement.objects.open().filter(ancestors__contains=[root.id])
    container_rows = list(rows.values_list("securable", "type", "name", "ancestors"))
    levels_by_id = {key: Level(type_, key, name) for key, type_, name, _ in container_rows}
    for key, _, _, above in container_rows:
        yield (*root.levels, *(levels_by_id[item] for item in above[1:]), levels_by_id[key])

"""Rules and the parts of a decision as they are sent, with names in the place of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from catalog.nodes import Node as Place
from lakewarden.law.evidence import Lack
from lakewarden.law.explain import Node
from lakewarden.law.facts import Key, Rule
from lakewarden.law.objects import ObjectRef

Names = Mapping[Key, ObjectRef]


def names_of(node: Place) -> Names:
    """The names of an object and of all above it."""
    return {place.id: place.ref for place in (*node.above(), node)}


def tree(node: Node, names: Names) -> dict[str, Any]:
    """A part of a condition, whether it holds, and the rules that decide it."""
    wire: dict[str, Any] = {"holds": node.holds, "kind": node.kind}
    body = {"label": node.label, "privilege": node.privilege, "object": place(node.object, names)}
    wire |= {name: value for name, value in body.items() if value}
    if node.denied:
        wire["denied"] = True
    if node.needed:
        wire["needed"] = True
    if node.rules:
        wire["rules"] = rules(node.rules, names)
    if node.children:
        wire["children"] = [tree(child, names) for child in node.children]
    return wire


def rules(found: Sequence[Rule], names: Names) -> list[dict[str, Any]]:
    return [rule(item, names) for item in found]


def rule(one: Rule, names: Names) -> dict[str, Any]:
    """A rule: what it gives or denies, on which object, by which way it reaches the principal, and when."""
    return {
        "privilege": one.privilege,
        "allow": one.allow,
        "object": place(one.object, names),
        "via": [{"kind": station.kind, "name": station.name} for station in one.via],
        "valid_from": _moment(one.valid_from),
        "valid_until": _moment(one.valid_until),
        "since_revision": one.opened,
    }


def lacks(found: Sequence[Lack], names: Names) -> list[dict[str, Any]]:
    wires = []
    for lack in found:
        body = {"privilege": lack.privilege, "object": place(lack.object, names)}
        wires.append({"kind": lack.kind, **{name: value for name, value in body.items() if value}})
    return wires


def place(key: Key, names: Names) -> dict[str, str] | None:
    ref = names.get(key)
    if ref is None and isinstance(key, str):
        return {"entity": key}  # a text, which is like any number of objects
    return {"type": ref.type, "id": ref.id} if ref else None


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()

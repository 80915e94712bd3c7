"""The objects that a name may mean, as far as somebody may see them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.utils import timezone

from accounts.models import Principal
from catalog.nodes import Node
from catalog.queries import find_all
from lakewarden.law.objects import BadName, ObjectRef, split_name
from policies.decisions import ask, slices
from policies.decisions.lookups.visible_objects import realms_of

TYPES = ("metalake", "catalog", "schema", "table", "view", "fileset", "topic", "model", "function", "role")


def visible_objects(
    asker: Principal, name: str, type_: str = "", *, realms: Sequence[Node] | None = None
) -> list[Node]:
    """Those of a full name, with or without its realm before a slash, of any type unless one is given."""
    realms = realms_of(asker) if realms is None else realms
    named = [node for node in find_all(list(_refs(name, type_, realms))) if node]
    now = timezone.now()
    seen = {node.realm_id: slices.current(asker, node, now=now) for node in named}
    return [node for node in named if ask.may_see(seen[node.realm_id], node, now=now)]


def _refs(text: str, type_: str, realms: Sequence[Node]) -> Iterable[ObjectRef]:
    realm, slash, name = text.partition("/")
    types = (type_,) if type_ in TYPES else TYPES
    for prefix, rest in [(realm, name)] if slash else [(item.name, text) for item in realms]:
        try:
            path = split_name(rest) if rest else ()
        except BadName:
            continue
        yield from (ObjectRef(type_, prefix, path) for type_ in types)
    if not slash:
        yield ObjectRef("metalake", text)

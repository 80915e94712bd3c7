"""All that somebody can do something to in one realm, object by object, and by which rules."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from accounts.models import Principal
from catalog.models import Placement, Realm
from catalog.nodes import Node, nodes, on_or_below
from lakewarden.law import dialects
from lakewarden.law.facts import Rule, Slice
from policies.decisions import facts, slices
from policies.decisions.lookups.access import depths, relevant_privileges
from policies.decisions.lookups.searches import SCANNED, actions


@dataclass(frozen=True)
class Reached:
    """One object, the names of what may be done to it, and the rules on it and above that speak of it."""

    node: Node
    can: tuple[str, ...]
    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Reachable:
    """Objects in the order of their numbers; `next` is the number to go on after, None at the end."""

    found: tuple[Reached, ...]
    next: int | None


def slice_at(principal: Principal, root: Node, *, now: datetime, as_of: int | None) -> Slice:
    """The principal's slice as it is now, or as the facts were at a revision."""
    if as_of is None:
        return slices.current(principal, root, now=now)
    realm = Realm(pk=root.realm_id, kind=root.kind)
    return facts.load(realm, root.realm, [principal.pk], now=now, as_of=as_of).slice_of(principal)


def reachable(
    slice_: Slice,
    root: Node,
    *,
    after: int,
    limit: int,
    now: datetime,
    within: Collection[int] | None = None,
) -> Reachable:
    """What facts about the principal reach, on or below the objects `within`.  Four queries.

    A page reads a bounded number of objects, so one with few of them, or none, may still have a next.
    """
    inside = Q(securable=root.id) | Q(ancestors__contains=[root.id])
    rows = Placement.objects.open().filter(inside, _candidates(slice_, root), securable__gt=after)
    if within is not None:
        rows = rows.filter(on_or_below(within))
    keys = list(rows.order_by("securable").values_list("securable", flat=True)[: SCANNED + 1])
    by_id = nodes(keys[:SCANNED]) if keys else {}
    live = [rule for rule in slice_.rules if rule.holds_at(now.timestamp())]
    reached: list[Reached] = []
    for node in (by_id[key] for key in keys[:SCANNED] if key in by_id):
        can = actions(slice_, node, now=now)
        if can and len(reached) == limit:
            return Reachable(tuple(reached), reached[-1].node.id)
        if can:
            reached.append(Reached(node, can, _telling(live, node)))
    return Reachable(tuple(reached), keys[SCANNED - 1] if len(keys) > SCANNED else None)


def _candidates(slice_: Slice, root: Node) -> Q:
    """What a fact may speak of; where facts are about texts that is anything."""
    if dialects.get(root.kind).by_text:
        return Q()
    return on_or_below({key for key in slice_.bits.keys() | slice_.selves if isinstance(key, int)})


def _telling(rules: Sequence[Rule], node: Node) -> tuple[Rule, ...]:
    codes, depth_of = relevant_privileges(node), depths(node)
    deep = [(depth_of(rule), rule) for rule in rules if rule.privilege in codes]
    near = sorted(((depth, rule) for depth, rule in deep if depth is not None), key=lambda pair: pair[0])
    return tuple(rule for _, rule in near)

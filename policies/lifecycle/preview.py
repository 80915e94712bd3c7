"""What deeds would do to everybody they concern, worked out before anything is done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils import timezone

from accounts.models import Membership, Principal
from catalog.models import Realm
from catalog.nodes import Node, nodes
from lakewarden.law import dialects
from lakewarden.law.facts import OWNER, Rule, Slice, Station
from policies.decisions import facts
from policies.lifecycle.actions import COPY, HAND, LifecycleAction
from policies.previews.grants import Preview, Rules, World, in_order
from policies.previews.groups import asked

TOLD = 200
"""So many objects are worked out; how many that leaves out is said."""


@dataclass(frozen=True)
class Foreseen:
    """What becomes of the people, object by object; `left_out` counts the objects not worked out."""

    parts: tuple[tuple[Node, Preview], ...] = ()
    left_out: int = 0


def of_deeds(
    person: Principal,
    deeds: Sequence[LifecycleAction],
    realms: Iterable[Node],
    *,
    now: datetime | None = None,
) -> Foreseen:
    """What deeds about one person's things do to that person and to the receivers, in every realm."""
    now = now or timezone.now()
    parts: list[tuple[Node, Preview]] = []
    left = 0
    for root in realms:
        some = [deed for deed in deeds if deed.holding.realm_id in (0, root.realm_id)]
        effects, more = _in_realm(root, person, some, now) if some else ([], 0)
        parts, left = [*parts, *effects], left + more
    return Foreseen(tuple(parts), left)


def _in_realm(
    root: Node, person: Principal, deeds: Sequence[LifecycleAction], now: datetime
) -> tuple[list[tuple[Node, Preview]], int]:
    realm = Realm(pk=root.realm_id, kind=root.kind)
    getting = {item.to.pk: item.to for item in deeds if item.to is not None}
    inside = _unfolded(getting.values(), now)
    people = {item.pk: item for item in (person, *inside)}
    loaded = facts.load(realm, root.realm, people, now=now)
    # the rules that reach a person by one of their things
    moved = {deed: tuple(rule for rule in loaded.rules_of(person.pk) if _by(rule, deed)) for deed in deeds}
    concerned: dict[int, list[Rule]] = {}
    for rules in moved.values():
        for rule in rules:
            if isinstance(rule.object, int):
                concerned.setdefault(rule.object, []).append(rule)
    places = sorted(nodes(concerned).values(), key=lambda node: (len(node.names), node.names))
    if not places:
        return [], 0
    world = World(root, list(people.values()), (), now, also=places)
    pairs = {item.pk: _before_and_after(world, item, person, moved, inside) for item in people.values()}
    outcomes = []
    for node in places[:TOLD]:
        at = world.at(node, asked(node, concerned[node.id]))
        effects = [at.between(item, *pairs[item.pk]) for item in people.values()]
        outcomes.append((node, in_order(effects, loaded.revision)))
    return outcomes, max(0, len(places) - TOLD)


def _unfolded(getting: Iterable[Principal], now: datetime) -> dict[Principal, frozenset[Principal]]:
    """Each person who gets something, and the receivers it comes by: themselves, or their groups."""
    members: dict[Principal, set[Principal]] = {}
    groups = {item.pk: item for item in getting if item.kind == Principal.Kind.GROUP}
    for item in getting:
        if item.pk not in groups:
            members.setdefault(item, set()).add(item)
    rows = Membership.objects.open().within(now).filter(group__in=groups).select_related("member")
    for row in rows:
        members.setdefault(row.member, set()).add(groups[row.group_id])
    return {group: frozenset(some) for group, some in members.items()}


def _by(rule: Rule, deed: LifecycleAction) -> bool:
    held = deed.holding
    first = rule.via[0] if rule.via else Station("", "")
    match held.kind:
        case "own":
            return rule.privilege == OWNER and not rule.via and rule.object == (held.node and held.node.id)
        case "give" | "text":
            return rule.fact in {f"grant:{grant.pk}" for grant in held.grants} and first.kind != "group"
        case "role":
            return first.kind == "role" and first.key == (held.node and held.node.id)
        case "group":
            return first.kind == "group" and first.key == (held.other and held.other.pk)
        case "member":
            return first.kind != "group" and deed.what != COPY
    return False


def _before_and_after(
    world: World,
    principal: Principal,
    person: Principal,
    moved: dict[LifecycleAction, Rules],
    inside: dict[Principal, frozenset[Principal]],
) -> tuple[Slice, Slice]:
    before = tuple(world.loaded.rules_of(principal.pk))
    rules_gone = (
        {rule for deed, rules in moved.items() if deed.what != COPY for rule in rules}
        if principal.pk == person.pk
        else set()
    )
    new = (
        rule
        for deed, rules in moved.items()
        if deed.what in (HAND, COPY) and deed.to in inside.get(principal, ())
        for rule in rules
    )
    after = (*(rule for rule in before if rule not in rules_gone), *new)
    was, will = world.slice_with(principal, before), world.slice_with(principal, after)
    kinds = {deed.holding.kind: deed for deed in moved}
    member = kinds.get("member")
    if member is not None and not dialects.get(world.node.kind).open_to_all:
        if member.what == COPY and principal in inside:
            will = replace(will, member=True)
        elif member.what != COPY and principal.pk == person.pk:
            will = replace(will, member=False)
    return was, will


__all__ = ["TOLD", "Foreseen", "of_deeds"]

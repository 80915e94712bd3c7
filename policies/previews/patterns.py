"""What giving or taking rights on a text would do to whom it reaches, on the entities it matches now."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from accounts.models import Membership, Principal
from catalog.nodes import Node, nodes
from lakewarden.law import engine
from lakewarden.law.dialects.cdap.authorizable import Authorizable
from lakewarden.law.facts import Rule, Slice
from policies.decisions import ask, slices
from policies.decisions.lookups import pattern_matches
from policies.models import Assignment, Grant

ENTITIES, PEOPLE = 100, 100
"""Up to so many of each are worked out; of more the page says that there are more."""


@dataclass(frozen=True)
class Effect:
    """What becomes of one person: for each action, on how many of the entities before and after.

    `via` is the group or role they are reached by.
    """

    person: Principal
    via: str
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def kind(self) -> str:
        if self.before == self.after:
            return "same"
        return "gain" if sum(self.after) > sum(self.before) else "lose"


@dataclass(frozen=True)
class Foretold:
    """The effects by person; `entities` are those that were looked at, of `many`."""

    codes: tuple[str, ...]
    entities: tuple[Node, ...]
    many: int
    effects: tuple[Effect, ...]
    unseen: int = 0

    def count(self, kind: str) -> int:
        return sum(effect.kind == kind for effect in self.effects)


Reached = tuple[Principal, str]
"""A person, and the group or role by which something reaches them."""
Changed = Callable[[Slice], Iterable[Rule]]
"""The rules of a slice as they would be."""


def of_grant(
    root: Node, target: Authorizable, holders: Sequence[Principal | Node], codes: Sequence[str]
) -> Foretold:
    """What giving these would do."""

    def changed(slice_: Slice) -> Iterable[Rule]:
        return (*slice_.rules, *(Rule(str(target), code) for code in codes))

    return _foretold(root, target, holders, codes, changed)


def of_removal(
    root: Node, target: Authorizable, holder: Principal | Node, rows: Collection[Grant]
) -> Foretold:
    """What ending these grants of one holder would do."""
    ended = {f"grant:{row.pk}" for row in rows}

    def changed(slice_: Slice) -> Iterable[Rule]:
        return (rule for rule in slice_.rules if rule.fact not in ended)

    return _foretold(root, target, [holder], [row.privilege for row in rows], changed)


def _foretold(
    root: Node,
    target: Authorizable,
    holders: Sequence[Principal | Node],
    codes: Sequence[str],
    changed: Changed,
) -> Foretold:
    now = timezone.now()
    many, entities = _entities(root, target)
    reached = list(dict.fromkeys(item for holder in holders for item in _reached(holder, now)))
    people = reached[:PEOPLE]
    held = slices.currents(list({who.pk: who for who, _ in people}.values()), root, now=now) if people else {}
    effects = []
    for who, via in people:
        before = held[who.pk]
        after = engine.with_rules(before, changed(before), now=now.timestamp())
        able = [_able(item, entities, codes, now) for item in (before, after)]
        effects.append(Effect(who, via, *able))
    return Foretold(tuple(codes), tuple(entities), many, tuple(effects), len(reached) - len(people))


def _entities(root: Node, target: Authorizable) -> tuple[int, list[Node]]:
    """How many entities are like the target, and the first of them."""
    places = pattern_matches.entities(root, target)
    keys = list(places.values_list("securable", flat=True)[:ENTITIES])
    by_id = nodes(keys)
    entities = [by_id[key] for key in keys if key in by_id]
    if not entities and not target.is_pattern:
        # rights may precede what they are given on, and then it is asked about by its name
        return 0, [ask.entity_node(root, target)]
    return places.count(), entities


def _able(slice_: Slice, entities: Sequence[Node], codes: Sequence[str], now: datetime) -> tuple[int, ...]:
    moment = now.timestamp()
    return tuple(
        sum(engine.decide(slice_, code, entity.levels, now=moment).allowed for entity in entities)
        for code in codes
    )


def _reached(holder: Principal | Node, now: datetime) -> list[Reached]:
    """Everybody who has what the holder has: the person, the group's members, the role's holders."""
    if isinstance(holder, Principal):
        return [(who, holder.label if who != holder else "") for who in _people([holder], now)]
    rows = Assignment.objects.open().within(now).filter(role=holder.id).select_related("holder")
    return [(who, f"role {holder.name}") for who in _people([row.holder for row in rows], now)]


def _people(holders: Sequence[Principal], now: datetime) -> list[Principal]:
    groups = [holder.pk for holder in holders if holder.kind == Principal.Kind.GROUP]
    inside = Membership.objects.open().within(now).filter(group__in=groups).select_related("member")
    people = [holder for holder in holders if holder.pk not in groups] + [row.member for row in inside]
    return list(
        {person.pk: person for person in sorted(people, key=lambda member: member.label.casefold())}.values()
    )

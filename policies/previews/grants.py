"""What a change would do, worked out before it is made: who gains, who loses, who stays the same, and why.

Nothing is written: the rules of everybody concerned are read once and decided twice, as they are and as they
would be.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from django.utils import timezone

from accounts.models import Membership, Principal
from catalog.models import Realm
from catalog.nodes import Node
from lakewarden.law import dialects, engine
from lakewarden.law.dialects.gravitino.types import LEAVES
from lakewarden.law.evidence import Lack
from lakewarden.law.explain import explain
from lakewarden.law.facts import Level, Lineage, Rule, Slice, Station
from policies.authority import Actor
from policies.decisions import facts
from policies.models import Grant
from policies.separation import Violation, forecast, of_realm
from policies.services import grant_holders, grants
from policies.services.grants import Grantable, GrantRequest
from policies.services.roles import kept_begin

Rules = tuple[Rule, ...]
CONTAINERS = frozenset(("metalake", "catalog", "schema"))
ANY = {type_: f"every {type_}" for type_ in (*sorted(CONTAINERS), *LEAVES)}
"""Keys of objects that stand for all of their kind: rights on a container are asked of such a one in it."""


@dataclass(frozen=True)
class Effect:
    """What becomes of one person.

    `before` and `after` hold the actions they can do, `via` the group they are reached by.  `ends_before` and
    `ends_after` are the moments at which the asked action ends for them, None for never or not at all.
    `lacks` is what keeps a grant from working, denials among it; `also` what is given on the way.
    """

    principal: Principal
    via: Principal | None
    before: frozenset[str]
    after: frozenset[str]
    ends_before: float | None
    ends_after: float | None
    lacks: tuple[Lack, ...]
    also: tuple[Grantable, ...] = ()

    @property
    def gains(self) -> frozenset[str]:
        return self.after - self.before

    @property
    def loses(self) -> frozenset[str]:
        return self.before - self.after

    @property
    def shorter(self) -> bool:
        """They keep the access but for less long."""
        both = bool(self.before & self.after) and not self.loses
        return (
            both
            and self.ends_after is not None
            and (self.ends_before is None or self.ends_after < self.ends_before)
        )

    @property
    def longer(self) -> bool:
        both = bool(self.before & self.after) and not self.gains
        return (
            both
            and self.ends_before is not None
            and (self.ends_after is None or self.ends_after > self.ends_before)
        )

    @property
    def denied(self) -> bool:
        return any(lack.kind == "denied" for lack in self.lacks)

    @property
    def kind(self) -> str:
        """`lose`, `gain`, `denied`, `lacking` or `same`: the order and the sign of its line."""
        if self.loses or self.shorter:
            return "lose"
        if self.gains or self.longer:
            return "gain"
        if self.denied:
            return "denied"
        return "lacking" if self.lacks else "same"


ORDER = ("lose", "gain", "lacking", "same", "denied")


@dataclass(frozen=True)
class Preview:
    """Everybody concerned, losses first, at one revision."""

    effects: tuple[Effect, ...]
    revision: int

    def count(self, kind: str) -> int:
        return sum(effect.kind == kind for effect in self.effects)


NOT_AT_ALL = float("-inf")


class World:
    """The rules of everybody a change concerns, as they are."""

    def __init__(
        self,
        node: Node,
        holders: Sequence[Principal],
        actions: Sequence[str],
        now: datetime,
        also: Iterable[Node] = (),
    ):
        self.node, self.holders, self.actions, self.now = node, holders, actions, now
        self.law = dialects.get(node.kind)
        self._worked_out: dict[object, Effect] = {}
        self._rules: dict[int, Rules] = {}
        self._kins: dict[int, object] = {}
        realm = Realm(pk=node.realm_id, kind=node.kind)
        ids = {holder.pk for holder in (*holders, *self.people)}
        self.objects = {key for item in (node, *also) for key in item.lineage}
        self.loaded = facts.load(realm, node.realm, ids, now=now, objects=self.objects)

    def at(self, node: Node, actions: Sequence[str]) -> World:
        """The same people and rules, asked about another of the objects."""
        other = copy(self)
        other.node, other.actions = node, actions
        return other

    @cached_property
    def groups(self) -> dict[int, Principal]:
        return {holder.pk: holder for holder in self.holders if holder.kind == Principal.Kind.GROUP}

    @cached_property
    def through(self) -> dict[int, Principal]:
        """Each person reached by a group among the holders, and by which."""
        rows = Membership.objects.open().within(self.now).filter(group__in=self.groups)
        return {member: self.groups[group] for member, group in rows.values_list("member", "group")}

    @cached_property
    def people(self) -> list[Principal]:
        direct = [holder for holder in self.holders if holder.kind != Principal.Kind.GROUP]
        inside = self.through.keys() - {item.pk for item in direct}
        return [*direct, *Principal.objects.filter(pk__in=inside).order_by("display_name", "name")]

    def rules_of(self, person: Principal) -> Rules:
        """Every rule that reaches a person, but those on other objects that were asked about beside it."""
        if person.pk not in self._rules:
            self._rules[person.pk] = tuple(self.loaded.rules_of(person.pk))
        beside = self.objects.difference(self.node.lineage)
        return tuple(rule for rule in self._rules[person.pk] if rule.object not in beside)

    def slice_with(self, person: Principal, rules: Rules) -> Slice:
        return engine.with_rules(self.loaded.slice_of(person), rules, now=self.now.timestamp())

    def can(self, slice_: Slice) -> frozenset[str]:
        moment = self.now.timestamp()
        return frozenset(name for name in self.actions if self._decides(slice_, name, moment))

    def _decides(self, slice_: Slice, action: str, moment: float) -> bool:
        operation, levels = self._question(action)
        return bool(engine.decide(slice_, operation, levels, now=moment))

    def _question(self, action: str) -> tuple[str, Lineage]:
        """The operation and the object of an action; `table:read` asks of any table below."""
        type_, _, name = action.rpartition(":")
        levels = self.node.levels
        if type_:
            path = self.law.paths[type_]
            below = path[path.index(self.node.type) + 1 :] if self.node.type in path else path
            levels = (*levels, *(Level(item, ANY[item]) for item in below))
        return self.law.action(levels[-1].type, name) or name, levels

    def ends(self, slice_: Slice) -> float | None:
        """The first boundary at which the first of the actions is no longer allowed."""
        action = self.actions[0]
        if not self._decides(slice_, action, slice_.since):
            return NOT_AT_ALL
        while slice_.next_change_at is not None and self._decides(slice_, action, slice_.since):
            slice_ = engine.at(slice_, slice_.next_change_at)
            if not self._decides(slice_, action, slice_.since):
                return slice_.since
        return None

    def lacks(self, slice_: Slice) -> tuple[Lack, ...]:
        operation, levels = self._question(self.actions[0])
        named = zip(self.node.levels, self.node.names, strict=True)
        names = {level.key: name for level, name in named} | {key: key for key in ANY.values()}
        answer = explain(slice_, operation, levels, now=self.now.timestamp(), names=names)
        return answer.missing

    def effect(self, person: Principal, before: Rules, after: Rules, also: Collection[Grantable]) -> Effect:
        # of thousands in one group most are alike, and those are worked out once
        alike = (
            self.loaded.signature_of(person.pk),
            before,
            after,
            tuple(also),
            self.node.id,
            tuple(self.actions),
        )
        if alike not in self._worked_out:
            was, will = self.slice_with(person, before), self.slice_with(person, after)
            self._worked_out[alike] = self.between(person, was, will, also)
        return replace(self._worked_out[alike], principal=person, via=self._via(person))

    def effects(self, worked_out: Callable[[Principal], Effect]) -> list[Effect]:
        """One for each person; of people whose facts are the same and who are reached alike, one is asked."""
        effects_by_key: dict[object, Effect] = {}
        effects = []
        for person in self.people:
            if person.pk not in self._kins:
                via = self._via(person)
                alike = (self.loaded.signature_of(person.pk), via.pk) if via else person.pk
                self._kins[person.pk] = alike
            kin = self._kins[person.pk]
            if kin not in effects_by_key:
                effects_by_key[kin] = worked_out(person)
            effects.append(replace(effects_by_key[kin], principal=person, via=self._via(person)))
        return effects

    def _via(self, person: Principal) -> Principal | None:
        return self.through.get(person.pk) if person not in self.holders else None

    def between(self, person: Principal, was: Slice, will: Slice, also: Collection[Grantable] = ()) -> Effect:
        """What becomes of a person whose facts were those of one slice and will be those of the other."""
        can = self.can(will)
        return Effect(
            person,
            self._via(person),
            self.can(was),
            can,
            self.ends(was),
            self.ends(will),
            self.lacks(will) if self.actions[0] not in can else (),
            tuple(also),
        )


def of_grant(wish: GrantRequest, by: Actor, *, now: datetime | None = None) -> Preview:
    """What a wish would do for everybody it reaches."""
    return of_grants([wish], by, now=now)[0][1]


def of_grants(
    wishes: Sequence[GrantRequest], by: Actor, *, now: datetime | None = None
) -> list[tuple[Node, Preview]]:
    """What wishes in one realm, for the same holders, would do, object by object, at the moment they begin.

    The number of queries depends neither on the objects nor on the people.
    """
    now = now or timezone.now()
    given = grants.gifts_of(wishes, by, now=now)
    touched = {gift.node.id: gift.node for gift in given}
    begins = wishes[0].valid_from or now
    world = World(wishes[0].node, wishes[0].holders, (), begins, also=touched.values())
    replaced = _replaced(wishes, given, now)
    return [(wish.node, _of_wish(world, wish, given, replaced)) for wish in wishes]


def _of_wish(
    world: World, wish: GrantRequest, given: Sequence[Grantable], replaced: Collection[str]
) -> Preview:
    world_here = world.at(wish.node, actions_of(wish.node, wish.privileges))
    way = set(wish.node.lineage)
    here_given = [gift for gift in given if gift.node.id in way]

    def worked_out(person: Principal) -> Effect:
        mine = [gift for gift in here_given if _reaches(world_here, gift.holder, person)]
        before = world_here.rules_of(person)
        after = (
            *(rule for rule in before if rule.fact not in replaced),
            *(_rule(wish, gift) for gift in mine),
        )
        return world_here.effect(
            person, before, after, [gift for gift in mine if gift.node.id != wish.node.id]
        )

    return in_order(world_here.effects(worked_out), world_here.loaded.revision)


def clashes(wishes: Sequence[GrantRequest], by: Actor, *, now: datetime | None = None) -> list[Violation]:
    """Whom the wishes would bring in conflict with a rule of separation.  One query where there is none."""
    now = now or timezone.now()
    root = next(iter(wishes[0].node.above()), wishes[0].node)
    if not of_realm(root, now.timestamp()):
        return []
    given = [
        forecast.rights(
            gift.holder, [_rule(wish, gift)._replace(via=grant_holders.path(gift.node, gift.holder))]
        )
        for wish in wishes
        for gift in grants.gifts(wish, by, now=now)
    ]
    return forecast.conflicts(root, given, now=now)


def of_removal(
    node: Node, holders: Sequence[Principal], privileges: Sequence[str], *, now: datetime | None = None
) -> Preview:
    """What taking direct grants back would do: who really loses, and who keeps access by another path."""
    return of_removals([(node, privileges)], holders, now=now)[0][1]


def of_removals(
    removed: Sequence[tuple[Node, Sequence[str]]],
    holders: Sequence[Principal],
    *,
    now: datetime | None = None,
) -> list[tuple[Node, Preview]]:
    """The same for several objects of one realm, each with what it loses, in a fixed number of queries."""
    now = now or timezone.now()
    nodes = [node for node, _ in removed]
    world = World(nodes[0], holders, (), now, also=nodes)
    pairs = {(node.id, privilege) for node, privileges in removed for privilege in privileges}
    held = [row for _, row in grants.direct_of(nodes, holders) if (row.securable_id, row.privilege) in pairs]
    ended = {f"grant:{row.pk}" for row in held}
    return [(node, _of_removal(world, node, privileges, ended)) for node, privileges in removed]


def _of_removal(world: World, node: Node, privileges: Sequence[str], ended: Collection[str]) -> Preview:
    world_here = world.at(node, actions_of(node, privileges))

    def worked_out(person: Principal) -> Effect:
        before = world_here.rules_of(person)
        return world_here.effect(person, before, tuple(r for r in before if r.fact not in ended), ())

    return in_order(world_here.effects(worked_out), world_here.loaded.revision)


def _inside(node: Node, privileges: Sequence[str]) -> Iterable[str]:
    """What rights given on a container let one do to what it holds: `table:read`."""
    law = dialects.get(node.kind)
    for code in privileges:
        privilege = law.privilege(code)
        if privilege is not None and node.type in CONTAINERS and privilege.category in ("read", "write"):
            yield from (f"{type_}:{privilege.category}" for type_ in sorted(privilege.binds - CONTAINERS))


def actions_of(node: Node, privileges: Sequence[str]) -> tuple[str, ...]:
    first = [*_inside(node, privileges), *grants.actions_given(node, privileges)]
    rest = [
        name
        for name in dialects.get(node.kind).actions_for(node.type)
        if name not in ("alter", "read", "use")
    ]
    return tuple(dict.fromkeys([*first, *rest]))


def _reaches(world: World, holder: Principal, person: Principal) -> bool:
    via = world.through.get(person.pk)
    return holder.pk == person.pk or (via is not None and via.pk == holder.pk)


def _replaced(wishes: Sequence[GrantRequest], given: Sequence[Grantable], now: datetime) -> set[str]:
    """The hand-made grants that the gifts take the place of, but where one has that very window already."""
    wish = wishes[0]
    places = list({gift.node.id: gift.node for gift in given}.values())
    mine: dict[tuple[int | None, int, str], list[Grant]] = {}
    for holder, row in grants.direct_of(places, wish.holders):
        if row.origin == wish.origin:
            mine.setdefault((row.securable_id, holder.pk, row.privilege), []).append(row)
    replaced = set()
    for gift in given:
        rows = mine.get((gift.node.id, gift.holder.pk, gift.privilege), [])
        begin = kept_begin(wish.valid_from, [row.valid_from for row in rows], now=now)
        if not any(row.valid_from == begin and row.valid_until == wish.valid_until for row in rows):
            replaced |= {f"grant:{row.pk}" for row in rows}
    return replaced


def _rule(wish: GrantRequest, gift: Grantable) -> Rule:
    path = grant_holders.path(gift.node, gift.holder)
    via = (Station("group", gift.holder.name), *path) if gift.holder.kind == Principal.Kind.GROUP else path
    return Rule(
        gift.node.id,
        gift.privilege,
        True,
        via,
        wish.valid_from.timestamp() if wish.valid_from else None,
        wish.valid_until.timestamp() if wish.valid_until else None,
    )


def in_order(effects: list[Effect], revision: int) -> Preview:
    ordered = sorted(
        effects, key=lambda effect: (ORDER.index(effect.kind), effect.principal.label.casefold())
    )
    return Preview(tuple(ordered), revision)

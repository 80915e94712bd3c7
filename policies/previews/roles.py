"""What a change of a role would do, worked out before it is made: for everybody who holds it or would."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.utils import timezone

from accounts.models import Principal
from accounts.record import Origin
from catalog.nodes import Node, nodes
from lakewarden.law.facts import Rule, Slice, Station
from policies.models import Assignment, Grant
from policies.models.grants import Effect
from policies.previews.grants import Preview, World, actions_of, in_order
from policies.services.roles import Privilege

ASKED = 20_000
"""So many questions (each person on each object) are foretold; how many objects that leaves out is said."""


@dataclass(frozen=True)
class RoleChange:
    """What is to become of a role: who gets and who loses it, what it gives and no longer gives, its end."""

    joins: tuple[Principal, ...] = ()
    leaves: tuple[Principal, ...] = ()
    adds: tuple[tuple[Node, Privilege], ...] = ()
    removes: tuple[tuple[Node, Privilege], ...] = ()
    deleted: bool = False
    valid_from: datetime | None = None
    valid_until: datetime | None = None


@dataclass(frozen=True)
class RolePreview:
    """What a change does, object by object; `left_out` counts the objects that are not foretold."""

    parts: tuple[tuple[Node, Preview], ...] = ()
    left_out: int = 0


def of_role_change(role: Node, wanted: RoleChange, *, now: datetime | None = None) -> RolePreview:
    """What a change of a role would do when it begins, object by object, for who holds it or would."""
    now = wanted.valid_from or now or timezone.now()
    gives = _given_by(role, wanted)
    holders = (*wanted.joins, *wanted.leaves) or _holders_of(role)
    if not gives or not holders:
        return RolePreview()
    world = World(gives[0][0], holders, (), now, also=[node for node, _ in gives])
    future = _Future(role, wanted, world, gives)
    asked_gives = gives[: max(1, ASKED // max(1, len(world.people)))]
    parts = tuple((node, future.preview(node, codes)) for node, codes in asked_gives)
    return RolePreview(parts, len(gives) - len(asked_gives))


Window = tuple[datetime | None, datetime | None]
Gives = tuple[Node, Node, tuple[Privilege, ...]]
"""A role, an object, and what the role gives on it."""


def of_roles_given(
    roles: Sequence[Node], holder: Principal, window: Window, *, now: datetime | None = None
) -> RolePreview:
    """What giving several roles at once would do: together, because one may open what another gives."""
    begin, until = window
    now = begin or now or timezone.now()
    gives = [(role, node, some) for role in roles for node, some in _given_by(role, RoleChange())]
    by_node: dict[int, tuple[Node, list[str]]] = {}
    for _, node, some in gives:
        by_node.setdefault(node.id, (node, []))[1].extend(item.code for item in some)
    if not by_node:
        return RolePreview()
    world = World(gives[0][1], (holder,), (), now, also=[node for node, _ in by_node.values()])
    end = until.timestamp() if until else None
    pairs = {person.pk: _with_roles(world, person, gives, end) for person in world.people}
    parts = []
    for node, codes in sorted(by_node.values(), key=lambda pair: pair[0].names):
        at = world.at(node, actions_of(node, codes))
        effects = [at.between(person, *pairs[person.pk]) for person in world.people]
        parts.append((node, in_order(effects, world.loaded.revision)))
    return RolePreview(tuple(parts))


def _with_roles(
    world: World,
    person: Principal,
    gives: Sequence[Gives],
    end: float | None,
) -> tuple[Slice, Slice]:
    before, group = tuple(world.loaded.rules_of(person.pk)), world.through.get(person.pk)
    around = (Station("group", group.name, group.pk),) if group else ()
    new = (
        _given(node, item, (*around, Station("role", role.name, role.id)), end)
        for role, node, some in gives
        for item in some
    )
    return world.slice_with(person, before), world.slice_with(person, (*before, *new))


def _given_by(role: Node, wanted: RoleChange) -> list[tuple[Node, tuple[Privilege, ...]]]:
    """The objects that the change is about, with what the role gives or is to give on each."""
    pairs = [*wanted.adds, *wanted.removes]
    if not pairs:
        rows = Grant.objects.open().filter(role=role.id)
        by_id = nodes(row.securable_id for row in rows if row.securable_id)
        pairs = [
            (by_id[row.securable_id], Privilege(row.privilege, row.effect))
            for row in rows
            if row.securable_id in by_id
        ]
    by_node: dict[int, tuple[Node, list[Privilege]]] = {}
    for node, privilege in pairs:
        by_node.setdefault(node.id, (node, []))[1].append(privilege)
    return [(node, tuple(some)) for node, some in sorted(by_node.values(), key=lambda pair: pair[0].names)]


def _holders_of(role: Node) -> tuple[Principal, ...]:
    held = Assignment.objects.open().filter(role=role.id).values("holder")
    return tuple(Principal.objects.filter(pk__in=held))


@dataclass(frozen=True)
class _Future:
    """The rules of everybody as they would be after the change."""

    role: Node
    wanted: RoleChange
    world: World
    gives: list[tuple[Node, tuple[Privilege, ...]]]

    def preview(self, node: Node, privileges: tuple[Privilege, ...]) -> Preview:
        world = self.world.at(node, actions_of(node, [privilege.code for privilege in privileges]))
        effects = [world.between(person, *self.slices[person.pk]) for person in world.people]
        return in_order(effects, world.loaded.revision)

    @cached_property
    def slices(self) -> dict[int, tuple[Slice, Slice]]:
        """Everybody's facts before and after; the same for each object."""
        return {person.pk: self._before_and_after(person) for person in self.world.people}

    def _before_and_after(self, person: Principal) -> tuple[Slice, Slice]:
        before = tuple(self.world.loaded.rules_of(person.pk))
        kept = (rule for rule in before if not self._ends(rule, person))
        after = (*kept, *self._new(person))
        return self.world.slice_with(person, before), self.world.slice_with(person, after)

    def _ends(self, rule: Rule, person: Principal) -> bool:
        if not rule.via or rule.via[-1].key != self.role.id:
            return False
        holder = rule.via[0].key if rule.via[0].kind == Principal.Kind.GROUP else person.pk
        removed = {
            (node.id, privilege.code, privilege.effect == Effect.ALLOW)
            for node, privilege in self.wanted.removes
        }
        left = holder in {leafe.pk for leafe in self.wanted.leaves} | self.held_anew
        return self.wanted.deleted or left or (rule.object, rule.privilege, rule.allow) in removed

    @cached_property
    def held_anew(self) -> set[int]:
        """Who would hold it within another window in place of the one they hold it in."""
        rows = Assignment.objects.open().filter(role=self.role.id, holder__in=self.wanted.joins)
        by_hand = dict.fromkeys(rows.values_list("holder", flat=True), True)
        for holder, origin in rows.values_list("holder", "origin"):
            by_hand[holder] &= origin == Origin.HAND
        return {holder for holder, alone in by_hand.items() if alone}

    def _new(self, person: Principal) -> Iterable[Rule]:
        station = Station("role", self.role.name, self.role.id)
        until = self.wanted.valid_until.timestamp() if self.wanted.valid_until else None
        if self.wanted.joins:
            group = self.world.through.get(person.pk) if person not in self.wanted.joins else None
            around = (Station("group", group.name, group.pk),) if group else ()
            for node, some in self.gives:
                yield from (_given(node, item, (*around, station), until) for item in some)
        for way in self._ways(person):
            yield from (
                _given(node, privilege, (*way, station), until) for node, privilege in self.wanted.adds
            )

    def _ways(self, person: Principal) -> Iterable[tuple[Station, ...]]:
        """By which groups, or by none, somebody holds the role."""
        loaded = self.world.loaded
        around = [(group, (Station("group", name, group),)) for group, name, _ in loaded.groups[person.pk]]
        for holder, way in [(person.pk, ()), *around]:
            if any(key == self.role.id for key, _, _ in loaded.roles[holder]):
                yield way


def _given(node: Node, privilege: Privilege, way: tuple[Station, ...], until: float | None) -> Rule:
    return Rule(node.id, privilege.code, privilege.effect == Effect.ALLOW, way, None, until)

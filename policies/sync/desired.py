"""What was decided about a connected node, as the mirror of the kit and the kinds of backends read it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from functools import cached_property

from accounts.models import Principal
from catalog.models import Detail, Realm
from catalog.nodes import Node
from catalog.queries import all_below
from lakewarden.backends.base import Backend, Observation
from lakewarden.backends.console import PEOPLE, Holder
from lakewarden.backends.decisions import Mirror, Target, same_rows
from lakewarden.backends.kinds import Kind
from lakewarden.law.facts import Level
from policies.decisions import facts, switches
from policies.models import Ownership, RealmMember
from policies.sync.directory import RealmDirectory


class Decided:
    """The facts about a connected node at one moment: `lakewarden.backends.decisions.Decisions`."""

    def __init__(self, kind: Kind, node: Node, now: datetime) -> None:
        self.kind, self.now = kind, now
        self._node = node
        self.directory = RealmDirectory(node.realm_id, now)

    @cached_property
    def targets(self) -> list[Target]:
        """The connected node and every object in it that this kind can hold rights on."""
        return targets_below(self._node, self.kind)

    @cached_property
    def _off(self) -> frozenset[int]:
        return switches.now()

    def is_off(self, target: Target) -> bool:
        """Whether an object, or what it lies in, is switched off."""
        return switches.is_off(target.levels, self._off)

    def principals(self) -> list[Principal]:
        """Every person and service that the realm admits, whenever that holds."""
        members = RealmMember.objects.open().filter(realm=self._node.realm_id)
        rows = Principal.objects.filter(pk__in=members.values("principal"), kind__in=PEOPLE)
        return list(rows.order_by("pk"))

    def named(self, names: Collection[str]) -> list[Principal]:
        """The people and services of these names, admitted or not."""
        return list(Principal.objects.filter(name__in=names, kind__in=PEOPLE).order_by("pk"))

    def facts_of(self, holders: Sequence[Holder]) -> facts.Loaded:
        """What is known of these, in one read."""
        realm = Realm(pk=self._node.realm_id, kind=self._node.kind)
        return facts.load(realm, self._node.realm, [holder.pk for holder in holders], now=self.now)

    def owners_of(self, objects: Collection[int]) -> list[tuple[int, Principal]]:
        """Each of these objects that has an owner now, with them."""
        rows = Ownership.objects.open().within(self.now).filter(securable__in=objects)
        return [(row.securable_id, row.owner) for row in rows.select_related("owner")]

    def with_property(self, objects: Collection[int], name: str) -> set[int]:
        """Those of these objects, or roles, that bear a property of this name."""
        rows = Detail.objects.filter(securable__in=objects, properties__has_key=name)
        return set(rows.values_list("securable", flat=True))


class Wanted(Mirror):
    """The desired state of one connected node, on the objects that its backend has."""

    def __init__(
        self,
        backend: Backend,
        kind: Kind,
        catalog: Node,
        targets: Iterable[Target],
        *,
        now: datetime,
        seen: Observation,
    ) -> None:
        super().__init__(backend, Decided(kind, catalog, now), targets, same_rows(seen.objects))


def targets_below(node: Node, kind: Kind) -> list[Target]:
    """The connected node and every object in it that a backend of this kind can hold rights on."""
    top = Target(node.id, kind.objects.get(node.type, node.type), (), node.levels)
    targets = {node.id: top}
    rows = all_below(node.id).filter(type__in=kind.objects).order_by("ancestors", "pk")
    for row in sorted(rows, key=lambda row: len(row.ancestors)):
        if row.ancestors[-1] in targets:  # else it lies in something that this kind does not know
            above = targets[row.ancestors[-1]]
            levels = (*above.levels, Level(row.type, row.securable_id))
            nested = row.type == "schema" and above.levels[-1].type == "schema"
            path = (*above.path[: len(above.path) - nested], row.name)
            targets[row.securable_id] = Target(row.securable_id, kind.objects[row.type], path, levels)
    return list(targets.values())

"""One simulation: everybody whom some changes concern, with their facts as they are and as they would be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.db.models import Q

from accounts.models import Membership, Principal
from accounts.record import Origin
from catalog.models import Mode, Placement, Realm
from catalog.nodes import Node, any_of, on_or_below
from lakewarden.law import dialects
from lakewarden.law.facts import Rule, Slice, Window
from policies.decisions import facts, personal_role_names
from policies.decisions.facts import Loaded
from policies.models import Assignment, Grant, Ownership
from policies.simulation.changes import (
    PLACED,
    AddMember,
    Change,
    ClearOwner,
    DeleteRole,
    DropObject,
    MoveObject,
    RemoveMember,
    SetMode,
    SetOwner,
    places_of,
)
from policies.simulation.proposed_facts import ProposedFacts, copy_of

PEOPLE = (Principal.Kind.USER, Principal.Kind.SERVICE)


@dataclass(frozen=True)
class Alike:
    """People about whom everything is the same, before and after, and what is true of each of them."""

    people: tuple[Principal, ...]
    before: Slice
    after: Slice
    closed: bool = False
    """Whether their accounts would be closed, so that nothing is asked for them any more."""

    @cached_property
    def touched(self) -> frozenset[object]:
        """The objects, and texts, of which their rules say something else afterwards."""
        was, will = set(map(_meaning, self.before.rules)), set(map(_meaning, self.after.rules))
        held = self.before.selves ^ self.after.selves
        return frozenset({key for key, *_ in was ^ will} | {key for key in held if isinstance(key, int)})

    @cached_property
    def everywhere(self) -> bool:
        """Whether something of the whole realm changes for them."""
        was, will = self.before, self.after
        return self.closed or (was.member, was.mode) != (will.member, will.mode)


def _meaning(rule: Rule) -> tuple[object, str, bool, float | None, float | None]:
    return rule.object, rule.privilege, rule.allow, rule.valid_from, rule.valid_until


class Simulation:
    """What changes in one realm come to at a moment.  Nothing is written.

    `others` are asked about too, whether or not a change concerns them.  Raises Invalid for what could not
    be done.  The number of queries does not depend on how many people or objects there are.
    """

    def __init__(
        self,
        root: Node,
        changes: Sequence[Change],
        *,
        at: datetime,
        others: Iterable[Principal] = (),
    ) -> None:
        self.root, self.changes, self.at = root, tuple(changes), at
        self.others = {person.pk: person for person in others if person.pk}
        self.law = dialects.get(root.kind)

    @cached_property
    def people(self) -> dict[int, Principal]:
        """Every person and service account whose access may be another afterwards, and those asked about."""
        holders = {item.pk: item for item in self._holders()}
        groups = [pk for pk, item in holders.items() if item.kind == Principal.Kind.GROUP]
        inside = Membership.objects.open().filter(group__in=groups).values("member")
        wanted = Q(pk__in=inside) | any_of("id", [*holders, *self.others])
        for holder in self._named():
            if self.law.ignores_case and holder.kind == Principal.Kind.PATTERN:
                wanted |= Q(name__iendswith=holder.name[1:])
            elif self.law.ignores_case:
                wanted |= Q(name__iexact=holder.name)
        if self._concerns_everybody:
            wanted |= Q(kind__in=PEOPLE)
        return {row.pk: row for row in Principal.objects.filter(wanted, kind__in=PEOPLE).order_by("pk")}

    @cached_property
    def strangers(self) -> dict[int, Principal]:
        """People and service accounts of whom nobody has heard yet, by numbers below zero."""
        unknown = {(who.kind, who.name) for who in self._named() if not who.pk and who.kind in PEOPLE}
        numbered = enumerate(sorted(unknown), start=1)
        return {-number: Principal(pk=-number, kind=kind, name=name) for number, (kind, name) in numbered}

    def _named(self) -> list[Principal]:
        return [person for change in self.changes for person in change.people]

    @cached_property
    def _concerns_everybody(self) -> bool:
        """Whether something changes where people have access without a fact of their own."""
        if any(isinstance(change, SetMode) for change in self.changes):
            return True
        if not any(isinstance(change, PLACED) for change in self.changes):
            return False
        enforced = not Mode.objects.open().filter(realm=self.root.realm_id).exclude(mode="on").exists()
        dropped = any(isinstance(change, DropObject) for change in self.changes)
        return not enforced or (dropped and self.law.open_to_all)

    def _holders(self) -> Iterable[Principal]:
        """People, groups and patterns whose facts the changes touch."""
        yield from (person for person in self._named() if person.pk)
        roles = [role.id for change in self.changes for role in change.role_nodes]
        owners = [c.node.id for c in self.changes if isinstance(c, SetOwner | ClearOwner)]
        wanted = Q(pk__in=Assignment.objects.open().filter(role__in=roles).values("holder"))
        wanted |= Q(pk__in=Ownership.objects.open().filter(securable__in=[*roles, *owners]).values("owner"))
        if places := self._places_that_go:
            wanted |= self._holding_on(places)
        yield from Principal.objects.filter(wanted)

    @cached_property
    def _places_that_go(self) -> list[int]:
        """What is dropped or moved, with all around it that tells who could do something to it."""
        gone = [change.node for change in self.changes if isinstance(change, DropObject | MoveObject)]
        below = Placement.objects.open().filter(on_or_below({node.id for node in gone}))
        keys = set(below.values_list("securable", flat=True)) if gone else set()
        keys |= {key for node in gone for key in node.lineage}
        for change in self.changes:
            if isinstance(change, MoveObject):
                keys |= set(change.parent.lineage)
            if isinstance(change, DeleteRole):
                keys |= set(change.role.lineage)
        return sorted(keys)

    def _holding_on(self, places: Sequence[int]) -> Q:
        on_them = any_of("securable_id", places) | Q(realm=self.root.realm_id)
        grants = Grant.objects.open().filter(on_them)
        assigned = Assignment.objects.open().filter(role__in=grants.values("role"))
        owners = Ownership.objects.open().filter(any_of("securable_id", places))
        held = Q(pk__in=assigned.values("holder")) | Q(pk__in=owners.values("owner"))
        return held | Q(pk__in=grants.filter(holder__isnull=False).values("holder"))

    @cached_property
    def before(self) -> Loaded:
        """The facts as they are.  One query."""
        realm = Realm(pk=self.root.realm_id, kind=self.root.kind)
        named = {item.pk for item in self._named() if item.pk}
        groups = {change.group.pk for change in self.changes if hasattr(change, "group")}
        roles = {role.id for change in self.changes for role in change.role_nodes if role.id > 0}
        asked_people = {*self.people, *named, *groups}
        return facts.load(
            realm,
            self.root.realm,
            asked_people,
            now=self.at,
            strangers={number: person.name for number, person in self.strangers.items()},
            roles=[*roles, *self._personal.values()],
        )

    @cached_property
    def _personal(self) -> dict[int, int]:
        named = [item for item in self._named() if item.pk]
        return personal_role_names.find_all(self.root, named) if named and not self.law.grantees else {}

    @cached_property
    def proposed(self) -> ProposedFacts:
        """The facts as they would be."""
        held = Q(role__in=self._personal.values()) | Q(holder__in=[p.pk for p in self._named() if p.pk])
        by_hand = Grant.objects.open().filter(held, origin=Origin.HAND).values_list("pk", flat=True)
        groups = [c.member.pk for c in self.changes if isinstance(c, AddMember | RemoveMember)]
        rows = Membership.objects.open().filter(group__in=groups).select_related("group") if groups else ()
        joined = {(row.member_id, row.group_id): (row.group.name, _window(row)) for row in rows}
        everybody = self.people | self.strangers
        proposed = ProposedFacts(
            self.root, copy_of(self.before), everybody, self._personal, frozenset(by_hand), joined
        )
        proposed.apply_all(self.changes)
        return proposed

    @cached_property
    def alike(self) -> list[Alike]:
        """Everybody, those of whom everything is the same together."""
        was, will = self.before, self.proposed.loaded
        classes: dict[object, list[Principal]] = defaultdict(list)
        for pk, person in (self.people | self.strangers).items():
            admin = facts.is_service_admin(person)
            closed = pk in self.proposed.closed
            classes[was.signature_of(pk), will.signature_of(pk), admin, closed].append(person)
        return [
            Alike(
                tuple(people),
                was.slice_of(people[0]),
                will.slice_of(people[0]),
                people[0].pk in self.proposed.closed,
            )
            for people in classes.values()
        ]

    @cached_property
    def of_person(self) -> dict[int, Alike]:
        """The same by person."""
        return {person.pk: alike for alike in self.alike for person in alike.people}

    @cached_property
    def touched(self) -> frozenset[int]:
        """The objects on and below which somebody's access may be another; the root for the whole realm."""
        keys = {key for alike in self.alike for key in alike.touched}
        if any(alike.everywhere for alike in self.alike) or any(isinstance(key, str) for key in keys):
            return frozenset((self.root.id,))
        places = {node.id for node in places_of(self.changes)}
        return frozenset({key for key in keys if isinstance(key, int)} | places | self.proposed.gone)


def _window(row: Membership) -> Window:
    return (
        row.valid_from.timestamp() if row.valid_from else None,
        row.valid_until.timestamp() if row.valid_until else None,
    )

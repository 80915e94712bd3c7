"""Who can do what to an object, and by which paths: the same facts and law, read from the object's side."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.models import Membership, Principal
from catalog.models import Mode, Realm
from catalog.nodes import Node, any_of
from lakewarden.law import dialects, engine, pattern_levels
from lakewarden.law.facts import OWNER, Rule, Slice
from policies.decisions import facts
from policies.decisions.lookups import patterns
from policies.models import Assignment, Grant, Ownership, RealmMember

TRAVERSAL = ("use",)
"""Categories of privileges that only lead to an object and give nothing on it."""


@dataclass(frozen=True)
class Path:
    """One way by which a rule on the object or above it reaches a holder."""

    rule: Rule
    depth: int
    above: bool

    @property
    def denies(self) -> bool:
        return not self.rule.allow

    @property
    def owner(self) -> bool:
        return self.rule.privilege == OWNER

    @property
    def direct(self) -> bool:
        """Given to this holder alone, on this very object."""
        return (
            not self.above
            and not self.owner
            and (not self.rule.via or (len(self.rule.via) == 1 and self.rule.via[0].name.startswith("~")))
        )


@dataclass(frozen=True)
class Access:
    """What one holder can do to the object: the actions allowed, and every path that says anything of it."""

    principal: Principal
    can: frozenset[str]
    owns: bool
    paths: tuple[Path, ...]
    slice: Slice

    @property
    def nearest(self) -> int:
        """How far above the object the nearest path sits."""
        return min((path.above for path in self.paths), default=False)

    @property
    def denied(self) -> bool:
        return any(path.denies for path in self.paths)


class AccessMap:
    """Everybody whose rights on one object differ from nothing.  Four queries, however many people.

    The `whole` map has every member too where the realm's law is not enforced, as each of them can then.
    It can also tell of somebody `also` asked about, whether or not they are among those people.
    """

    def __init__(
        self,
        node: Node,
        *,
        now: datetime | None = None,
        as_of: int | None = None,
        whole: bool = False,
        also: Principal | None = None,
    ):
        self.node, self.now, self.as_of, self.whole = node, now or timezone.now(), as_of, whole
        self.also = also
        self.by_text = dialects.get(node.kind).by_text
        self._objects = list(node.lineage)
        self._by_signature: dict[Any, frozenset[str]] = {}
        self._by_person: dict[int, frozenset[str]] = {}
        self._accesses: dict[int, Access] = {}

    @cached_property
    def holders(self) -> dict[int, Principal]:
        """People, services and groups to whom something is given or denied on the object or above it."""
        return {row.pk: row for row in self.holding}

    @property
    def holding(self) -> QuerySet[Principal]:
        """The same, as the query that finds them."""
        return self._holding(Grant.objects.as_of(self.as_of))

    def _holding(self, grants: QuerySet[Grant]) -> QuerySet[Principal]:
        if self.by_text:
            grants = grants.filter(
                realm=self.node.realm_id,
                pattern__in=patterns.patterns_counting_on(self.node, as_of=self.as_of),
            )
        else:
            grants = grants.filter(securable__in=self._objects)
        roles = Q(role__in=grants.values("role")) | Q(role=self.node.id)  # who holds a role may see it
        assigned = Assignment.objects.as_of(self.as_of).filter(roles)
        owners = Ownership.objects.as_of(self.as_of).filter(securable__in=self._objects)
        wanted = Q(pk__in=assigned.values("holder")) | Q(pk__in=owners.values("owner"))
        wanted |= Q(pk__in=grants.filter(holder__isnull=False).values("holder"))
        return Principal.objects.filter(wanted)

    def given(self, privileges: Collection[str] | None = None) -> QuerySet[Principal]:
        """Those of them, and the people of those groups, as a query; with `privileges` only owners and whom
        one of these is given."""
        grants = Grant.objects.as_of(self.as_of)
        if privileges is not None:
            grants = grants.filter(privilege__in=privileges, effect="allow")
        holding = self._holding(grants)
        groups = holding.filter(kind=Principal.Kind.GROUP).values("pk")
        inside = Membership.objects.as_of(self.as_of).within(self.now).filter(group__in=groups)
        return Principal.objects.filter(Q(pk__in=holding.values("pk")) | Q(pk__in=inside.values("member")))

    @cached_property
    def members(self) -> dict[int, list[int]]:
        """The people of each holding group."""
        groups = [pk for pk, row in self.holders.items() if row.kind == Principal.Kind.GROUP]
        rows = Membership.objects.as_of(self.as_of).within(self.now).filter(group__in=groups)
        found: dict[int, list[int]] = {pk: [] for pk in groups}
        for group, member in rows.values_list("group", "member"):
            found[group].append(member)
        return found

    @cached_property
    def people(self) -> dict[int, Principal]:
        """Every person and service reached, directly or through a group."""
        inside = {pk for people in self.members.values() for pk in people} | self._unasked()
        direct = {pk: row for pk, row in self.holders.items() if row.kind != Principal.Kind.GROUP}
        rest = Principal.objects.filter(any_of("id", inside - direct.keys()))
        return direct | {row.pk: row for row in rest}

    def _unasked(self) -> set[int]:
        """Members of whom no rule was asked: all, in the whole map of a realm whose law is not enforced."""
        modes = Mode.objects.as_of(self.as_of).filter(realm=self.node.realm_id)
        if not self.whole or not modes.exclude(mode=Mode.Choice.ON).exists():
            return set()
        admitted = RealmMember.objects.as_of(self.as_of).within(self.now).filter(realm=self.node.realm_id)
        inside = Membership.objects.as_of(self.as_of).within(self.now)
        through = inside.filter(group__in=admitted.values("principal")).values("member")
        people = Principal.objects.exclude(kind__in=(Principal.Kind.GROUP, Principal.Kind.PATTERN))
        found = people.filter(Q(pk__in=admitted.values("principal")) | Q(pk__in=through))
        return set(found.values_list("pk", flat=True))

    @cached_property
    def loaded(self) -> facts.Loaded:
        realm = Realm(pk=self.node.realm_id, kind=self.node.kind)
        asked = {*self.people, *self.holders} | ({self.also.pk} if self.also else set())
        return facts.load(
            realm, self.node.realm, asked, now=self.now, as_of=self.as_of, objects=self._objects
        )

    def access_of(self, principal: Principal) -> Access:
        """What one of the people or holders, or the person asked about, can do."""
        if principal.pk not in self._accesses:
            slice_, can = self.loaded.slice_of(principal), self._decided(principal)
            paths = tuple(self._paths(slice_.rules))
            self._accesses[principal.pk] = Access(
                principal, can, any(path.owner for path in paths), paths, slice_
            )
        return self._accesses[principal.pk]

    def rows(self) -> list[Access]:
        """One row for each holder, nearest path first, then by name; groups stand for their people."""
        rows = [self.access_of(row) for row in self.holders.values()]
        telling = [row for row in rows if row.paths]
        return sorted(telling, key=lambda row: (row.nearest, row.principal.label.casefold()))

    def count(self, action: str) -> tuple[int, int]:
        """How many people and how many services can do it."""
        able = [row for row in self.people.values() if action in self._decided(row)]
        services = sum(row.kind == Principal.Kind.SERVICE for row in able)
        return len(able) - services, services

    def in_group(self, group: Principal) -> list[Principal]:
        """The people of a holding group, by name."""
        rows = (self.people[pk] for pk in self.members.get(group.pk, ()) if pk in self.people)
        return sorted(rows, key=lambda row: row.label.casefold())

    def _decided(self, principal: Principal) -> frozenset[str]:
        if principal.pk not in self._by_person:
            # those who hold the same here are decided once
            signature = (self.loaded.class_of(principal.pk), facts.is_service_admin(principal))
            if signature not in self._by_signature:
                self._by_signature[signature] = engine.abilities(
                    self.loaded.slice_of(principal), self.node.levels, now=self.now.timestamp()
                )
            self._by_person[principal.pk] = self._by_signature[signature]
        return self._by_person[principal.pk]

    def coming(self) -> list[tuple[Principal, tuple[Path, ...]]]:
        """To whom something is given that has not begun, by name, with the ways it will come."""
        moment = self.now.timestamp()
        found = []
        for row in sorted(self.holders.values(), key=lambda one: one.label.casefold()):
            rules = self.loaded.slice_of(row).rules
            later = [rule for rule in rules if rule.valid_from is not None and rule.valid_from > moment]
            if paths := tuple(self._telling(later)):
                found.append((row, paths))
        return found

    def _paths(self, rules: Iterable[Rule]) -> Iterable[Path]:
        moment = self.now.timestamp()
        return self._telling(rule for rule in rules if rule.holds_at(moment))

    def _telling(self, rules: Iterable[Rule]) -> Iterable[Path]:
        depth_of, last = depths(self.node), len(self.node.levels) - 1
        telling = relevant_privileges(self.node)
        for rule in rules:
            depth = depth_of(rule)
            if depth is not None and rule.privilege in telling:
                yield Path(rule, depth, depth != last)


def depths(node: Node) -> Callable[[Rule], int | None]:
    """At which level of an object a rule tells of it; None for one that does not."""
    law = dialects.get(node.kind)
    if isinstance(law, dialects.TextDialect):
        return lambda rule: pattern_levels.deepest(rule, law, node.levels)
    known = {key: depth for depth, key in enumerate(node.lineage)}
    return lambda rule: known.get(rule.object)  # type: ignore[call-overload]


def relevant_privileges(node: Node) -> Collection[str]:
    """The privileges that speak of the object itself, ownership among them; not those that lead to it."""
    law = dialects.get(node.kind)
    return {OWNER} | {
        privilege.code
        for privilege in law.privileges.values()
        if node.type in privilege.binds
        and (law.by_text or privilege.category not in TRAVERSAL or node.type in ("schema", "catalog"))
    }

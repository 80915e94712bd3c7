"""Who can do what to an object, and by which paths: the same facts and law, read from the object's side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import chain
from typing import Any

from django.db.models import Exists, Q, QuerySet
from django.utils import timezone

from accounts.models import Membership, Principal
from catalog.models import Mode, Realm
from catalog.nodes import Node, any_of
from lakewarden.law import conditions, dialects, engine, pattern_levels
from lakewarden.law.facts import OWNER, Rule, Slice
from policies.decisions import facts
from policies.decisions.held import people
from policies.decisions.lookups import patterns
from policies.decisions.seals.sealed_rows import are_good
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


@dataclass(frozen=True, eq=False)
class Ways:
    """The paths that reach a holder, and what they say together; the same for all who hold the same so."""

    paths: tuple[Path, ...]

    @cached_property
    def owns(self) -> bool:
        return any(path.owner for path in self.paths)

    @cached_property
    def denied(self) -> bool:
        return any(path.denies for path in self.paths)

    @cached_property
    def direct(self) -> bool:
        return any(path.direct for path in self.paths)

    @cached_property
    def above(self) -> bool:
        """Whether all of them are above the object."""
        return bool(self.paths) and all(path.above for path in self.paths)

    @cached_property
    def depth(self) -> int:
        """That of the nearest path."""
        return max((path.depth for path in self.paths), default=-1)


@dataclass(frozen=True)
class Access:
    """What one holder can do to the object: the actions allowed, and every path that says anything of it."""

    principal: Principal
    can: frozenset[str]
    ways: Ways
    loaded: facts.Loaded

    @property
    def paths(self) -> tuple[Path, ...]:
        return self.ways.paths

    @property
    def slice(self) -> Slice:
        return self.loaded.slice_of(self.principal)

    @property
    def owns(self) -> bool:
        return self.ways.owns

    @property
    def denied(self) -> bool:
        return self.ways.denied


class AccessMap:
    """Everybody whose rights on one object differ from nothing.  Four queries, however many people.

    The `whole` map, which the record needs, has everybody who holds anything there, even what gives nothing
    alone; and every member where the realm's law is not enforced, as each of them can then.
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
        self._ways: dict[int, Ways] = {}
        self._by_parts: dict[tuple[int, ...], Ways] = {}
        self._holding_now: dict[Ways, Ways] = {}
        self._by_part: dict[int, tuple[Sequence[Rule], tuple[Path, ...]]] = {}
        self._depth_of, self._privileges = depths(node), relevant_privileges(node)

    @cached_property
    def holders(self) -> dict[int, Principal]:
        """People, services and groups to whom something is given or denied on the object or above it."""
        return {row.pk: row for row in self.holding}

    @property
    def holding(self) -> QuerySet[Principal]:
        """The same, as the query that finds them."""
        grants = Grant.objects.as_of(self.as_of)
        return self._holding(grants if self.whole else self._counting(grants))

    def _counting(self, grants: QuerySet[Grant]) -> QuerySet[Grant]:
        """Of some grants those that can tell of the object itself, not those that only lead to it, which all
        may have; every one where the law is not enforced, as any makes somebody known here."""
        law = dialects.get(self.node.kind)
        operations = (law.action(self.node.type, name) for name in law.actions_for(self.node.type))
        needed = [needed_privileges(law, item, self.node.type) for item in operations if item]
        codes = [codes for codes in needed if codes is not None]
        if len(codes) < len(needed):
            return grants
        lenient = Mode.objects.as_of(self.as_of).filter(realm=self.node.realm_id)
        telling = Q(privilege__in=frozenset(self._privileges).union(*codes))
        return grants.filter(telling | Q(Exists(lenient.exclude(mode=Mode.Choice.ON))))

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
        by_group: dict[int, list[int]] = {pk: [] for pk in groups}
        for group, member in rows.values_list("group", "member"):
            by_group[group].append(member)
        return by_group

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
        rows = people.filter(Q(pk__in=admitted.values("principal")) | Q(pk__in=through))
        return set(rows.values_list("pk", flat=True))

    @cached_property
    def loaded(self) -> facts.Loaded:
        realm = Realm(pk=self.node.realm_id, kind=self.node.kind)
        principal_ids = self.people | self.holders | ({self.also.pk: self.also} if self.also else {})
        if self.as_of is None and are_good(principal_ids.values()):
            return people.load(realm, self.node.realm, principal_ids, now=self.now, objects=self._objects)
        return facts.load(
            realm, self.node.realm, principal_ids, now=self.now, as_of=self.as_of, objects=self._objects
        )

    def access_of(self, principal: Principal) -> Access:
        """What one of the people or holders, or the person asked about, can do."""
        if principal.pk not in self._accesses:
            can, ways = self._decided(principal), self._now_of(self._telling(principal))
            self._accesses[principal.pk] = Access(principal, can, ways, self.loaded)
        return self._accesses[principal.pk]

    def _now_of(self, ways: Ways) -> Ways:
        """Those of some ways that hold now."""
        moment = self.now.timestamp()
        if ways not in self._holding_now:
            paths = tuple(path for path in ways.paths if path.rule.holds_at(moment))
            self._holding_now[ways] = ways if len(paths) == len(ways.paths) else Ways(paths)
        return self._holding_now[ways]

    def rows(self) -> list[Access]:
        """One row for each holder, nearest path first, then by name; groups stand for their people."""
        rows = [self.access_of(row) for row in self.holders.values()]
        telling = [row for row in rows if row.paths]
        return sorted(telling, key=lambda row: (row.ways.above, row.principal.label.casefold()))

    def count(self, action: str) -> tuple[int, int]:
        """How many people and how many services can do it."""
        return self._able[action, False], self._able[action, True]

    @cached_property
    def _able(self) -> Counter[tuple[str, bool]]:
        """How many can do each action, services apart."""
        return Counter(
            (action, row.kind == Principal.Kind.SERVICE)
            for row in self.people.values()
            for action in self._decided(row)
        )

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
        grants = []
        for row in self.holders.values():
            starts = ((path, path.rule.valid_from) for path in self._telling(row).paths)
            if paths := tuple(path for path, start in starts if start is not None and start > moment):
                grants.append((row, paths))
        return sorted(grants, key=lambda item: item[0].label.casefold())

    def _telling(self, principal: Principal) -> Ways:
        """What speaks of the object itself, whenever it holds."""
        if principal.pk not in self._ways:
            parts = list(map(self._paths_by, self._managing_facts.parts_for(principal, principal.pk)))
            like = tuple(map(id, parts))
            if like not in self._by_parts:
                self._by_parts[like] = Ways(tuple(chain.from_iterable(parts)))
            self._ways[principal.pk] = self._by_parts[like]
        return self._ways[principal.pk]

    def _paths_by(self, rules: Sequence[Rule]) -> tuple[Path, ...]:
        """The paths of some rules; of those that many people share, once for all of them."""
        known = self._by_part.get(id(rules))
        if known is None:
            last = len(self.node.levels) - 1
            levels = ((rule, self._depth_of(rule)) for rule in rules)
            paths = tuple(
                Path(rule, depth, depth != last)
                for rule, depth in levels
                if depth is not None and rule.privilege in self._privileges
            )
            known = self._by_part[id(rules)] = rules, paths  # held, so that no other takes its number
        return known[1]

    @cached_property
    def _managing_facts(self) -> facts.Loaded:
        return self.loaded.only(self._privileges)


def depths(node: Node) -> Callable[[Rule], int | None]:
    """At which level of an object a rule tells of it; None for one that does not."""
    law = dialects.get(node.kind)
    if isinstance(law, dialects.TextDialect):
        return lambda rule: pattern_levels.deepest(rule, law, node.levels)
    depth_of = {key: depth for depth, key in enumerate(node.lineage)}
    return lambda rule: depth_of.get(rule.object)  # type: ignore[call-overload]


def relevant_privileges(node: Node) -> Collection[str]:
    """The privileges that speak of the object itself, ownership among them; not those that lead to it."""
    law = dialects.get(node.kind)
    return {OWNER} | {
        privilege.code
        for privilege in law.privileges.values()
        if node.type in privilege.binds
        and (law.by_text or privilege.category not in TRAVERSAL or node.type in ("schema", "catalog"))
    }


def needed_privileges(law: dialects.Dialect, operation: str, type_: str) -> frozenset[str] | None:
    """Privileges of which everybody who may do it has one, but for owners, site admins and who holds the
    very role; None for any.

    Of each way that the law lets it be done it is those that give something, not those that only lead there,
    which many have.
    """
    test = law.test(operation, type_)
    if test is None or law.by_text:
        return None
    needed: set[str] = set()
    for way in conditions.ways(test.condition):
        if any(atom.kind in (conditions.OWNER, conditions.SERVICE_ADMIN, conditions.SELF) for atom in way):
            continue
        rights = {atom.name for atom in way if atom.kind == conditions.RIGHT}
        giving = {code for code in rights if law.privileges[code].category not in TRAVERSAL} or rights
        if not giving:
            return None
        needed |= giving
    older = {name for name, code in law.aliases.items() if code in needed}
    return frozenset(needed | older)

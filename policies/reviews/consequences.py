"""What taking a row's access away really does: who loses what, and who keeps it by another path.

Worked out on the facts as they are now: everybody the row reaches is decided twice, with its facts and
without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from django.utils import timezone

from accounts.models import Membership, Principal
from catalog.models import Realm
from catalog.nodes import Node, nodes
from catalog.queries import root
from lakewarden.law import dialects, engine
from lakewarden.law.facts import Rule, Slice
from policies.decisions import ask, facts
from policies.decisions.lookups.access import depths, relevant_privileges
from policies.errors import Invalid
from policies.models import Assignment, BackendFinding, Review, ReviewRow
from policies.reviews.removals import MODELS
from policies.services import patterns
from policies.sync.actions import foreign_orders

PEOPLE = 200
"""So many people of one row are worked out; of the rest only the number is told."""
PLACES = 10
"""So many of the objects that a role gives are asked about."""


@dataclass(frozen=True)
class KeptAccess:
    """Somebody keeps actions on an object though the row goes, by these paths."""

    person: Principal
    object: str
    actions: tuple[str, ...]
    paths: tuple[Rule, ...]


@dataclass(frozen=True)
class Lost:
    """Somebody loses actions on an object, or, where a denial goes, gains them."""

    person: Principal
    object: str
    actions: tuple[str, ...]


@dataclass
class Consequence:
    """What becomes of everybody whom a row reaches, were it removed now.

    `keeps` names those who keep what the row gives, by another path; `rows` are the rows of the same review
    that those paths rest on, so that they can go with it.  `unseen` is how many people were not worked out.
    `gone` says that somebody ended it already.
    """

    loses: list[Lost] = field(default_factory=list)
    keeps: list[KeptAccess] = field(default_factory=list)
    gains: list[Lost] = field(default_factory=list)
    rows: list[ReviewRow] = field(default_factory=list)
    unseen: int = 0
    gone: bool = False

    @property
    def nothing(self) -> bool:
        """Nobody can do less without it."""
        return not self.loses and not self.gains


def of(review: Review, rows: Sequence[ReviewRow], *, now: datetime | None = None) -> dict[int, Consequence]:
    """What removing each of some rows alone would do, by the rows' numbers in the database.

    A fixed number of queries for any page of rows.
    """
    if not rows:
        return {}
    return _Worked(review, rows, now or timezone.now()).out()


class _Worked:
    def __init__(self, review: Review, rows: Sequence[ReviewRow], now: datetime) -> None:
        self.review, self.rows, self.now = review, rows, now
        self.root = root(review.realm)
        self.law = dialects.get(self.root.kind)

    def out(self) -> dict[int, Consequence]:
        consequences = {row.pk: self._of(row) for row in self.rows}
        for pk, consequence in consequences.items():
            consequence.rows = self._rows_behind(pk, consequence)
        return consequences

    def _of(self, row: ReviewRow) -> Consequence:
        result = Consequence(unseen=max(0, len(self.reached[row.pk]) - PEOPLE))
        result.gone = not self._true.intersection(row.facts)
        if row.kind == ReviewRow.Kind.FOREIGN:
            result.gone = result.gone or not self._undecided.intersection(row.facts)
            return result
        for person in self.people[row.pk]:
            before = tuple(self.loaded.rules_of(person.pk))
            after = tuple(rule for rule in before if not self._rests_on(rule, row, person))
            if len(before) != len(after):
                self._compare(result, row, person, before, after)
        return result

    def _compare(
        self,
        result: Consequence,
        row: ReviewRow,
        person: Principal,
        before: tuple[Rule, ...],
        after: tuple[Rule, ...],
    ) -> None:
        was, will = self._slice(person, before), self._slice(person, after)
        for node in self._places(row):
            had, has = self._can(was, node), self._can(will, node)
            name = node.ref.full_name or node.name
            if had - has:
                result.loses.append(Lost(person, name, tuple(sorted(had - has))))
            if has - had:
                result.gains.append(Lost(person, name, tuple(sorted(has - had))))
            given = self._given(row, node, person, before, after)
            kept = tuple(sorted(had & has & given))
            if kept:
                result.keeps.append(KeptAccess(person, name, kept, self._telling(after, node)))

    def _given(
        self,
        row: ReviewRow,
        node: Node,
        person: Principal,
        before: tuple[Rule, ...],
        after: tuple[Rule, ...],
    ) -> frozenset[str]:
        """What the row alone would let them do: the other path is shown only where it gives the same."""
        lead = {rule for rule in after if self._leads(rule)}
        own = tuple(rule for rule in before if rule not in set(after) or rule in lead)
        return self._can(self._slice(person, own), node)

    def _leads(self, rule: Rule) -> bool:
        privilege = self.law.privilege(rule.privilege)
        return privilege is not None and privilege.category == "use"

    def _slice(self, person: Principal, rules: tuple[Rule, ...]) -> Slice:
        return engine.with_rules(self.loaded.slice_of(person), rules, now=self.now.timestamp())

    def _can(self, slice_: Slice, node: Node) -> frozenset[str]:
        names = [name for name in self.law.actions_for(node.type) if name not in ("use", "alter", "drop")]
        return frozenset(name for name in names if ask.answer(slice_, name, node, now=self.now, inside=()))

    def _telling(self, rules: Iterable[Rule], node: Node) -> tuple[Rule, ...]:
        codes, depth_of = relevant_privileges(node), depths(node)
        live = (rule for rule in rules if rule.allow and rule.holds_at(self.now.timestamp()))
        return tuple(rule for rule in live if rule.privilege in codes and depth_of(rule) is not None)

    def _rests_on(self, rule: Rule, row: ReviewRow, person: Principal) -> bool:
        """Whether a rule reaches somebody by what the row would end."""
        if row.kind in (ReviewRow.Kind.GRANT, ReviewRow.Kind.RULE, ReviewRow.Kind.OWNER):
            return str(rule.fact) in row.facts
        if row.kind == ReviewRow.Kind.MEMBER:
            return any(item.kind == "group" and item.key == row.group_id for item in rule.via)
        holder = person.pk
        for station in rule.via:
            if station.kind == "group" and isinstance(station.key, int):
                holder = station.key
            elif station.kind == "role" and station.key == row.role_id:
                return holder == row.holder_id
        return False

    @cached_property
    def _true(self) -> frozenset[str]:
        """Which facts of the rows are still true; a finding is, as long as it is there."""
        codes: dict[str, list[int]] = {}
        for row in self.rows:
            for code in row.facts:
                kind, _, number = code.partition(":")
                codes.setdefault(kind, []).append(int(number))
        still_true = set()
        for kind, numbers in codes.items():
            model = MODELS.get(kind)
            rows = model.objects.open() if model else BackendFinding.objects.all()
            still_true |= {f"{kind}:{pk}" for pk in rows.filter(pk__in=numbers).values_list("pk", flat=True)}
        return frozenset(still_true)

    @cached_property
    def _undecided(self) -> frozenset[str]:
        """Of what others gave what nobody had taken elsewhere meanwhile.  Two queries where there is any."""
        foreign = [row for row in self.rows if row.kind == ReviewRow.Kind.FOREIGN]
        numbers = [int(code.partition(":")[2]) for row in foreign for code in row.facts]
        rows = list(BackendFinding.objects.filter(pk__in=numbers)) if numbers else []
        decided = foreign_orders.ordered(rows) if rows else {}
        return frozenset(f"finding:{row.pk}" for row in rows if row.pk not in decided)

    # what is asked about

    def _places(self, row: ReviewRow) -> list[Node]:
        keys = [row.securable_id] if row.securable_id and not row.gives else []
        keys += [item[0] for item in row.gives if item[0]]
        shown_places = [self.places[key] for key in dict.fromkeys(keys) if key in self.places][:PLACES]
        if shown_places or not self.law.by_text:
            return shown_places
        return self._named([row.pattern, *(item[1] for item in row.gives)])

    def _named(self, texts: Iterable[str]) -> list[Node]:
        """The entities that texts name, where they name one."""
        names = []
        for text in texts:
            try:
                if text and "*" not in text and "?" not in text:
                    names.append(ask.entity_node(self.root, patterns.named(self.root, text)))
            except Invalid:
                continue
        return names[:PLACES]

    @cached_property
    def places(self) -> Mapping[int, Node]:
        keys = {row.securable_id for row in self.rows} | {item[0] for row in self.rows for item in row.gives}
        return nodes({key for key in keys if key})

    @cached_property
    def reached(self) -> Mapping[int, list[int]]:
        """The numbers of the people and services that each row reaches: its holder, a group's members, a
        role's holders."""
        roles = {row.role_id for row in self.rows if row.kind == ReviewRow.Kind.RULE}
        held: dict[int | None, list[int]] = {}
        for role, holder in Assignment.objects.open().filter(role__in=roles).values_list("role", "holder"):
            held.setdefault(role, []).append(holder)
        holders = {row.holder_id for row in self.rows} | {item for some in held.values() for item in some}
        groups = Principal.objects.filter(
            pk__in=[item for item in holders if item], kind=Principal.Kind.GROUP
        )
        inside: dict[int | None, list[int]] = {pk: [] for pk in groups.values_list("pk", flat=True)}
        rows = Membership.objects.open().within(self.now).filter(group__in=inside).order_by("member")
        for group, member in rows.values_list("group", "member"):
            inside[group].append(member)
        reached = {}
        for row in self.rows:
            named = held.get(row.role_id, []) if row.kind == ReviewRow.Kind.RULE else [row.holder_id]
            reached[row.pk] = [item for each in named if each for item in inside.get(each, [each])]
        return {pk: list(dict.fromkeys(some)) for pk, some in reached.items()}

    @cached_property
    def people(self) -> Mapping[int, list[Principal]]:
        """Those of them that are worked out."""
        principals = Principal.objects.in_bulk(
            {item for some in self.reached.values() for item in some[:PEOPLE]}
        )
        return {pk: [principals[item] for item in some[:PEOPLE]] for pk, some in self.reached.items()}

    @cached_property
    def loaded(self) -> facts.Loaded:
        ids = {item.pk for some in self.people.values() for item in some}
        objects = (
            None if self.law.by_text else {key for place in self.places.values() for key in place.lineage}
        )
        realm = Realm(pk=self.root.realm_id, kind=self.root.kind)
        if self.law.by_text:
            realm = self.review.realm
        return facts.load(realm, self.root.realm, ids, now=self.now, objects=objects)

    # the rows behind the other paths

    def _rows_behind(self, pk: int, consequence: Consequence) -> list[ReviewRow]:
        rows = {}
        for kept in consequence.keeps:
            for rule in kept.paths:
                for row in self._behind(rule, kept.person):
                    if row.pk != pk:
                        rows[row.pk] = row
        return list(rows.values())

    def _behind(self, rule: Rule, person: Principal) -> list[ReviewRow]:
        direct = self._by_fact.get(str(rule.fact))
        if direct is not None:
            return [direct]
        holder, rows = person.pk, []
        for station in rule.via:
            if station.kind == "group" and isinstance(station.key, int):
                holder = station.key
            elif station.kind == "role":
                rows += [row for row in (self._by_role.get((station.key, holder)),) if row]
        return rows

    @cached_property
    def _others(self) -> list[ReviewRow]:
        """The rows of the review that concern the same people, their groups and what is given there."""
        people = {item.pk for some in self.people.values() for item in some}
        groups = {group for person in people for group, _, _ in self.loaded.groups.get(person, ())}
        rows = ReviewRow.objects.filter(review=self.review, holder__in=people | groups)
        return list(rows.select_related("holder", "group")[:5000])

    @cached_property
    def _by_fact(self) -> Mapping[str, ReviewRow]:
        return {code: row for row in self._others for code in row.facts}

    @cached_property
    def _by_role(self) -> Mapping[tuple[object, int | None], ReviewRow]:
        return {(row.role_id, row.holder_id): row for row in self._others if row.kind == "role"}

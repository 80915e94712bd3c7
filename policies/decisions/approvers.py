"""Who may say who gets what on an object: those who may grant it by its law, and holders of a duty on it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from accounts.entering import able
from accounts.models import Membership, Principal
from catalog.models import Realm
from catalog.nodes import Node, any_of
from lakewarden.law import dialects
from lakewarden.law.engine import Decision
from lakewarden.law.facts import OWNER, Rule, Slice
from policies.decisions import ask, duties, facts, slices
from policies.decisions.lookups import patterns
from policies.decisions.lookups.access import depths
from policies.models import Assignment, Grant, Ownership

GRANT = "grant"
APPROVE, REVIEW = "approve_requests", "review_access"
OWNS, OFFICE = "owner", "service_admin"
MANAGING = "manage"
"""The category of the privileges that let a principal give access."""
ON_TEXTS = ("ADMIN", "ALL")
"""The same among the privileges on texts."""


@dataclass(frozen=True)
class Approver:
    """A person who may decide: as `owner` or `service_admin`, by a privilege or a duty, held at `where`."""

    principal: Principal
    ground: str
    where: Node


def of(
    node: Node,
    *,
    duty: str = "",
    now: datetime | None = None,
    without: Iterable[Principal] = (),
    action: str = GRANT,
) -> list[Approver]:
    """The people who may decide about an object, the nearest to it first, then by name.

    Groups are unfolded, and only those who can sign in are named.  `duty` counts its holders on the object or
    above it too; `action` is what the law is asked, to grant unless said otherwise.  At most eleven queries.
    """
    return of_many([(node, action)], duty=duty, now=now, without=without)[0]


def of_many(
    asked: Sequence[tuple[Node, str]],
    *,
    duty: str = "",
    now: datetime | None = None,
    without: Iterable[Principal] = (),
) -> list[list[Approver]]:
    """The same for many objects, each with what the law is asked.  At most eleven queries a realm."""
    left_out, now = {item.pk for item in without}, now or timezone.now()
    approvers: list[list[Approver]] = [[] for _ in asked]
    by_realm: dict[int, list[int]] = {}
    for at, (node, _) in enumerate(asked):
        by_realm.setdefault(node.realm_id, []).append(at)
    for places in by_realm.values():
        several = _Found([asked[at][0] for at in places], duty, now)
        for at in places:
            approvers[at] = sorted(_About(several, *asked[at]).deciders(left_out), key=_nearest)
    return approvers


def _nearest(approver: Approver) -> tuple[int, str]:
    return -len(approver.where.levels), approver.principal.label.casefold()


def may(
    principal: Principal, node: Node, *, duty: str = "", now: datetime | None = None, action: str = GRANT
) -> Decision:
    """The same question for one: the law's answer, or that of the duty where the law says no."""
    return Rights(principal, duty, now or timezone.now()).decide(node, action)


class Rights:
    """What one principal decides at a moment, for many questions: three queries, and one more a realm."""

    def __init__(self, principal: Principal, duty: str, now: datetime) -> None:
        self.principal, self.duty, self.now = principal, duty, now
        self._slices: dict[int, Slice] = {}

    @cached_property
    def _held(self) -> frozenset[int]:
        return duties.held(self.principal, self.duty, now=self.now) if self.duty else frozenset()

    def decide(self, node: Node, action: str = GRANT) -> Decision:
        """May they decide about an object?"""
        if node.realm_id not in self._slices:
            self._slices[node.realm_id] = slices.current(self.principal, node, now=self.now)
        decision = ask.answer(self._slices[node.realm_id], action, node, now=self.now).decision
        if not decision and not self._held.isdisjoint(node.lineage):
            return Decision(True, self.duty, decision.revision, "allowed")
        return decision


class _Found:
    """The candidates for some objects of one realm, and their facts on these."""

    def __init__(self, nodes: Sequence[Node], duty: str, now: datetime) -> None:
        self.nodes, self.duty, self.now = nodes, duty, now
        self.law = dialects.get(nodes[0].kind)
        self.lineages = list(dict.fromkeys(key for node in nodes for key in node.lineage))

    @cached_property
    def people(self) -> list[Principal]:
        """Everybody who may come into question and can sign in."""
        holders = {principal.pk: principal for principal in Principal.objects.filter(self._holding())}
        holders |= {item.holder.pk: item.holder for item in self.dutiful}
        groups = [pk for pk, holder in holders.items() if holder.kind == Principal.Kind.GROUP]
        inside = Membership.objects.open().within(self.now).filter(group__in=groups)
        self.groups_of: dict[int, list[int]] = {}
        for group, member in inside.values_list("group", "member"):
            self.groups_of.setdefault(member, []).append(group)
        rest = Principal.objects.filter(any_of("id", self.groups_of.keys() - holders.keys()))
        people = [holder for holder in (*holders.values(), *rest) if holder.kind == Principal.Kind.USER]
        entering = able([person.pk for person in people], now=self.now)
        return [person for person in people if person.pk in entering]

    def _holding(self) -> Q:
        owners = Ownership.objects.open().filter(securable__in=self.lineages)
        grants = Grant.objects.open().filter(effect="allow")
        if self.law.by_text:
            texts, realm = patterns.patterns_counting_on(*self.nodes), self.nodes[0].realm_id
            grants = grants.filter(realm=realm, pattern__in=texts, privilege__in=ON_TEXTS)
        else:
            codes = [
                code for code, privilege in self.law.privileges.items() if privilege.category == MANAGING
            ]
            grants = grants.filter(securable__in=self.lineages, privilege__in=codes)
        assigned = Assignment.objects.open().filter(role__in=grants.values("role"))
        wanted = Q(pk__in=owners.values("owner")) | Q(pk__in=assigned.values("holder"))
        wanted |= Q(pk__in=grants.filter(holder__isnull=False).values("holder"))
        wanted |= Q(kind=Principal.Kind.USER, name__in=settings.LAKEWARDEN_SERVICE_ADMINS)
        admins = self._realm.settings.get("admin_group")
        return wanted | Q(kind=Principal.Kind.GROUP, name=admins) if admins else wanted

    @cached_property
    def _realm(self) -> Realm:
        return Realm.objects.get(pk=self.nodes[0].realm_id)

    @cached_property
    def dutiful(self) -> list[duties.HeldDuty]:
        """Who has the duty on one of the objects or above it, the nearest first."""
        return (
            [held for held in duties.duties_along(*self.nodes) if held.duty == self.duty] if self.duty else []
        )

    @cached_property
    def loaded(self) -> facts.Loaded:
        ids = {person.pk for person in self.people}
        return facts.load(self._realm, self.nodes[0].realm, ids, now=self.now, objects=self.lineages)

    @cached_property
    def alike(self) -> dict[int, object]:
        """What somebody's answer depends on."""
        loaded = self.loaded
        return {
            person.pk: (loaded.signature_of(person.pk), facts.is_service_admin(person))
            for person in self.people
        }


class _About:
    """The candidates for one object, decided one by one; those alike are decided once."""

    def __init__(self, candidates: _Found, node: Node, action: str) -> None:
        self.found, self.node, self.action = candidates, node, action
        self.places = [*node.above(), node]
        self._grounds: dict[object, tuple[str, Node] | None] = {}

    def deciders(self, left_out: Collection[int]) -> list[Approver]:
        named = (self._decider(person) for person in self.found.people if person.pk not in left_out)
        return [item for item in named if item is not None]

    def _decider(self, person: Principal) -> Approver | None:
        """What the person decides by; None for one who may not."""
        alike = self.found.alike[person.pk]
        if alike not in self._grounds:
            self._grounds[alike] = self._by_law(person)
        ground = self._grounds[alike] or self._by_duty(person)
        return Approver(person, *ground) if ground else None

    def _by_law(self, person: Principal) -> tuple[str, Node] | None:
        held = self.found.loaded.slice_of(person)
        answer = ask.answer(held, self.action, self.node, now=self.found.now)
        if not answer:
            return None
        depth_of = depths(self.node)
        counted = [
            (depth, rule.privilege == OWNER, rule)
            for rule in answer.explained(now=self.found.now).because
            if (depth := depth_of(rule)) is not None and self._counts(rule)
        ]
        if not counted:
            return OFFICE, self.places[0]
        depth, owns, rule = max(counted, key=lambda candidate: candidate[:2])
        return (OWNS if owns else rule.privilege), self.places[depth]

    def _counts(self, rule: Rule) -> bool:
        privilege = self.found.law.privilege(rule.privilege)
        return privilege is None or privilege.category == MANAGING or rule.privilege in ON_TEXTS

    def _by_duty(self, person: Principal) -> tuple[str, Node] | None:
        mine: Collection[int] = (person.pk, *self.found.groups_of.get(person.pk, ()))
        held = [item.node for item in self.found.dutiful if item.holder.pk in mine]
        places = [item for item in held if item.id in self.node.lineage]
        return (self.found.duty, max(places, key=lambda place: len(place.levels))) if places else None


__all__ = ["APPROVE", "GRANT", "REVIEW", "Approver", "Rights", "may", "of", "of_many"]

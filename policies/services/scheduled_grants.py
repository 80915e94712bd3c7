"""What was given ahead of time is asked about again: who may no longer hold it loses it before it begins.

Nothing here can be late.  Leaving a realm, or being disabled, ends in that very change what has not begun;
the decision itself asks for membership; and the watch looks ahead of each beginning, for what only the clock
takes away: a membership that ends before the grant begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property

from django.db.models import Q

from accounts.models import Membership, Principal, User
from accounts.record import BEGINNING, Origin
from catalog.models import Realm
from catalog.nodes import Node, nodes
from lakewarden.law import dialects
from policies.authority import SYSTEM, Authority, of_system
from policies.decisions import personal_role_names
from policies.events import GRANT_REMOVED, ROLE_UNASSIGNED, EventDraft
from policies.models import Assignment, Grant, RealmMember
from policies.models.grants import Effect
from policies.record.change import ChangeInProgress, change
from policies.record.event_drafts import make_event
from policies.separation import rules as separation_rules
from policies.separation.rules import Violation
from policies.services import personal_roles

AHEAD = timedelta(minutes=10)
"""So long before its beginning something is asked about first, and then at every look."""
BACK = timedelta(days=7)
"""So long after it, in case no look came in time: the worker may have been down."""
NO_MEMBER = "the future holder is no member of the realm any more"
CONFLICT = "a rule of separation made since keeps it from the future holder"
DISABLED = "the account of the future holder is disabled"
Fact = Grant | Assignment


@dataclass(frozen=True)
class Beginning:
    """A grant or an assignment that begins at a moment, and who holds it."""

    fact: Fact
    holder: Principal
    node: Node

    @property
    def at(self) -> datetime:
        return self.fact.valid_from or BEGINNING

    def ended(self) -> EventDraft:
        """The event of its end."""
        if isinstance(self.fact, Assignment):
            return make_event(
                ROLE_UNASSIGNED, self.node, self.holder, role=personal_role_names.role_name(self.fact.role_id)
            )
        data = {"privilege": self.fact.privilege, "holder": self.holder.pseudonym}
        return make_event(GRANT_REMOVED, self.node, self.holder, **data)


Check = Callable[[Sequence[Beginning], datetime], dict[Beginning, str]]
"""Which of these may not begin, and why not."""


def _no_members(some: Sequence[Beginning], now: datetime) -> dict[Beginning, str]:
    """Asked as of the beginning: a membership has windows, too."""
    reasons: dict[Beginning, str] = {}
    rows = RealmMember.objects.open().filter(principal__in={item.holder.pk for item in some})
    windows: dict[tuple[int, int], list[RealmMember]] = {}
    for row in rows:
        windows.setdefault((row.realm_id, row.principal_id), []).append(row)
    for item in some:
        admitted = windows.get((item.node.realm_id, item.holder.pk), [])
        if not dialects.get(item.node.kind).open_to_all and not any(_holds(row, item.at) for row in admitted):
            reasons[item] = NO_MEMBER
    return reasons


def _holds(row: RealmMember, at: datetime) -> bool:
    return (row.valid_from is None or row.valid_from <= at) and (
        row.valid_until is None or at < row.valid_until
    )


def _disabled(some: Sequence[Beginning], now: datetime) -> dict[Beginning, str]:
    """Of what has begun nothing is taken for this: disabling came later, and may be for a while."""
    closed = User.objects.filter(principal__in={item.holder.pk for item in some}, is_active=False)
    out = set(closed.values_list("principal", flat=True))
    return {item: DISABLED for item in some if item.at > now and item.holder.pk in out}


def _in_conflict(some: Sequence[Beginning], now: datetime) -> dict[Beginning, str]:
    """What would give somebody both sides of a rule that was made after it was given."""
    later, rules = [item for item in some if item.at > now], separation_rules.opened(now.timestamp())
    if not later or not rules:
        return {}
    reasons: dict[Beginning, str] = {}
    for realm in Realm.objects.filter(pk__in={rule.realm_id for rule in rules.rules}):
        in_realm = [item for item in later if item.node.realm_id == realm.pk]
        mine = replace(rules, rules=[rule for rule in rules.rules if rule.realm_id == realm.pk])
        people = _people_of([item.holder for item in in_realm], now)
        everybody = list({item.pk: item for some in people.values() for item in some}.values())
        clashes = mine.clashes(separation_rules.load(realm, everybody)) if everybody else []
        reasons |= {item: CONFLICT for item in in_realm if _clashes(item, people[item.holder.pk], clashes)}
    return reasons


def _people_of(holders: Sequence[Principal], now: datetime) -> dict[int, list[Principal]]:
    """Each holder alone, or with a group everybody in it.  One query."""
    people = {holder.pk: [holder] for holder in holders if holder.kind != Principal.Kind.GROUP}
    groups = [holder.pk for holder in holders if holder.kind == Principal.Kind.GROUP]
    inside = Membership.objects.open().within(now).filter(group__in=groups).select_related("member")
    people |= {group: [] for group in groups}
    for row in inside:
        people[row.group_id].append(row.member)
    return people


def _clashes(beginning: Beginning, people: Sequence[Principal], clashes: Sequence[Violation]) -> bool:
    """Whether one of the people comes to have both sides at the moment it begins, by what begins then."""
    at, numbers = beginning.at.timestamp(), {person.pk for person in people}
    return any(
        clash.person.pk in numbers
        and any(start <= at < end for start, end in clash.spans)
        and any(way.span[0] == at for pair in clash.both.pairs for way in pair)
        for clash in clashes
    )


CHECKS: list[Check] = [_no_members, _disabled, _in_conflict]


@dataclass(frozen=True)
class BeginningFacts:
    """The facts that begin around a moment, with their holders."""

    now: datetime

    @cached_property
    def facts(self) -> list[Fact]:
        window = {"valid_from__gt": self.now - BACK, "valid_from__lte": self.now + AHEAD}
        grants = Grant.objects.open().filter(effect=Effect.ALLOW, securable__isnull=False, **window)
        roles = Assignment.objects.open().exclude(origin=Origin.SYSTEM).filter(**window)
        return [*grants.select_related("holder"), *roles.select_related("holder")]

    def beginnings(self) -> list[Beginning]:
        return beginnings_of(self.facts)

    def barred(self) -> dict[Beginning, str]:
        """What may not begin, and the first reason why not."""
        reasons: dict[Beginning, str] = {}
        some = self.beginnings()
        for check in CHECKS:
            for beginning, why in check(some, self.now).items():
                reasons.setdefault(beginning, why)
        return reasons


def beginnings_of(facts: Sequence[Fact]) -> list[Beginning]:
    """The same with holders and places; what a made role is to give concerns no holder.  Two queries."""
    in_roles = {fact.role_id for fact in facts if isinstance(fact, Grant) and fact.role_id}
    mine = Assignment.objects.open().filter(role__in=in_roles, origin=Origin.SYSTEM).select_related("holder")
    owner_of = {row.role_id: row.holder for row in mine}
    keys = {fact.role_id if isinstance(fact, Assignment) else fact.securable_id for fact in facts}
    places = nodes(key for key in keys if key)
    beginnings = []
    for fact in facts:
        holder = fact.holder or owner_of.get(fact.role_id or 0)
        place = places.get((fact.role_id if isinstance(fact, Assignment) else fact.securable_id) or 0)
        if holder is not None and place is not None:
            beginnings.append(Beginning(fact, holder, place))
    return beginnings


def look(now: datetime) -> int:
    """End what may not begin; answers how many.  Three queries when there is nothing to end."""
    barred = BeginningFacts(now).barred()
    groups: dict[tuple[int, str], list[int]] = {}
    for beginning, why in barred.items():
        groups.setdefault((beginning.node.realm_id, why), []).append(beginning.fact.pk)
    return sum(_end(realm, why, now) for realm, why in groups)


def _end(realm: int, why: str, now: datetime) -> int:
    """Asked again under the lock: somebody may have been admitted meanwhile."""
    reason = f"It had been given ahead of time, and {why}."
    with change(GRANT_REMOVED, realm=Realm.objects.get(pk=realm), by=SYSTEM, reason=reason) as current:
        still = BeginningFacts(now).barred().items()
        mine = [beginning for beginning, other in still if beginning.node.realm_id == realm and other == why]
        end_all(current, mine, by=of_system("eligibility"))
        return len(mine)


def end_not_begun(current: ChangeInProgress, who: Iterable[Principal], *, by: Authority) -> int:
    """Within the change that disables an account: grants scheduled for its person end now."""
    people = {item.pk for item in who}
    roles = Assignment.objects.open().filter(holder__in=people)
    personal_ones = roles.filter(origin=Origin.SYSTEM).values("role")
    later = Q(valid_from__gt=current.at)
    grants = Grant.objects.open().filter(Q(holder__in=people) | Q(role__in=personal_ones), later)
    facts: list[Fact] = [
        *grants.filter(effect=Effect.ALLOW, securable__isnull=False).select_related("holder"),
        *roles.filter(later).select_related("holder"),
    ]
    beginnings = beginnings_of(facts)
    end_all(current, beginnings, by=by)
    return len(beginnings)


def end_all(current: ChangeInProgress, some: Sequence[Beginning], *, by: Authority) -> None:
    for item in some:
        current.end(item.fact, item.ended(), by=by)
    for node, holder in {
        (item.node.realm_id, item.holder.pk): (item.node, item.holder) for item in some
    }.values():
        personal_roles.drop_when_empty(current, node, holder)

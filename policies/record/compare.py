"""Two states of an object's access beside each other, and everything that came and went between them.

The states in between are those after each fact that could matter began or ended, and at each moment at which
one's window opened or closed; between two of them nobody's access changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils.translation import gettext

from accounts.models import Membership, Principal
from accounts.record import Fact, FactRow
from catalog.models import Mode, Placement
from catalog.nodes import Node
from catalog.past import node_at
from lakewarden.law import dialects
from policies.decisions.lookups import patterns
from policies.decisions.lookups.access import AccessMap
from policies.errors import Invalid
from policies.models import Assignment, Change, Grant, Ownership, RealmMember
from policies.record.revisions import Past

MOST = 200
"""States that are worked out at most for one question."""

Abilities = Mapping[int, frozenset[str]]


@dataclass(frozen=True)
class Difference:
    """One person's actions at both ends; `kind` is gain, lose or change."""

    principal: Principal
    before: frozenset[str]
    after: frozenset[str]

    @property
    def kind(self) -> str:
        if not self.before:
            return "gain"
        return "change" if self.after else "lose"


@dataclass(frozen=True)
class Spell:
    """A time in which somebody could do the same things; `until` is None when it had not ended."""

    actions: frozenset[str]
    since: Past
    until: Past | None


@dataclass
class Course:
    """One person's spells with access, oldest first."""

    principal: Principal
    spells: list[Spell] = field(default_factory=list)

    @property
    def came_and_went(self) -> bool:
        return bool(self.spells) and all(spell.until is not None for spell in self.spells)


def differences(id: int, before: Past, after: Past) -> list[Difference]:
    """Who gained, lost or changed what on an object between two states, by name."""
    old, new = state(id, before), state(id, after)
    people = old.people | new.people
    rows = [
        Difference(person, old.actions.get(key, frozenset()), new.actions.get(key, frozenset()))
        for key, person in people.items()
    ]
    return sorted((row for row in rows if row.before != row.after), key=lambda row: _by_name(row.principal))


@dataclass(frozen=True)
class State:
    """Who could do what at one state; people without access are left out of `actions`."""

    past: Past
    people: dict[int, Principal]
    actions: Abilities


def state(id: int, past: Past) -> State:
    """An object's access as it was; of an object that was not there, nobody's."""
    node = node_at(id, past.revision)
    if node is None:
        return State(past, {}, {})
    access = AccessMap(node, now=past.moment, as_of=past.revision, whole=True)
    able = {key: access.access_of(person).can for key, person in access.people.items()}
    return State(past, access.people, {key: can for key, can in able.items() if can})


def courses(node: Node, since: Past, until: Past) -> list[Course]:
    """Everybody who had access at any time between two states, and when; by name.  Raises Invalid."""
    moments = turning_points(node, since, until)
    if len(moments) > MOST:
        raise Invalid(
            gettext("more than %(most)s changes matter to this in that time; choose a shorter one")
            % {"most": MOST}
        )
    by_principal: dict[int, Course] = {}
    open_: dict[int, Spell] = {}
    for past in moments:
        now = state(node.id, past)
        for key, person in now.people.items():
            by_principal.setdefault(key, Course(person))
        for key, course in by_principal.items():
            _turn(course, open_, key, now.actions.get(key, frozenset()), past)
    for key, spell in open_.items():
        by_principal[key].spells.append(spell)
    return sorted(
        (item for item in by_principal.values() if item.spells), key=lambda course: _by_name(course.principal)
    )


def _turn(course: Course, open_: dict[int, Spell], key: int, actions: frozenset[str], past: Past) -> None:
    """Close a person's spell when what they can do changed, and begin the next."""
    spell = open_.get(key)
    if spell is not None and spell.actions != actions:
        course.spells.append(replace(spell, until=past))
        del open_[key]
    if actions and key not in open_:
        open_[key] = Spell(actions, past, None)


def turning_points(node: Node, since: Past, until: Past) -> list[Past]:
    """The states at which access to an object can have changed, both ends included, oldest first."""
    facts = list(_telling(node, since, until))
    revisions = {edge for row in facts for edge in (row.opened, row.closed) if edge}
    inside = sorted(item for item in revisions if since.revision < item <= until.revision)
    changes = Change.objects.filter(revision__in=inside[: MOST + 1]).values_list("revision", "at")
    states = [since, *(Past(revision, at) for revision, at in changes.order_by("revision"))]
    edges = {edge for row in facts for edge in (row.valid_from, row.valid_until) if edge}
    return _with_windows([*states, until], sorted(edges))


def turning_points_of(person: Principal, realms: Sequence[Node], since: Past, until: Past) -> list[Past]:
    """The states at which what somebody is given in some realms can have changed, like `turning_points`."""
    facts = list(_told_of(person, [realm.realm_id for realm in realms], since, until))
    revisions = {edge for row in facts for edge in (row.opened, row.closed) if edge}
    inside = sorted(item for item in revisions if since.revision < item <= until.revision)
    changes = Change.objects.filter(revision__in=inside).values_list("revision", "at").order_by("revision")
    edges = {edge for row in facts for edge in (row.valid_from, row.valid_until) if edge}
    return _with_windows([since, *(Past(*change) for change in changes), until], sorted(edges))


def _told_of(person: Principal, realms: Sequence[int], since: Past, until: Past) -> Iterable[Fact]:
    """Every fact true at some time in between by which somebody is given something."""
    inside = _between(Membership.objects.filter(member=person), since, until)
    holders = Q(pk=person.pk) | Q(pk__in=inside.values("group"))
    holding = Principal.objects.filter(holders)
    assigned = _between(Assignment.objects.filter(holder__in=holding, role__realm__in=realms), since, until)
    given = Q(holder__in=holding, securable__realm__in=realms) | Q(role__in=assigned.values("role"))
    yield from _some(inside)
    yield from _some(assigned)
    yield from _some(_between(Grant.objects.filter(given), since, until))
    owned = Ownership.objects.filter(owner__in=holding, securable__realm__in=realms)
    yield from _some(_between(owned, since, until))
    admitted = RealmMember.objects.filter(principal__in=holding, realm__in=realms)
    yield from _some(_between(admitted, since, until))


def _with_windows(states: Sequence[Past], edges: Sequence[datetime]) -> list[Past]:
    """The states, and between two of them the moments at which a window opened or closed."""
    facts: list[Past] = []
    for past, following in zip(states, [*states[1:], None], strict=True):
        facts.append(past)
        if following is not None:
            facts += [Past(past.revision, edge) for edge in edges if past.moment < edge < following.moment]
    return list(dict.fromkeys(facts))


def _telling(node: Node, since: Past, until: Past) -> Iterable[Fact]:
    """Every fact true at some time in between that can matter for access."""
    ends = [node_then for past in (since, until) if (node_then := node_at(node.id, past.revision))] or [node]
    places = {key for end in ends for key in end.lineage}
    if dialects.get(node.kind).by_text:
        grants = _between(Grant.objects.filter(realm=node.realm_id), since, until)
        grants = grants.filter(pattern__in=patterns.told_in(grants, *ends))
    else:
        grants = _between(Grant.objects.filter(securable__in=places), since, until)
    held = Q(role__in=grants.values("role")) | Q(role=node.id)  # who holds a role may see it
    assigned = _between(Assignment.objects.filter(held), since, until)
    owned = _between(Ownership.objects.filter(securable__in=places), since, until)
    holders = Q(pk__in=grants.values("holder")) | Q(pk__in=assigned.values("holder"))
    holders |= Q(pk__in=owned.values("owner"))
    groups = Principal.objects.filter(holders, kind=Principal.Kind.GROUP)
    inside = _between(Membership.objects.filter(group__in=groups), since, until)
    # being let into the realm, or out of it, matters to the holders of something here, groups included
    concerned = Principal.objects.filter(holders | Q(pk__in=inside.values("member")))
    admitted = RealmMember.objects.filter(realm=node.realm_id, principal__in=concerned)
    yield from _some(grants)
    yield from _some(assigned)
    yield from _some(owned)
    yield from _some(inside)
    yield from _some(_between(admitted, since, until))
    yield from _some(_between(Mode.objects.filter(realm=node.realm_id), since, until))
    yield from _some(_between(Placement.objects.filter(securable__in=places), since, until))


def _between(rows: QuerySet[FactRow], since: Past, until: Past) -> QuerySet[FactRow]:
    lasted = Q(closed__isnull=True) | Q(closed__gt=since.revision)
    return rows.filter(lasted, opened__lte=until.revision)


def _some(rows: QuerySet[FactRow]) -> QuerySet[FactRow]:
    """No more than it takes to know that they are too many."""
    return rows.order_by("pk")[: 50 * MOST]


def _by_name(principal: Principal) -> tuple[str, int]:
    return principal.label.casefold(), principal.pk

"""Whom a change that is only thought of would bring in conflict with a rule, before it is made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from django.utils import timezone

from accounts.models import Membership, Principal
from catalog.models import Realm
from catalog.nodes import Node, any_of
from lakewarden.law.facts import Rule, Station
from policies.decisions import facts
from policies.models import Grant
from policies.models.grants import Effect
from policies.separation import affected_people
from policies.separation import rules as separation_rules
from policies.separation.rules import Book, Violation
from policies.separation.sides import HeldSides, SidePath, common, held, seconds, span_of, without

Given = tuple[Principal, HeldSides]
"""A person or group, and what it is to have besides, by ways that begin at itself."""
Until = tuple[datetime | None, datetime | None]


def rights(holder: Principal, rules: Iterable[Rule]) -> Given:
    """Rights that a holder is to have; their `via` begins at the holder."""
    return holder, HeldSides(rules=tuple(rules))


def role(holder: Principal, node: Node, window: Until = (None, None)) -> Given:
    """A role that a holder is to have; what the role gives is found when it is looked at."""
    span = span_of((seconds(window[0]), seconds(window[1])))
    return holder, HeldSides(roles=(SidePath((Station("role", node.name, node.id),), span),))


def conflicts(root: Node, given: Sequence[Given], *, now: datetime | None = None) -> list[Violation]:
    """The conflicts that are new when these holders have this besides; excepted ones are left out.

    One query where the realm has no rules, else eight at most.
    """
    moment = (now or timezone.now()).timestamp()
    rules = separation_rules.of_realm(root, moment)
    if not rules or not given:
        return []
    return _new(root, rules, given)


def of_joining(root: Node, group: Principal, people: Sequence[Principal]) -> list[Violation]:
    """The conflicts in a realm that are new when people join a group."""
    rules = separation_rules.of_realm(root, timezone.now().timestamp())
    if not rules:
        return []
    loaded = facts.load(Realm(pk=root.realm_id, kind=root.kind), root.realm, [group.pk])
    has = _behind(Station("group", group.name, group.pk), held(loaded, group.pk))
    return _new(root, rules, [(person, has) for person in people])


def _new(root: Node, rules: Book, given: Sequence[Given]) -> list[Violation]:
    more = _by_person(given)
    realm = Realm(pk=root.realm_id, kind=root.kind)
    before = separation_rules.load(realm, list(more))
    had = {(clash.rule.pk, clash.person.pk): clash.both.spans for clash in rules.clashes(before)}
    after = rules.clashes({person: has.also(more[person]) for person, has in before.items()})
    left = [
        replace(item, spans=tuple(without(item.spans, had.get((item.rule.pk, item.person.pk), ()))))
        for item in after
    ]
    return [item for item in left if item.spans]


def _by_person(given: Sequence[Given]) -> Mapping[Principal, HeldSides]:
    """What each person gets, directly or through a group, with what the roles among it give."""
    given = _with_what_roles_give(given)
    holders = {holder.pk: holder for holder, _ in given}
    groups = [pk for pk, holder in holders.items() if holder.kind == Principal.Kind.GROUP]
    inside = (
        Membership.objects.open().filter(group__in=groups).values_list("group", "member") if groups else ()
    )
    members: dict[int, list[int]] = {}
    for group, member in inside:
        members.setdefault(group, []).append(member)
    people = {item.pk: item for item in affected_people.unfolded(list(holders))}
    sides: dict[Principal, HeldSides] = {}
    for holder, has in given:
        for pk in members.get(holder.pk, [holder.pk]):
            if pk in people:
                station = Station("group", holder.name, holder.pk)
                mine = has if pk == holder.pk else _behind(station, has)
                sides[people[pk]] = sides.get(people[pk], HeldSides()).also(mine)
    return sides


def _behind(station: Station, has: HeldSides) -> HeldSides:
    """The same, reached through a group."""
    roles = tuple(replace(way, via=(station, *way.via)) for way in has.roles)
    return HeldSides(roles, tuple(rule._replace(via=(station, *rule.via)) for rule in has.rules))


def _with_what_roles_give(given: Sequence[Given]) -> list[Given]:
    roles = {way.via[-1].key for _, has in given for way in has.roles}
    if not roles:
        return list(given)
    rows: dict[object, list[Grant]] = {}
    for row in Grant.objects.open().filter(
        any_of("role_id", roles), effect=Effect.ALLOW, securable__isnull=False
    ):
        rows.setdefault(row.role_id, []).append(row)
    return [(holder, has.also(HeldSides(rules=tuple(_given_by(has, rows))))) for holder, has in given]


def _given_by(has: HeldSides, rows: Mapping[object, Sequence[Grant]]) -> Iterable[Rule]:
    for way in has.roles:
        for row in rows.get(way.via[-1].key, ()):
            start, end = common(way.span, span_of((seconds(row.valid_from), seconds(row.valid_until))))
            yield Rule(
                row.securable_id, row.privilege, True, way.via, start, end, row.opened, f"grant:{row.pk}"
            )

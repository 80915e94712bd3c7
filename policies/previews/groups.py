"""What joining or leaving a group does to somebody, in every realm, worked out before it is done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from accounts.models import Principal
from accounts.people import django_group_name
from catalog.models import Realm
from catalog.nodes import Node, nodes
from lakewarden.law import dialects
from lakewarden.law.facts import OWNER, Rule, Slice, Station
from policies.decisions import facts
from policies.decisions.lookups.visible_objects import realms_of
from policies.models import GroupDuty
from policies.previews.grants import Preview, Rules, World, actions_of, in_order

OWNED = ("read", "write", "grant", "drop")


@dataclass(frozen=True)
class Moved:
    """What becomes of some people: object by object, and the duties that come or go with the group."""

    parts: tuple[tuple[Node, Preview], ...]
    duties: tuple[tuple[Node, str], ...]
    realms: tuple[Node, ...]


def of_membership(
    group: Principal, people: Sequence[Principal], *, joins: bool, now: datetime | None = None
) -> Moved:
    """What joining (or leaving) does to each of the people: all objects that rules of the group name."""
    now = now or timezone.now()
    realms = tuple(realms_of(group))
    parts = tuple(part for realm in realms for part in _in_realm(realm, group, people, joins, now))
    rows = GroupDuty.objects.filter(group__name=django_group_name(group.name)).select_related("permission")
    given = [(row.content_object_id, row.permission.codename) for row in rows]
    places = nodes({key for key, _ in given})
    return Moved(parts, tuple((places[key], duty) for key, duty in sorted(given) if key in places), realms)


def _in_realm(
    root: Node, group: Principal, people: Sequence[Principal], joins: bool, now: datetime
) -> Iterable[tuple[Node, Preview]]:
    given = _rules_of_group(root, group, now)
    by_object: dict[int, list[Rule]] = {}
    for rule in given:
        if isinstance(rule.object, int):
            by_object.setdefault(rule.object, []).append(rule)
    places = nodes(by_object)
    if not places or not people:
        return
    first = next(iter(places.values()))
    world = World(first, people, (), now, also=places.values())
    pairs = {person.pk: _before_and_after(world, person, group, given, joins) for person in world.people}
    for node in sorted(places.values(), key=lambda place: (place.names, place.type)):
        at = world.at(node, asked(node, by_object[node.id]))
        effects = [at.between(person, *pairs[person.pk]) for person in world.people]
        yield node, in_order(effects, world.loaded.revision)


def _rules_of_group(root: Node, group: Principal, now: datetime) -> Rules:
    realm = Realm(pk=root.realm_id, kind=root.kind)
    loaded = facts.load(realm, root.realm, [group.pk], now=now)
    if group.pk not in loaded.members and not dialects.get(root.kind).open_to_all:
        return ()
    station = Station("group", group.name, group.pk)
    return tuple(rule._replace(via=(station, *rule.via)) for rule in loaded.rules_of(group.pk))


def _before_and_after(
    world: World, person: Principal, group: Principal, given: Rules, joins: bool
) -> tuple[Slice, Slice]:
    before = tuple(world.loaded.rules_of(person.pk))
    apart = tuple(rule for rule in before if not _through(rule, group))
    after = (*apart, *given) if joins else apart
    return world.slice_with(person, before), world.slice_with(person, after)


def _through(rule: Rule, group: Principal) -> bool:
    return bool(rule.via) and rule.via[0].kind == "group" and rule.via[0].key == group.pk


def asked(node: Node, rules: Sequence[Rule]) -> tuple[str, ...]:
    """The actions to ask about where such rules come or go; an owner's where ownership does."""
    codes = [rule.privilege for rule in rules if rule.privilege != OWNER]
    actions = dialects.get(node.kind).actions_for(node.type)
    owned = [name for name in OWNED if name in actions] if len(codes) < len(rules) else []
    return tuple(dict.fromkeys([*actions_of(node, codes), *owned])) or tuple(actions)

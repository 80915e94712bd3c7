"""What should be true in a Herd or CDAP of another server: what everybody holds now, as their own entries.

Rights that come by a group or a role here are given directly there, where nobody knows our groups.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Q

from accounts.models import Membership, Principal
from catalog.models import Realm
from catalog.nodes import Node
from catalog.queries import realm_named
from lakewarden.backends import kinds
from lakewarden.backends.base import Desired, Observation, Right
from lakewarden.law.dialects.cdap.authorizable import BadEntity, parse
from lakewarden.law.facts import Key, Rule
from policies.decisions import facts
from policies.models import Assignment, Grant, RealmMember
from policies.sync.desired import targets_below

PERSON = "person:"
PEOPLE = (Principal.Kind.USER, Principal.Kind.SERVICE)
ToRight = Callable[[Key, str], "Right | None"]


def holders(realm: str) -> list[str]:
    """The names of all who hold something in a realm, or are admitted to it."""
    row = realm_named(realm)
    return sorted({one.name for one in _holders(row)}) if row else []


def _holders(realm: Realm) -> list[Principal]:
    """People, services and patterns that something was given to, by themselves or by a group."""
    direct = Grant.objects.open().filter(Q(securable__realm=realm) | Q(realm=realm), holder__isnull=False)
    held = Assignment.objects.open().filter(role__realm=realm)
    admitted = RealmMember.objects.open().filter(realm=realm)
    found = {
        *direct.values_list("holder", flat=True),
        *held.values_list("holder", flat=True),
        *admitted.values_list("principal", flat=True),
    }
    members = Membership.objects.open().filter(group__in=found).values_list("member", flat=True)
    wanted = (*PEOPLE, Principal.Kind.PATTERN)
    rows = Principal.objects.filter(pk__in=found | set(members), kind__in=wanted)
    return list(rows.order_by("pk"))


def herd(backend: Any, node: Node, seen: Observation, now: datetime) -> tuple[Desired, list[str]]:
    """The entries of a Herd: permissions on its namespaces, which may be written in another case there."""
    there = {one.path[0].upper(): one.path for one in seen.objects if one.kind == "namespace"}
    known: dict[Key, tuple[str, ...]] = {}
    absent = []
    for target in targets_below(node, kinds.get("herd")):
        if target.kind != "namespace":
            continue
        path = there.get(target.path[0].upper())
        if path is None:
            absent.append(target.path[0])
        else:
            known[target.id] = path

    def right(object_: Key, code: str) -> Right | None:
        path = known.get(object_)
        return Right("namespace", path, code) if path and backend.rights_for(code, "namespace") else None

    return _desired(node, now, right), absent


def cdap(backend: Any, node: Node, seen: Observation, now: datetime) -> tuple[Desired, list[str]]:
    """The grants of a CDAP, each on a text that may name what does not exist yet."""

    def right(object_: Key, code: str) -> Right | None:
        try:
            named = parse(str(object_))
        except BadEntity:
            return None  # an object of the realm itself, such as a role
        return Right(named.type, named.parts, code) if backend.rights_for(code, named.type) else None

    return _desired(node, now, right), []


def _desired(node: Node, now: datetime, right: ToRight) -> Desired:
    roles: dict[str, set[Right]] = defaultdict(set)
    for name, rules in _rules(node, now).items():
        for rule in rules:
            if one := right(rule.object, rule.privilege):
                roles[PERSON + name].add(one)
    return Desired(
        {key: frozenset(rights) for key, rights in roles.items()},
        {key: frozenset({key.removeprefix(PERSON)}) for key in roles},
        {key: key.removeprefix(PERSON) for key in roles},
    )


def _rules(node: Node, now: datetime) -> Mapping[str, list[Rule]]:
    realm = Realm.objects.get(pk=node.realm_id)
    rows = _holders(realm)
    loaded = facts.load(realm, node.realm, [one.pk for one in rows], now=now)
    found: dict[str, list[Rule]] = defaultdict(list)
    for one in rows:
        found[one.name] += _now(loaded.rules_of(one.pk), now)
    return found


def _now(rules: Iterable[Rule], now: datetime) -> list[Rule]:
    """Those that hold; what comes by a pattern is the pattern's own entry over there."""
    moment = now.timestamp()
    return [
        rule
        for rule in rules
        if rule.allow
        and rule.holds_at(moment)
        and not any(station.kind == Principal.Kind.PATTERN for station in rule.via)
    ]

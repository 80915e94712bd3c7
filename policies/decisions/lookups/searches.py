"""Reverse lookups: on which objects may somebody do it, and who may do it here?

Every result was decided as the question itself would be.  A page reads a bounded number of candidates, so one
with few results, or none, may still have a next.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from django.conf import settings
from django.db import connection
from django.db.models import Q, QuerySet

from accounts.models import Principal
from catalog.models import Placement, Realm
from catalog.nodes import Node, nodes, on_or_below
from catalog.queries import mode_of
from lakewarden.law import dialects, engine
from lakewarden.law.facts import Level, Slice
from lakewarden.law.principals import Principal as Somebody
from policies.decisions import ask, facts, switches
from policies.decisions.fact_rows import principal_rows
from policies.decisions.held import people as held
from policies.decisions.lookups.access import AccessMap, needed_privileges
from policies.decisions.seals.sealed_rows import are_good, judged, principal_of
from policies.models import RealmMember

SCANNED = 2_000
LEAST = 20
"""So many candidates more than a page has are read at first."""
Like = tuple[Hashable, bool]
"""Those who hold the same on the object, and are site admins or not."""


@dataclass(frozen=True)
class Objects:
    """Some objects, in the order of their numbers; `next` is the number to go on after, None at the end."""

    found: tuple[Node, ...]
    next: int | None


class Subject(NamedTuple):
    """Somebody who was found, without the rest of their row: there can be ten thousand."""

    pk: int
    kind: str
    name: str


@dataclass(frozen=True)
class Subjects:
    """Some people, groups or services, in the order of their numbers; `next` as with objects."""

    found: tuple[Subject, ...]
    next: int | None


@dataclass(frozen=True)
class SearchSlice:
    """What somebody holds in one realm, and what they are asked to be able to do there."""

    root: Node
    slice: Slice
    action: str


def objects(
    reaches: Sequence[SearchSlice],
    type_: str,
    *,
    after: int,
    limit: int,
    now: datetime,
    within: Collection[int] | None = None,
) -> Objects:
    """The objects of a type on which the action is allowed, on or below those `within`.  Four queries."""
    of_realm = {reach.root.realm_id: reach for reach in reaches}
    wanted = Q(pk__in=[])
    for reach in reaches:
        wanted |= _candidates(reach, type_, now)
    rows = Placement.objects.open().filter(wanted, type=type_, securable__gt=after)
    if within is not None:
        rows = rows.filter(on_or_below(within))
    keys = list(rows.order_by("securable").values_list("securable", flat=True)[: SCANNED + 1])
    by_id = nodes(keys[:SCANNED]) if keys else {}
    able: list[Node] = []
    for node in (by_id[key] for key in keys[:SCANNED] if key in by_id):
        reach = of_realm[node.realm_id]
        if _allowed(reach.slice, reach.action, node, now):
            if len(able) == limit:
                return Objects(tuple(able), able[-1].id)
            able.append(node)
    return Objects(tuple(able), keys[SCANNED - 1] if len(keys) > SCANNED else None)


def _candidates(reach: SearchSlice, type_: str, now: datetime) -> Q:
    """What could be allowed in a realm: where nothing is without a fact, the objects that have one."""
    law = dialects.get(reach.root.kind)
    operation = law.action(type_, reach.action)
    if operation is None:
        return Q(pk__in=[])
    if law.by_text:
        return Q(securable=reach.root.id) | Q(ancestors__contains=[reach.root.id])
    inside = Q(securable=reach.root.id) | Q(ancestors__contains=[reach.root.id])
    somewhere = tuple(Level(each, object()) for each in (law.root_type, *law.paths.get(type_, ())))
    bare = replace(reach.slice, bits={}, rules=(), selves=frozenset(), next_change_at=None)
    if engine.decide(bare, operation, somewhere, now=now.timestamp()):
        return inside
    given = {key for key, bits in reach.slice.bits.items() if bits.allow or bits.owned}
    telling = {key for key in given | reach.slice.selves if isinstance(key, int)}
    return inside & on_or_below(telling)


def subjects(node: Node, action: str, kind: str, *, after: int, limit: int, now: datetime) -> Subjects:
    """Those of a kind who may do it to the object, themselves or through a group.

    Two queries for a page where all about the realm's members is held.
    """
    operation = dialects.get(node.kind).action(node.type, action)
    if operation is None:
        return Subjects((), None)
    realm = Realm(pk=node.realm_id, kind=node.kind)
    everybody = held.load_members(realm, node.realm, now=now, objects=node.lineage)
    if everybody is None:
        rows = _people(node, operation, now).filter(kind=kind)
        return _by_candidates(node, action, rows, after=after, limit=limit, now=now)
    members, loaded = everybody
    waiting = iter(members.of_kind(kind, after=after))
    return _by_classes(node, action, waiting, loaded, limit=limit, now=now)


def _by_candidates(
    node: Node, action: str, rows: QuerySet[Principal], *, after: int, limit: int, now: datetime
) -> Subjects:
    """Those who may do it of some.  One query, and two for each part of the candidates, which are read until
    the page is full: most of them may do it, so the first part is hardly larger than the page."""
    able: list[Subject] = []
    scanned, part = 0, limit + max(limit // 8, LEAST)
    while scanned < SCANNED:
        part = min(part, SCANNED - scanned)
        people = list(rows.order_by("pk").filter(pk__gt=after)[: part + 1])
        for person in _able(node, action, people[:part], now):
            if len(able) == limit:
                return Subjects(tuple(able), able[-1].pk)
            able.append(person)
        if len(people) <= part:
            return Subjects(tuple(able), None)
        scanned, after, part = scanned + part, people[part - 1].pk, part * 2
    return Subjects(tuple(able), after)


def _by_classes(
    node: Node,
    action: str,
    waiting: Iterator[int],
    loaded: facts.Loaded,
    *,
    limit: int,
    now: datetime,
) -> Subjects:
    """The same of all members, in their order: of those who hold the same as somebody who may not, not even
    the names are read."""
    admins, decided = _service_admins(), dict[Like, bool]()
    likes = ((number, (loaded.class_of(number), number in admins)) for number in waiting)
    worth_reading = ((number, like) for number, like in likes if decided.get(like, True))
    able: list[Subject] = []
    scanned, part = 0, limit + max(limit // 8, LEAST)
    while scanned < SCANNED:
        some = dict(islice(worth_reading, min(part, SCANNED - scanned)))
        if not some:
            return Subjects(tuple(able), None)
        before = len(able)
        for person in _able_of(node, action, some, loaded, decided, now):
            if len(able) == limit:
                return Subjects(tuple(able), able[-1].pk)
            able.append(person)
        scanned, after = scanned + len(some), max(some)
        still, found = limit + 1 - len(able), len(able) - before
        part = min(part * 2, still * len(some) // max(found, 1) + LEAST)
    return Subjects(tuple(able), after)


def _able_of(
    node: Node,
    action: str,
    some: Mapping[int, Like],
    loaded: facts.Loaded,
    decided: dict[Like, bool],
    now: datetime,
) -> Iterable[Subject]:
    """Those of some members who may do it, where the names of all of them are as the console wrote them."""
    with connection.cursor() as cursor:
        cursor.execute(principal_rows.OF_SOME, [f"{{{','.join(map(str, some))}}}"])
        rows = list(judged(cursor.fetchall()))
    if not all(good for _, good in rows):
        yield from _able(node, action, list(map(principal_of, (row for row, _ in rows))), now)
        return
    for row, _ in rows:
        like = some[row.pk]
        if like not in decided:
            decided[like] = _allowed(loaded.slice_of(principal_of(row)), action, node, now)
        if decided[like]:
            yield Subject(row.pk, row.effect, row.text)


def _service_admins() -> set[int]:
    names = settings.LAKEWARDEN_SERVICE_ADMINS
    rows = Principal.objects.filter(kind=Principal.Kind.USER, name__in=names) if names else ()
    return {person.pk for person in rows if facts.is_service_admin(person)}


def _people(node: Node, operation: str, now: datetime) -> QuerySet[Principal]:
    """All who could be allowed: where nothing is allowed without a fact, those whom a fact reaches."""
    law = dialects.get(node.kind)
    if law.open_to_all:
        return Principal.objects.all()
    members = RealmMember.objects.open().filter(realm=node.realm_id).values("principal")
    admitted = Principal.objects.filter(pk__in=members)
    bare = engine.build(
        Somebody("user", ""), node.realm, node.kind, 0, (), member=True, mode=mode_of(node.realm_id), now=0
    )
    if engine.decide(bare, operation, node.levels, now=0):
        return admitted
    admins = Q(kind=Principal.Kind.USER, name__in=settings.LAKEWARDEN_SERVICE_ADMINS)
    given = AccessMap(node, now=now).given(needed_privileges(law, operation, node.type))
    return admitted.filter(Q(pk__in=given.values("pk")) | admins)


def _able(node: Node, action: str, people: Sequence[Principal], now: datetime) -> Iterable[Subject]:
    if not people:
        return
    realm = Realm(pk=node.realm_id, kind=node.kind)
    numbers = [person.pk for person in people]
    load = held.load if are_good(people) else facts.load
    loaded = load(realm, node.realm, numbers, now=now, objects=node.lineage)
    decided: dict[Like, bool] = {}
    for person in people:
        # those who hold the same here are decided once
        like = loaded.class_of(person.pk), facts.is_service_admin(person)
        if like not in decided:
            decided[like] = _allowed(loaded.slice_of(person), action, node, now)
        if decided[like]:
            yield Subject(person.pk, person.kind, person.name)


def actions(slice_: Slice, node: Node, *, now: datetime) -> tuple[str, ...]:
    """The names of what may be done to the object, in the order people read them.  No queries."""
    names = dialects.get(node.kind).actions_for(node.type)
    return tuple(name for name in names if _allowed(slice_, name, node, now))


def operations(slice_: Slice, node: Node, *, now: datetime) -> tuple[str, ...]:
    """The operations by a law's own names, where it knows more than the plain ones.  No queries."""
    law = dialects.get(node.kind)
    if not law.by_text:
        return ()
    plain = {law.action(node.type, name) for name in law.actions_for(node.type)}
    own = (name for name in law.operations if law.test(name, node.type) and " [" not in name)
    return tuple(name for name in own if name not in plain and _allowed(slice_, name, node, now))


def _allowed(slice_: Slice, action: str, node: Node, now: datetime) -> bool:
    answer = ask.answer(slice_, action, node, now=now)
    return bool(answer) and switches.blocking(node, answer.operation, slice_.revision) is None

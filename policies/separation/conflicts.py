"""Who has both sides of a rule already, by which ways and since when."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from accounts.models import Membership, Principal
from catalog.models import Placement, Realm
from catalog.nodes import Node, any_of, on_or_below
from lakewarden.law.facts import OWNER
from policies.models import Assignment, Change, Grant, Ownership
from policies.models.grants import Effect
from policies.separation import affected_people
from policies.separation import rules as separation_rules
from policies.separation.rules import Book, Violation
from policies.separation.sides import Side, SidePath, meets, sides_of

MOST = 500
"""So many people are looked at in one go."""


@dataclass(frozen=True)
class OpenViolation:
    """A clash that is, and since when."""

    clash: Violation
    since: datetime | None


def existing(root: Node, rules: Book) -> list[OpenViolation]:
    """Everybody in a realm who has both sides of one of the rules, excepted or not.

    Fourteen queries at most, however many rules and people; after 500 people it ends.
    """
    if not rules:
        return []
    people = _candidates(rules)
    realm = Realm(pk=root.realm_id, kind=root.kind)
    clashes = rules.clashes(separation_rules.load(realm, people)) if people else []
    # when the last of what each clash rests on began. Three queries.
    joined, held = _begun(clashes)
    revisions = [_last(clash, joined, held) for clash in clashes]
    at = dict(Change.objects.filter(pk__in=revisions).values_list("revision", "at"))
    since = [at.get(revision) for revision in revisions]
    return [OpenViolation(clash, since) for clash, since in zip(clashes, since, strict=True)]


def _candidates(rules: Book) -> list[Principal]:
    """The people with something on both sides of a rule; whether at one time is looked at later."""
    holders = _holders(rules)
    members: dict[int, set[int]] = {}
    every = {holder for some in holders.values() for holder in some}
    for group, member in (
        Membership.objects.open().filter(any_of("group_id", every)).values_list("group", "member")
    ):
        members.setdefault(group, set()).add(member)
    both: set[int] = set()
    for rule in rules.rules:
        first, other = (_unfolded(holders[side], members) for side in sides_of(rule))
        both |= first & other
    return affected_people.unfolded(sorted(both)[:MOST]) if both else []


def _unfolded(holders: set[int], members: Mapping[int, set[int]]) -> set[int]:
    return {*holders, *(member for holder in holders for member in members.get(holder, ()))}


def _holders(rules: Book) -> dict[Side, set[int]]:
    """The numbers of people and groups that have each side."""
    sides = rules.sides()
    objects = [side.object for side in sides if side.object is not None]
    rules.learn(objects)
    above = {key for thing in objects if thing in rules.places for key in rules.places[thing].lineage}
    inside = Placement.objects.open().filter(on_or_below(objects)).values("securable")
    near = any_of("securable_id", above) | Q(securable__in=inside)
    codes = {code for side in sides for code in side.privileges}
    given = Grant.objects.open().filter(near, effect=Effect.ALLOW, privilege__in=codes)
    rights: list[tuple[int | None, str, int | None, int | None]] = []
    if objects:
        rights += given.values_list("securable", "privilege", "role", "holder")
        owned = Ownership.objects.open().filter(near).values_list("securable", "owner")
        rights += [(thing, OWNER, None, owner) for thing, owner in owned]
    roles = {side.role for side in sides} | {role for _, _, role, _ in rights}
    holding: dict[int, set[int]] = {}
    for role, holder in (
        Assignment.objects.open().filter(any_of("role_id", roles)).values_list("role", "holder")
    ):
        holding.setdefault(role, set()).add(holder)
    rules.learn(thing for thing, *_ in rights)
    return {side: _of_side(side, rights, holding, rules) for side in sides}


def _of_side(
    side: Side,
    rights: Sequence[tuple[int | None, str, int | None, int | None]],
    holding: Mapping[int, set[int]],
    rules: Book,
) -> set[int]:
    if side.role is not None:
        return holding.get(side.role, set())
    places, wanted = rules.lineages, side.codes
    people: set[int] = set()
    for thing, code, role, holder in rights:
        if code in wanted and meets(side.object, thing or 0, places):
            people |= holding.get(role, set()) if role else {holder or 0}
    return people


# Since when


Begun = dict[tuple[int, int], int]


def _begun(clashes: Collection[Violation]) -> tuple[Begun, Begun]:
    people = {clash.person.pk for clash in clashes}
    stations = [
        station for clash in clashes for pair in clash.both.pairs for way in pair for station in way.via
    ]
    groups = {item.key for item in stations if item.kind == "group"}
    roles = {item.key for item in stations if item.kind == "role"}
    inside = Membership.objects.open().filter(any_of("group_id", groups), any_of("member_id", people))
    given = Assignment.objects.open().filter(
        any_of("role_id", roles), any_of("holder_id", {*people, *groups})
    )
    return _first(inside.values_list("group", "member", "opened")), _first(
        given.values_list("role", "holder", "opened")
    )


def _first(rows: Iterable[tuple[int, int, int]]) -> Begun:
    first: Begun = {}
    for first_side, other, opened in rows:
        first[first_side, other] = min(opened, first.get((first_side, other), opened))
    return first


def _last(clash: Violation, joined: Begun, held: Begun) -> int:
    """The revision at which the earliest pair of ways was whole."""
    return min(max(_whole(way, clash.person.pk, joined, held) for way in pair) for pair in clash.both.pairs)


def _whole(way: SidePath, person: int, joined: Begun, held: Begun) -> int:
    holder, last = person, way.opened
    for station in way.via:
        key = int(str(station.key))
        begun = joined if station.kind == "group" else held
        last = max(last, begun.get((key, holder), 0))
        holder = key if station.kind == "group" else holder
    return last

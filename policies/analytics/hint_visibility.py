"""Which hints a viewer may see: on objects they may grant access to, or have the duty to review."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from django.db.models import Q
from django.utils import timezone

from catalog.models import Placement
from catalog.nodes import Node, Numbers, any_of, nodes, on_or_below
from lakewarden.law import dialects, engine
from lakewarden.law.facts import Slice
from policies.authority import Actor
from policies.decisions import ask, duties, slices
from policies.models import Hint
from policies.record import history
from policies.services import grants

REVIEW = "review_access"
NONE = Q(pk__in=[])
FEW = 500
"""So many objects are gone through to know where somebody may give access; of more the hints are."""


def visible(roots: Iterable[Node], by: Actor) -> Q:
    """The hints of some realms that somebody may see.  A few queries a realm."""
    who, condition = by.decides_as, NONE
    if who is None:
        return any_of("realm_id", [item.realm_id for item in roots]) if by.via == "operator" else NONE
    now = timezone.now()
    reviewed = duties.held(who, REVIEW, now=now)
    for root in roots:
        condition |= Q(realm=root.realm_id) & _in_realm(
            root, slices.current(who, root, now=now), reviewed, now
        )
    return condition


def _in_realm(root: Node, slice_: Slice, reviewed: Collection[int], now: datetime) -> Q:
    if root.id in reviewed:
        return Q()
    by_text, governed = dialects.get(root.kind).by_text, history.governed(slice_, root)
    plain = not by_text and not any(bits.deny for bits in slice_.bits.values())
    if plain and root.id in governed and _sees(slice_, root, (), now):
        return Q()
    few = len(governed) <= FEW
    keys = Numbers.joined((reviewed, _mine(slice_, governed, now) if few else governed))
    inside = Q(securable__in=Placement.objects.open().filter(on_or_below(keys)).values("securable"))
    everywhere = Q(securable__isnull=True) if _sees(slice_, root, reviewed, now) else NONE
    if plain and few:
        return everywhere | inside
    # a denial below takes some of it away again, a text gives some more, and what is owned needs a way to it:
    # only the law knows which
    about = Hint.objects.filter(Q() if by_text else inside, realm=root.realm_id, securable__isnull=False)
    places = nodes(set(about.values_list("securable", flat=True)))
    seen = [key for key, place in places.items() if _sees(slice_, place, reviewed, now)]
    return everywhere | any_of("securable_id", seen)


def _mine(slice_: Slice, governed: Collection[int], now: datetime) -> set[int]:
    """Where somebody may give access, and below it; owning is not enough without a way to the object."""
    places = nodes(governed)
    return {key for key, place in places.items() if _sees(slice_, place, (), now)}


def of_them(roots: Iterable[Node], places: Collection[Node], by: Actor) -> set[int]:
    """Which of some objects are such that somebody may see the hints about them."""
    who = by.decides_as
    if who is None:
        return {place.id for place in places} if by.via == "operator" else set()
    now = timezone.now()
    slices_ = {root.realm_id: slices.current(who, root, now=now) for root in roots}
    seen = {place.id for place in places if _sees(slices_[place.realm_id], place, (), now)}
    if all(place.id in seen for place in places):
        return seen
    reviewed = duties.held(who, REVIEW, now=now)
    return seen | {place.id for place in places if not reviewed.isdisjoint(place.lineage)}


def _sees(slice_: Slice, place: Node, reviewed: Collection[int], now: datetime) -> bool:
    if not set(reviewed).isdisjoint(place.lineage):
        return True
    operation = ask.operation_for(place, grants.GRANT)
    return bool(engine.decide(slice_, operation, place.levels, now=now.timestamp()))

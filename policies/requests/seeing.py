"""Who sees which requests: his own, those he may decide or decided, those whose history he may read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from accounts.models import Membership, Principal
from catalog.nodes import Node, nodes
from policies import along, slices
from policies.authority import Actor
from policies.deciders import Decider
from policies.errors import NotFound
from policies.models import AccessRequest, RequestPart, RequestStep, RequestWant
from policies.models.requests import STILL_OPEN, WAITING
from policies.requests import mandates, parties, places
from policies.requests.deciding import no_such
from policies.requests.mandates import Mandate
from policies.services import duties

PAGE = 50
HISTORY = "view_history"


@dataclass(frozen=True)
class Seen:
    """A request as one viewer may see it.

    `concerned`: it is his own, so that he learns of hidden objects nothing but their names.  `mandates` are
    the open parts that he may decide now.
    """

    request: AccessRequest
    viewer: Principal
    concerned: bool
    mandates: tuple[Mandate, ...]
    now: datetime

    @cached_property
    def wants(self) -> list[RequestWant]:
        return list(self.request.wants.order_by("number"))

    @cached_property
    def parts(self) -> list[RequestPart]:
        rows = self.request.parts.select_related("decided_by", "decided_for", "role")
        return list(rows.order_by("number"))

    @cached_property
    def steps(self) -> list[RequestStep]:
        """All that was done to it, the oldest first.

        How often the next level was asked tells how many there are, so that it is kept from whoever may not
        know what is there.
        """
        found = list(self.request.steps.select_related("by", "on_behalf_of").order_by("pk"))
        asked = {one.part for one in found if one.move == "escalated"} if self.concerned else set()
        hidden = {one.number for one in self.parts if one.number in asked and not self._known(one)}
        return [one for one in found if one.move != "escalated" or one.part not in hidden]

    def _known(self, part: RequestPart) -> bool:
        return self._shown(places.of_row(part, self.request.holder.kind), part)

    @property
    def mine(self) -> bool:
        """Whether the viewer is who asked, so that he may answer and take it back."""
        return self.request.asker_id == self.viewer.pk

    @property
    def may_decide(self) -> frozenset[int]:
        """The numbers of the parts that he may decide now."""
        return frozenset(one.part.number for one in self.mandates)

    def deciders(self, part: RequestPart) -> list[Decider] | None:
        """Who is called on to decide a part; None when the viewer may not know what is there."""
        place = places.of_row(part, self.request.holder.kind)
        if self.concerned and not self._shown(place, part):
            return None
        concerned = parties.of(self.request)
        found = place.deciders(concerned, now=self.now) if place else []
        return [one for one in found if place and set(place.keys(one.where)) & set(part.addressed)]

    def _shown(self, place: places.Place | None, part: RequestPart) -> bool:
        """Whether the very object of a part is one that whoever asked, or is to have it, may know of."""
        if place is None or not place.exact:
            return False
        viewers = [self.viewer, self.request.holder]
        held = slices.currents(list(dict.fromkeys(viewers)), place.way[0], now=self.now)
        seen = along.seen(place.way, list(held.values()), now=self.now)
        return seen == len(place.way) or (part.kind == RequestPart.Kind.MEMBERSHIP and seen > 0)


def get(number: int, viewer: Principal, *, now: datetime | None = None) -> Seen:
    """The request, for those who may see it.  Raises NotFound, as for a number that is none."""
    now = now or timezone.now()
    rows = AccessRequest.objects.select_related("realm", "asker", "holder")
    request = rows.filter(pk=number).first()
    if request is None:
        raise NotFound(no_such(number))
    own = viewer.pk in (request.asker_id, request.holder_id) or _in_group(request, viewer, now)
    found = () if own else tuple(_mandates(request, viewer, now))
    answers = not own and not found and _answers(request, viewer)
    if not own and not found and not answers and not _may_look(request, viewer, now):
        raise NotFound(no_such(number))
    held = [one for one in found if one.part.state in WAITING and now < request.lapses_at]
    return Seen(request, viewer, own or answers, tuple(held), now)


def _in_group(request: AccessRequest, viewer: Principal, now: datetime) -> bool:
    if request.holder.kind != Principal.Kind.GROUP:
        return False
    inside = Membership.objects.open().within(now)
    return inside.filter(group=request.holder_id, member=viewer).exists()


def _mandates(request: AccessRequest, viewer: Principal, now: datetime) -> list[Mandate]:
    if viewer.kind != Principal.Kind.USER:
        return []
    parts = list(request.parts.order_by("number"))
    return mandates.of(request, parts, Actor(viewer, "console"), now=now)


def _answers(request: AccessRequest, viewer: Principal) -> bool:
    """Whether it serves him though he is not named: he learns as little as the program that he keeps."""
    return viewer.kind == Principal.Kind.USER and viewer.pk in parties.of(request)


def _may_look(request: AccessRequest, viewer: Principal, now: datetime) -> bool:
    """Whoever decided something of it, or may read the history of what it is about."""
    if request.parts.filter(Q(decided_by=viewer) | Q(decided_for=viewer)).exists():
        return True
    keys = {f"d{number}" for number in duties.held(viewer, HISTORY, now=now)}
    told = {want for part in request.parts.all() if keys & set(part.places) for want in part.wants}
    return bool(keys) and told == {want.number for want in request.wants.all()}


def waiting_for(
    viewer: Principal, *, now: datetime | None = None, all_levels: bool = False
) -> QuerySet[AccessRequest]:
    """The requests in which something is put to somebody now, the oldest first.

    Whom a request concerns himself does not decide it.  `all_levels` has those, too, that are put to others
    first though he might decide them.
    """
    now = now or timezone.now()
    people = [viewer, *mandates.present(viewer, now)]
    keys = {key for one in people for key in places.decided_by(one, now=now)}
    column = "places__overlap" if all_levels else "addressed__overlap"
    mine = RequestPart.objects.filter(request=OuterRef("pk"), state="asked", **{column: sorted(keys)})
    own = parties.served_by_own(viewer)
    rows = AccessRequest.objects.filter(STILL_OPEN, Exists(mine), lapses_at__gt=now)
    return rows.exclude(Q(asker__in=own) | Q(holder__in=own)).order_by("pk")


def made_by(viewer: Principal) -> QuerySet[AccessRequest]:
    """The requests that somebody made, or that are for him, the newest first."""
    return AccessRequest.objects.filter(Q(asker=viewer) | Q(holder=viewer)).order_by("-pk")


def decided_by(viewer: Principal) -> QuerySet[AccessRequest]:
    """The requests of which somebody decided something, the newest first."""
    decided = Q(decided_by=viewer) | Q(decided_for=viewer)
    parts = RequestPart.objects.filter(decided, request=OuterRef("pk"))
    return AccessRequest.objects.filter(Exists(parts)).order_by("-pk")


def on(node: Node) -> QuerySet[AccessRequest]:
    """All requests about an object or something in it, the newest first; for who may read its history."""
    keys = [f"d{node.id}"]
    parts = RequestPart.objects.filter(request=OuterRef("pk"), places__overlap=keys)
    return AccessRequest.objects.filter(Exists(parts)).order_by("-pk")


@dataclass(frozen=True)
class Page:
    """Some requests in order; `next` is the number after which it goes on, None at the end."""

    requests: tuple[AccessRequest, ...]
    next: int | None


def page(rows: QuerySet[AccessRequest], *, after: int | None = None, size: int = PAGE) -> Page:
    """One page of a list from above, with what its rows show.  Three queries."""
    newest = rows.query.order_by and rows.query.order_by[0] == "-pk"
    if after is not None:
        rows = rows.filter(pk__lt=after) if newest else rows.filter(pk__gt=after)
    found = list(
        rows.select_related("asker", "holder", "realm").prefetch_related("wants", "parts")[: size + 1]
    )
    more = len(found) > size
    shown = tuple(found[:size])
    return Page(shown, shown[-1].pk if more else None)


def wanted_nodes(requests: Collection[AccessRequest]) -> dict[int, Node]:
    """The objects that some requests are about, as far as they exist, by number.  Two queries."""
    keys = {want.securable_id for one in requests for want in one.wants.all()} - {None}
    return nodes(key for key in keys if key)


__all__ = ["Page", "Seen", "Sequence", "decided_by", "get", "made_by", "on", "page", "waiting_for"]

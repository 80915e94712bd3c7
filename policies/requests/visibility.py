"""Who sees which requests: their own, those they may decide or decided, those whose history they may read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.db import connection
from django.db.models import BooleanField, Exists, F, Func, OuterRef, Q, QuerySet
from django.utils import timezone

from accounts.models import Membership, Principal
from catalog.nodes import Node
from lakewarden.law.facts import Slice
from policies.authority import Actor
from policies.decisions import duties, slices
from policies.decisions.approvers import APPROVE, Approver
from policies.decisions.lookups import resolve_path
from policies.decisions.lookups.visible_objects import realms_of
from policies.errors import NotFound
from policies.models import AccessRequest, PlannedFile, RequestPart, RequestStep, RequestWant
from policies.models.requests import STILL_OPEN, WAITING
from policies.requests import decision_places, mandates, parties
from policies.requests.decisions import no_such
from policies.requests.mandates import Mandate

PAGE = 50
HISTORY = "view_history"
SIGNS = ("o", "m", "n", "r", "g")
"""What keys of places begin with where somebody decides by a fact on the object of their number."""
_USED = """
SELECT key FROM unnest(%s::text[]) AS key
 WHERE EXISTS (SELECT FROM policies_requestpart p WHERE p.places @> ARRAY[key])
"""


@dataclass(frozen=True)
class VisibleRequest:
    """A request as one viewer may see it.

    `concerned`: the viewer's own, which names hidden objects and shows no more.  `mandates` are
    the open parts that they may decide now.
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

        How often the next level was asked tells how many there are, so it is kept from viewers who may not
        know what is there.
        """
        steps = list(self.request.steps.select_related("by", "on_behalf_of").order_by("pk"))
        escalated = {item.part for item in steps if item.move == "escalated"} if self.concerned else set()
        hidden = {part.number for part in self.parts if part.number in escalated and not self._known(part)}
        return [item for item in steps if item.move != "escalated" or item.part not in hidden]

    @cached_property
    def planned(self) -> PlannedFile | None:
        """The plan of a policy file, where the request is for its approval."""
        of_plan = any(part.kind == RequestPart.Kind.PLAN for part in self.parts)
        return PlannedFile.objects.select_related("request").get(pk=self.request.pk) if of_plan else None

    @property
    def mine(self) -> bool:
        """Whether the viewer asked, and so may answer and take it back."""
        return self.request.asker_id == self.viewer.pk

    @property
    def may_decide(self) -> frozenset[int]:
        """The numbers of the parts that they may decide now."""
        return frozenset(mandate.part.number for mandate in self.mandates)

    def deciders(self, part: RequestPart) -> list[Approver] | None:
        """Who is called on to decide an open part; None when the viewer may not know what is there."""
        return self._called.get(part.pk)

    @cached_property
    def _called(self) -> dict[int, list[Approver] | None]:
        """The same for every open part, all in one reading."""
        waiting = [part for part in self.parts if part.state in WAITING]
        parts = {item.pk: item for item in waiting if not self.concerned or self._known(item)}
        places = {pk: place for pk in parts if (place := self._places[pk]) is not None}
        concerned = parties.of(self.request) if places else frozenset()
        every = decision_places.deciders_of(list(places.values()), concerned, now=self.now)
        approvers: dict[int, list[Approver] | None] = {pk: [] for pk in parts}
        for (pk, place), some in zip(places.items(), every, strict=True):
            approvers[pk] = [item for item in some if set(place.keys(item.where)) & set(parts[pk].addressed)]
        return approvers

    @cached_property
    def _places(self) -> dict[int, decision_places.DecisionPlace | None]:
        return decision_places.of_rows(self.parts, self.request.holder.kind)

    def _known(self, part: RequestPart) -> bool:
        """Whether the very object of a part is one that the requester or the future holder may know of."""
        place = self._places[part.pk]
        if place is None or not place.exact:
            return False
        top = place.way[0]
        if top.id not in self._held:
            viewers = list(dict.fromkeys([self.viewer, self.request.holder]))
            self._held[top.id] = list(slices.currents(viewers, top, now=self.now).values())
        viewing = self._held[top.id]
        seen = resolve_path.seen(place.way, viewing, now=self.now)
        return seen == len(place.way) or (part.kind == RequestPart.Kind.MEMBERSHIP and seen > 0)

    @cached_property
    def _held(self) -> dict[int, list[Slice]]:
        return {}


def get(number: int, viewer: Principal, *, now: datetime | None = None) -> VisibleRequest:
    """The request, for those who may see it.  Raises NotFound, as for a number that is none."""
    now = now or timezone.now()
    rows = AccessRequest.objects.select_related("realm", "asker", "holder")
    request = rows.filter(pk=number).first()
    if request is None:
        raise NotFound(no_such(number))
    own = viewer.pk in (request.asker_id, request.holder_id) or _in_group(request, viewer, now)
    own_mandates = () if own else tuple(_mandates(request, viewer, now))
    answers = not own and not own_mandates and _answers(request, viewer)
    if not own and not own_mandates and not answers and not _may_look(request, viewer, now):
        raise NotFound(no_such(number))
    held = [item for item in own_mandates if item.part.state in WAITING and now < request.lapses_at]
    return VisibleRequest(request, viewer, own or answers, tuple(held), now)


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
    """Whether it serves them unnamed: they learn as little as the program that they answer for."""
    return viewer.kind == Principal.Kind.USER and viewer.pk in parties.served_now(request)


def _may_look(request: AccessRequest, viewer: Principal, now: datetime) -> bool:
    return AccessRequest.objects.filter(_looked_at(viewer, now), pk=request.pk).exists()


def _looked_at(viewer: Principal, now: datetime) -> Q:
    """Those of which somebody decided something, or may read the history of all that is asked for.

    Two queries.
    """
    parts = RequestPart.objects.filter(request=OuterRef("pk"))
    condition = Q(Exists(parts.filter(Q(decided_by=viewer) | Q(decided_for=viewer))))
    if read := [f"d{number}" for number in duties.held(viewer, HISTORY, now=now)]:
        # whether the number of a want is among what a part is needed for
        path = Func(template="'$.*[*] ? (@ == $n)'::jsonpath")
        named = Func(OuterRef("number"), template="jsonb_build_object('n', %(expressions)s)")
        needed = Func(F("needed"), path, named, function="jsonb_path_exists", output_field=BooleanField())
        needed_parts = RequestPart.objects.filter(needed, request=OuterRef("request"))
        wants = RequestWant.objects.filter(request=OuterRef("pk"))
        hidden = wants.exclude(Exists(needed_parts.filter(places__overlap=read)))
        condition |= Q(Exists(parts.filter(places__overlap=read))) & ~Q(Exists(hidden))
    return condition


def visible_to(viewer: Principal) -> QuerySet[AccessRequest]:
    """The requests that somebody may see: own ones, those they may decide or decided, those they may read of.

    A number of queries that depends only on the realms they belong to.
    """
    now = timezone.now()
    groups = Membership.objects.open().within(now).filter(member=viewer).values("group")
    mine = Q(asker=viewer) | Q(holder=viewer) | Q(holder__in=groups) | _looked_at(viewer, now)
    # the places of requests, open or ended, on which somebody decides, also for an absent person
    people = [viewer, *mandates.present(viewer, now)]
    decided_keys = sorted(
        {key for person in people for key in decision_places.decided_by(person, now=now, among=_used(person))}
    )
    if keys := decided_keys:
        mine |= Q(Exists(RequestPart.objects.filter(request=OuterRef("pk"), places__overlap=keys)))
    return AccessRequest.objects.filter(mine)


def _used(person: Principal) -> list[str]:
    """The keys of places of requests on which somebody has a fact or the duty."""
    numbers = {
        key for top in realms_of(person) for key in slices.current(person, top).bits if isinstance(key, int)
    }
    own = [f"{sign}{number}" for number in sorted(numbers) for sign in SIGNS]
    own += [f"d{number}" for number in duties.held(person, APPROVE)]
    with connection.cursor() as cursor:
        cursor.execute(_USED, [own])
        return [key for (key,) in cursor.fetchall()]


def waiting_for(
    viewer: Principal, *, now: datetime | None = None, all_levels: bool = False
) -> QuerySet[AccessRequest]:
    """The requests in which something is put to somebody now, the oldest first.

    People whom a request concerns do not decide it.  `all_levels` has those, too, that are put to others
    first though the viewer might decide them.
    """
    now = now or timezone.now()
    people = [viewer, *mandates.present(viewer, now)]
    keys = {key for person in people for key in decision_places.decided_by(person, now=now)}
    if not keys:
        return AccessRequest.objects.none()
    column = "places__overlap" if all_levels else "addressed__overlap"
    mine = RequestPart.objects.filter(request=OuterRef("pk"), state="asked", **{column: sorted(keys)})
    own = parties.served_by_own(viewer)
    rows = AccessRequest.objects.filter(STILL_OPEN, Exists(mine), lapses_at__gt=now)
    return rows.exclude(Q(asker__in=own) | Q(holder__in=own)).order_by("pk")


def made_by(viewer: Principal) -> QuerySet[AccessRequest]:
    """The requests that somebody made, or that are for them, the newest first."""
    return AccessRequest.objects.filter(Q(asker=viewer) | Q(holder=viewer)).order_by("-pk")


def decided_by(viewer: Principal) -> QuerySet[AccessRequest]:
    """The requests of which somebody decided something, the newest first."""
    decided = Q(decided_by=viewer) | Q(decided_for=viewer)
    parts = RequestPart.objects.filter(decided, request=OuterRef("pk"))
    return AccessRequest.objects.filter(Exists(parts)).order_by("-pk")


def on(node: Node, viewer: Principal) -> QuerySet[AccessRequest]:
    """The requests about an object or something in it that somebody may see, the newest first."""
    keys = [f"d{node.id}"]
    parts = RequestPart.objects.filter(request=OuterRef("pk"), places__overlap=keys)
    return visible_to(viewer).filter(Exists(parts)).order_by("-pk")


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
    rows_ = list(
        rows.select_related("asker", "holder", "realm").prefetch_related("wants", "parts")[: size + 1]
    )
    more = len(rows_) > size
    shown = tuple(rows_[:size])
    return Page(shown, shown[-1].pk if more else None)


__all__ = [
    "Page",
    "VisibleRequest",
    "decided_by",
    "get",
    "made_by",
    "on",
    "page",
    "visible_to",
    "waiting_for",
]

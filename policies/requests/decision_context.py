"""What a decider wants to know before deciding: what there is, what a yes would add, and to whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from accounts.models import Principal
from accounts.record import Origin
from catalog.nodes import Node
from lakewarden.law import dialects
from lakewarden.law.dialects.cdap import authorizable
from lakewarden.law.facts import Rule
from policies.authority import Actor
from policies.decisions import ask, slices
from policies.decisions.lookups import peers
from policies.decisions.lookups.peers import Question, Share
from policies.errors import Invalid
from policies.models import AccessRequest, RequestPart, RequestWant
from policies.models.requests import WAITING
from policies.previews import grants
from policies.previews.grants import Preview
from policies.requests import decision_places, fulfilment, needs, role_proposals
from policies.requests.needs import Denial, WantedAction
from policies.requests.role_proposals import Proposal
from policies.requests.visibility import VisibleRequest, visible_to
from policies.separation import forecast, wording
from policies.services.grants import GrantRequest
from policies.simulation.changes import AddMember, AssignRole, Change, GrantAccess, Target, Window

EARLIER, LOOKED_AT = 10, 200
CLASHES = 5
Kind = RequestPart.Kind
RealmChanges = tuple[Node, tuple[Change, ...]]
"""Changes of one realm, by its root."""


@dataclass(frozen=True)
class Present:
    """What the future holder can do already with what is wanted; `node` is None where there is none."""

    want: RequestWant
    node: Node | None
    can: tuple[str, ...]


@dataclass(frozen=True)
class Peers:
    """How many comparable people have what a part would give."""

    part: RequestPart
    share: Share


@dataclass(frozen=True)
class Consideration:
    """`effects`: who would gain what if all of it were approved, by object; `proposed` the same as changes of
    one realm, by its root; `clashes` are sentences."""

    present: tuple[Present, ...]
    earlier: tuple[AccessRequest, ...]
    effects: tuple[tuple[Node, Preview], ...]
    proposed: tuple[RealmChanges, ...]
    peers: tuple[Peers, ...]
    roles: tuple[Proposal, ...]
    denials: tuple[Denial, ...]
    clashes: tuple[str, ...]
    end: datetime | None


def consider(seen: VisibleRequest) -> Consideration:
    """All of that, for somebody who may decide; empty for anybody else.  A plan says itself what it does."""
    if not seen.mandates or seen.planned is not None:
        earlier = tuple(_earlier(seen)) if seen.mandates else ()
        return Consideration((), earlier, (), (), (), (), (), (), None)
    by_part = decision_places.of_rows(seen.parts, seen.request.holder.kind)
    places = [(part, place) for part in seen.parts if (place := by_part[part.pk]) is not None]
    request, request_places = seen.request, places
    end = fulfilment.ends(request, seen.parts, max(seen.now, request.starts or seen.now))
    given = [(part, place) for part, place in request_places if part.kind == Kind.PRIVILEGE and place.exact]
    any_open = any(part.state in WAITING and part.kind == Kind.PRIVILEGE for part in seen.parts)
    return Consideration(
        tuple(_present(seen, want) for want in seen.wants),
        tuple(_earlier(seen)),
        tuple(_effects(seen, given, end)),
        tuple(_proposed(request, request_places, end)),
        tuple(_peers(request, given)),
        tuple(role_proposals.roles(request, seen.viewer)) if any_open else (),
        _denials(seen, end),
        tuple(
            _clashes(tuple(_given(request.holder, request_places, (seen.now, end))), seen.viewer, seen.now)
        ),
        end,
    )


Placed = Sequence[tuple[RequestPart, decision_places.DecisionPlace]]


def _present(seen: VisibleRequest, want: RequestWant) -> Present:
    place = decision_places.of_row(want, seen.request.holder.kind)
    if place is None or not place.exact:
        return Present(want, None, ())
    held = slices.current(seen.request.holder, place.node, now=seen.now)
    names = dialects.get(place.node.kind).actions_for(place.node.type)
    can = (name for name in names if ask.answer(held, name, place.node, now=seen.now))
    return Present(want, place.node, tuple(can))


def _earlier(seen: VisibleRequest) -> list[AccessRequest]:
    """What was asked before for the same one in the same realm, as far as the decider may see it."""
    request = seen.request
    rows = AccessRequest.objects.filter(holder=request.holder, realm_name=request.realm_name)
    numbers = list(rows.filter(pk__lt=request.pk).order_by("-pk").values_list("pk", flat=True)[:LOOKED_AT])
    if not numbers:
        return []
    shown = visible_to(seen.viewer).filter(pk__in=numbers).order_by("-pk").select_related("asker", "holder")
    return list(shown.prefetch_related("wants", "parts")[:EARLIER])


def _effects(seen: VisibleRequest, given: Placed, end: datetime | None) -> list[tuple[Node, Preview]]:
    """Foretold as for a grant by hand, where the law knows objects; texts are granted to nobody else."""
    wishes = [
        GrantRequest(
            place.node,
            (seen.request.holder,),
            tuple(part.privileges),
            valid_until=end,
            way=False,
            origin=Origin.REQUEST,
        )
        for part, place in given
        if not dialects.get(place.node.kind).by_text
    ]
    return grants.of_grants(wishes, Actor(seen.viewer, "console"), now=seen.now) if wishes else []


def _proposed(request: AccessRequest, placed: Placed, end: datetime | None) -> Iterable[RealmChanges]:
    """What a yes to everything changes, as far as it exists."""
    if exact := [(part, place) for part, place in placed if place.exact]:
        window = (request.starts, end)
        yield exact[0][1].way[0], tuple(_change(request.holder, *item, window) for item in exact)


def _change(
    holder: Principal, part: RequestPart, place: decision_places.DecisionPlace, window: Window
) -> Change:
    if part.kind == Kind.MEMBERSHIP:
        return AddMember(holder)
    if part.kind == Kind.ROLE:
        return AssignRole(place.node, holder, window)
    if dialects.get(place.node.kind).by_text:
        target = Target.of_text(place.way[0], authorizable.parse(place.text, others=True))
    else:
        target = Target(place.node)
    return GrantAccess(target, holder, tuple(part.privileges), window)


def _peers(request: AccessRequest, given: Placed) -> list[Peers]:
    if not given or request.holder.kind == Principal.Kind.GROUP:
        return []
    questions = [_question(request.holder, part, place) for part, place in given]
    shares = peers.shares(questions, given[0][1].node.realm_id)
    return [Peers(part, shares[number]) for number, (part, _) in enumerate(given)]


def _question(holder: Principal, part: RequestPart, place: decision_places.DecisionPlace) -> Question:
    by_text = dialects.get(place.node.kind).by_text
    text = place.text if by_text else ""
    return Question(holder.pk, () if by_text else place.node.lineage, part.privileges, text)


def _denials(seen: VisibleRequest, end: datetime | None) -> tuple[Denial, ...]:
    """What is denied now to the future holder, as the decider may know it."""
    wanted = [WantedAction(want.type, want.name, want.action) for want in seen.wants]
    try:
        worked = needs.work_out(wanted, seen.request.holder, seen.viewer, now=seen.now, end=end)
    except Invalid:
        return ()
    return worked.denials


Giving = tuple[Node, forecast.Given]
"""What somebody is to have, with the realm that it is in."""


def _clashes(given: Sequence[Giving], reader: Principal, now: datetime) -> list[str]:
    by_realm: dict[Node, list[forecast.Given]] = {}
    for top, top_ in given:
        by_realm.setdefault(top, []).append(top_)
    new = [clash for top, some in by_realm.items() for clash in forecast.conflicts(top, some, now=now)]
    return [wording.refusal([item], many=1, reader=reader, now=now) for item in new[:CLASHES]]


def _given(holder: Principal, placed: Placed, window: forecast.Until) -> Iterable[Giving]:
    until = window[1].timestamp() if window[1] else None
    for part, place in placed:
        top = place.way[0]
        if part.kind == Kind.ROLE and place.exact:
            yield top, forecast.role(holder, place.node, window)
        elif part.kind == Kind.PRIVILEGE and place.exact:
            key = place.text if dialects.get(place.node.kind).by_text else place.node.id
            rules = [Rule(key, code, valid_until=until) for code in part.privileges]
            yield top, forecast.rights(holder, rules)


@dataclass(frozen=True)
class PlacedRequest:
    """A request with those of its parts that have a place, and when what it gives would end."""

    request: AccessRequest
    places: Placed
    now: datetime

    @property
    def end(self) -> datetime | None:
        return self._end([part for part, _ in self.places])

    def givings(self) -> Iterable[Giving]:
        for part, place in self.places:
            window = (self.now, self._end([part]))
            yield from _given(self.request.holder, [(part, place)], window)

    def _end(self, parts: Sequence[RequestPart]) -> datetime | None:
        return fulfilment.ends(self.request, parts, max(self.now, self.request.starts or self.now))


def placed(requests: Sequence[AccessRequest], *, now: datetime) -> list[PlacedRequest]:
    """Requests with the places of their parts.  Four queries for each kind of holder."""
    by_pk: dict[int, PlacedRequest] = {}
    for kind in sorted({item.holder.kind for item in requests}):
        mine = [item for item in requests if item.holder.kind == kind]
        by_part = decision_places.of_rows([part for item in mine for part in item.parts.all()], kind)
        for item in mine:
            places = [(part, place) for part in item.parts.all() if (place := by_part[part.pk]) is not None]
            by_pk[item.pk] = PlacedRequest(item, places, now)
    return [by_pk[item.pk] for item in requests]


def clashes_of(requests: Iterable[PlacedRequest], reader: Principal, *, now: datetime) -> list[str]:
    """The rules of separation that a yes to all of these would break together, a sentence a person and rule.

    For a reader: it names nothing that they may not see.  Nine queries for each realm with rules.
    """
    return _clashes([giving for item in requests for giving in item.givings()], reader, now)


def proposed_by(requests: Iterable[PlacedRequest]) -> list[RealmChanges]:
    """What a yes to all of these changes together, realm by realm."""
    by_realm: dict[Node, list[Change]] = {}
    for item in requests:
        for root, some in _proposed(item.request, item.places, item.end):
            by_realm.setdefault(root, []).extend(some)
    return [(root, tuple(some)) for root, some in by_realm.items()]

"""Asking for access, answering what a decider asks back, and taking a request back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import Principal
from accounts.text import holdable
from catalog.nodes import Node
from catalog.queries import realm_named
from lakewarden.law import dialects
from lakewarden.law.objects import ObjectRef
from policies.authority import Actor, of_duty
from policies.decisions.approvers import Approver
from policies.errors import Conflict, Invalid, NotFound, Refused
from policies.models import AccessRequest, RequestPart, RequestWant
from policies.models.requests import PART, REQUEST, STILL_OPEN
from policies.record.change import change
from policies.requests import decision_places, durations, needs, notifications, outcomes, parties, rules
from policies.requests.needs import Denial, Need, WantedAction, Worked
from policies.requests.rules import Rules
from policies.requests.steps import ANSWERED, ASKED, WITHDRAWN, fresh, row_of, stepped

MOST_OPEN = 200
"""So many requests of one person may be open at once."""
LONGEST_KEY = 200
AHEAD = timedelta(days=366)


@dataclass(frozen=True)
class Asking:
    """What somebody asks for; `lasts`, `until` and `starts` as of `AccessRequest`, `key` makes it one."""

    wanted: tuple[WantedAction, ...]
    holder: Principal
    reason: str = ""
    ticket: str = ""
    lasts: str = ""
    until: datetime | None = None
    starts: datetime | None = None
    zone: str = "UTC"
    key: str = ""

    @property
    def digest(self) -> str:
        fields = (self.reason, self.ticket, self.lasts, self.zone, str(self.until), str(self.starts))
        body = [[list(item) for item in self.wanted], self.holder.pk, *fields]
        return hashlib.sha256(json.dumps(body).encode()).hexdigest()

    def begins(self, now: datetime) -> datetime:
        return max(self.starts, now) if self.starts else now

    def ends(self, now: datetime) -> datetime | None:
        """When it would end if it were approved now.  Raises Invalid."""
        return durations.ends(self.begins(now), self.lasts, self.until, self.zone)


@dataclass(frozen=True)
class Foresight:
    """What a request would come to: the decisions it needs, what it must say, and when it would end.

    `nearest` are the places that may be spoken of whose deciders come first, one for each need.
    """

    asking: Asking
    refs: tuple[ObjectRef, ...]
    needs: tuple[Need, ...]
    denials: tuple[Denial, ...]
    rules: Rules
    end: datetime | None
    lapses: datetime
    shown: tuple[tuple[Node, ...], ...]


def holders(asker: Principal) -> list[Principal]:
    """For whom somebody may ask: themselves first, then groups and service accounts."""
    return parties.holders(asker)


def not_yours_to_request() -> str:
    """Why somebody may not ask for this holder: the same on every surface, and whether or not it exists."""
    return gettext(
        "You may request access for yourself, for groups you are in, and for service accounts you are "
        "responsible for."
    )


def foresee(asking: Asking, asker: Principal, *, now: datetime | None = None) -> Foresight:
    """What asking would come to.  Raises Invalid for what cannot be asked for, whatever the reason given."""
    now = now or timezone.now()
    durations.zone(asking.zone)
    if asking.starts and asking.starts > now + AHEAD:
        raise Invalid(gettext("Access can be requested at most a year ahead."))
    if asking.until and asking.until > now + timedelta(days=durations.LONGEST_DAYS):
        raise Invalid(gettext("Access can be requested for ten years at most; leave the end out for none."))
    if asking.lasts and asking.until:
        raise Invalid(gettext("Give either a length or an end, not both."))
    if asking.until and asking.until <= asking.begins(now):
        raise Invalid(gettext("The end must be in the future, and after the beginning."))
    end = asking.ends(now)
    worked = needs.work_out(asking.wanted, asking.holder, asker, now=now, end=end)
    _check_worked(worked, asking)
    strictest = rules.strictest([rules.rules_along(shown) for shown in dict.fromkeys(worked.shown)])
    strictest.check_end(asking.begins(now), end, asking.zone)
    return Foresight(
        asking, worked.refs, worked.needs, worked.denials, strictest, end, strictest.lapses(now), worked.shown
    )


def _check_worked(worked: Worked, asking: Asking) -> None:
    if worked.already:
        raise Invalid(
            gettext("%(holder)s may do this already, for all of that time.") % {"holder": asking.holder.label}
        )
    if not worked.needs:
        denied = worked.denials[0]
        text = (
            gettext(
                "%(privilege)s on %(id)s is denied by role %(role)s. A grant does not lift a denial; ask "
                "for the denial to be lifted."
            )
            if denied.role
            else gettext(
                "%(privilege)s on %(id)s is denied. A grant does not lift a denial; ask for the denial "
                "to be lifted."
            )
        )
        raise Invalid(text % {"privilege": denied.privilege, "id": denied.ref.id, "role": denied.role})
    realm = realm_named(worked.refs[0].realm)
    takers = dialects.get(realm.law).grantees if realm else ()
    if takers and asking.holder.kind not in takers:
        whom = asking.holder.get_kind_display()
        raise Invalid(
            gettext("In %(realm)s nothing can be granted to a %(whom)s.")
            % {"realm": worked.refs[0].realm, "whom": whom}
        )


def ask(asking: Asking, *, by: Actor) -> AccessRequest:
    """Ask, and tell those who decide; the same again for the same key.  Raises Refused, Invalid, Conflict."""
    asker = _person(by)
    if before := _asked_before(asking, asker):
        return before
    texts = (asking.reason, asking.ticket, asking.key, *(part for item in asking.wanted for part in item))
    if not all(map(holdable, texts)):
        raise Invalid(gettext("This contains characters that cannot be stored."))
    if len(asking.key) > LONGEST_KEY:
        raise Invalid(gettext("A key has at most %(most)s characters.") % {"most": LONGEST_KEY})
    if any(len(part) > 2000 for item in asking.wanted for part in item):
        raise Invalid(gettext("Names cannot be this long."))
    realm = realm_named(needs.refs_of(asking.wanted)[0].realm)
    with change(ASKED, realm=realm, by=by, reason=asking.reason) as current:
        if before := _asked_before(asking, asker):
            return before
        mine = {item.pk for item in parties.holders(_person(by))}
        authority = of_duty(by, "request", held=asking.holder.pk in mine, otherwise=not_yours_to_request())
        foreseen = foresee(asking, asker, now=current.at)
        foreseen.rules.check(asking.reason, asking.ticket)
        _check_open(asking, asker)
        request = _write(asking, foreseen, asker, by, current.at)
        request.realm = realm
        request.lineage = _lineage(foreseen)
        request.save()
        parts = _parts(request, foreseen, asking.holder, current.at)
        stepped(current, request, ASKED, by=authority, text=asking.reason)
        notifications.asked(request, parts)
    return request


def _person(by: Actor) -> Principal:
    if by.decides_as is None:
        raise Refused(gettext("Nobody is signed in."))
    return by.decides_as


def _asked_before(asking: Asking, asker: Principal) -> AccessRequest | None:
    """The request that this key stands for already.  Raises Conflict when it was another one."""
    if not asking.key:
        return None
    before = AccessRequest.objects.filter(asker=asker, key=asking.key[:LONGEST_KEY]).first()
    if before is not None and before.digest != asking.digest:
        raise Conflict(gettext("This key was used for another request."))
    return before


def _check_open(asking: Asking, asker: Principal) -> None:
    mine = AccessRequest.objects.filter(STILL_OPEN, asker=asker)
    if same := mine.filter(digest=asking.digest).first():
        raise Conflict(
            gettext("You already requested exactly this: request %(number)s.") % {"number": same.pk}
        )
    if mine.count() >= MOST_OPEN:
        raise Invalid(
            gettext("You have %(most)s open requests; withdraw some before you make more.")
            % {"most": MOST_OPEN}
        )


def _write(asking: Asking, foreseen: Foresight, asker: Principal, by: Actor, now: datetime) -> AccessRequest:
    return AccessRequest(
        key=asking.key,
        digest=asking.digest,
        asker=asker,
        holder=asking.holder,
        realm_name=foreseen.needs[0].ref.realm,
        reason=asking.reason,
        ticket=asking.ticket,
        lasts=asking.lasts,
        until=asking.until,
        starts=asking.starts if asking.starts and asking.starts > now else None,
        zone=asking.zone,
        via=by.via,
        asked_at=now,
        moved_at=now,
        lapses_at=foreseen.lapses,
    )


def _lineage(foreseen: Foresight) -> list[int]:
    """The way to what is asked for as far as whoever asks may know it, and all the wanted share."""
    ways = [[place.id for place in shown] for shown in foreseen.shown]
    shared = zip(*ways, strict=False)
    together: list[int] = []
    for level in shared:
        if len(set(level)) > 1:
            break
        together.append(level[0])
    return together


def _parts(
    request: AccessRequest, foreseen: Foresight, holder: Principal, now: datetime
) -> list[RequestPart]:
    refs = foreseen.refs
    kind = RequestPart.Kind.PRIVILEGE
    by_ref = dict(
        zip(refs, decision_places.find_all([(kind, ref) for ref in refs], holder.kind), strict=True)
    )
    RequestWant.objects.bulk_create(
        RequestWant(
            request=request,
            number=number,
            type=ref.type,
            name=ref.id,
            action=want.action,
            securable_id=_number(by_ref[ref]),
        )
        for number, (want, ref) in enumerate(zip(foreseen.asking.wanted, refs, strict=True))
    )
    places = decision_places.find_all([(need.kind, need.ref) for need in foreseen.needs], holder.kind)
    known_places = [place for place in places if place is not None]
    deciders = dict(
        zip(
            known_places, decision_places.deciders_of(known_places, parties.of(request), now=now), strict=True
        )
    )
    return RequestPart.objects.bulk_create(
        _part(request, number, need, place, deciders[place] if place else [], foreseen.rules.escalates(now))
        for number, (need, place) in enumerate(zip(foreseen.needs, places, strict=True))
    )


def _number(place: decision_places.DecisionPlace | None) -> int | None:
    if place is None or not place.exact or dialects.get(place.node.kind).by_text:
        return None  # a text outlives the object of its name
    return place.node.id


def _part(
    request: AccessRequest,
    number: int,
    need: Need,
    place: decision_places.DecisionPlace | None,
    deciders: Sequence[Approver],
    escalates: datetime | None,
) -> RequestPart:
    return RequestPart(
        request=request,
        number=number,
        kind=need.kind,
        type=need.ref.type,
        name=need.ref.id,
        securable_id=_number(place),
        privileges=list(need.privileges),
        needed={code: list(wants) for code, wants in need.needed.items()},
        places=place.all_keys if place else [],
        addressed=place.nearest(deciders) if place else [],
        escalates_at=escalates,
    )


def answer(number: int, text: str, *, by: Actor) -> AccessRequest:
    """Answer what was asked back.  Raises NotFound for anybody but who asked, Invalid, Conflict."""
    stripped = text.strip()
    if not stripped or len(stripped) > rules.LONGEST_REASON or not holdable(stripped):
        raise Invalid(gettext("Enter an answer."))
    request = _mine(number, by)
    with change(ANSWERED, realm=request.realm, by=by, reason=stripped) as current:
        authority = of_duty(by, "request", held=True, otherwise="")
        REQUEST.move(row_of(request), "answer", moved_at=current.at)
        parts = RequestPart.objects.filter(request=request)
        back = list(parts.filter(state="asked_back"))
        PART.move(parts, "answer")
        stepped(current, request, ANSWERED, by=authority, text=stripped)
        notifications.answered(request, back)
    return fresh(request)


def withdraw(number: int, *, by: Actor, reason: str = "") -> AccessRequest:
    """Take one's request back; what was given of it stays.  Raises NotFound, Invalid, Conflict."""
    if len(reason) > rules.LONGEST_REASON or not holdable(reason):
        raise Invalid(
            gettext("A text may have at most %(most)s characters, and only characters that can be stored.")
            % {"most": rules.LONGEST_REASON}
        )
    request = _mine(number, by)
    with change(WITHDRAWN, realm=request.realm, by=by, reason=reason) as current:
        authority = of_duty(by, "request", held=True, otherwise="")
        outcomes.end(request, "withdraw", now=current.at)
        stepped(current, request, WITHDRAWN, by=authority, text=reason)
        notifications.over(request)
    return fresh(request)


def _mine(number: int, by: Actor) -> AccessRequest:
    rows = AccessRequest.objects.select_related("realm", "asker", "holder")
    request = rows.filter(pk=number, asker=_person(by)).first()
    if request is None:
        raise NotFound(gettext("You have no request %(number)s.") % {"number": number})
    return request


__all__ = ["Asking", "Foresight", "WantedAction", "answer", "ask", "foresee", "holders", "withdraw"]

"""Giving people and groups access to one object, and taking it back: what an owner does in the console."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import Principal
from accounts.record import END, Origin
from catalog.nodes import Node, any_of
from lakewarden.law import dialects
from lakewarden.law.facts import Slice
from policies.authority import Actor, Authority, require
from policies.decisions import ask, slices
from policies.errors import Conflict, Invalid, Refused
from policies.events import GRANT_ADDED, GRANT_REMOVED, EventDraft
from policies.models import Counter, Grant
from policies.models.grants import Effect
from policies.record.change import ChangeInProgress, change
from policies.record.event_drafts import make_event
from policies.services import grant_holders, personal_roles, realm_of
from policies.services.roles import check_binding, kept_begin, must_be_member

GRANT = "grant"
Draft = tuple[Grant, EventDraft]
Key = tuple[int, int, str]
"""The holder and the object, as their numbers, and the privilege."""


@dataclass(frozen=True)
class GrantRequest:
    """What an owner wants to give: privileges on one object, to some holders, within a window.

    `way`: also give what the holders lack to reach the object (use of its schema), where the giver may.
    """

    node: Node
    holders: tuple[Principal, ...]
    privileges: tuple[str, ...]
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    way: bool = True
    origin: str = Origin.HAND

    def problem(self, now: datetime) -> str | None:
        """Why this cannot be meant, or None."""
        if not self.holders or not self.privileges:
            return gettext("Enter at least one person and one right.")
        if self.valid_until and self.valid_until <= now:
            return gettext("The end is in the past.")
        if self.valid_from and self.valid_until and self.valid_until <= self.valid_from:
            return gettext("The end is before the beginning.")
        return None


@dataclass(frozen=True)
class Grantable:
    """One privilege on one object for one holder; what a wish comes down to."""

    node: Node
    holder: Principal
    privilege: str


def authority_to_grant(node: Node, actor: Actor, *, now: datetime | None = None) -> Authority:
    """The right to grant on an object, by the same law as everything else.  Raises Refused."""
    answer = ask.ask(_giver(actor), GRANT, node, now=now)
    return require(
        answer.decision,
        actor,
        otherwise=gettext("You may not change access to %(object)s.") % {"object": node.ref.full_name},
    )


def add(
    wish: GrantRequest,
    *,
    by: Actor,
    reason: str = "",
    seen: int | None = None,
    authority: Authority | None = None,
) -> int:
    """Give the privileges to each holder directly; answers how many rights are new or have a new window.

    A direct grant by hand of the same privilege is replaced, so that its end can be moved; what has begun
    keeps its beginning.  `seen` is the revision the asker looked at; `authority` that of a duty, where it is
    not the law that allows it.

    Raises Refused, Invalid, and Conflict when a grant changed since.
    """
    now = timezone.now()
    if problem := wish.problem(now):
        raise Invalid(problem)
    with change(GRANT_ADDED, realm=realm_of(wish.node), by=by, reason=reason) as current:
        authority = authority or authority_to_grant(wish.node, by, now=now)
        _unchanged_since(wish.node, wish.holders, seen)
        must_be_member(wish.node, *wish.holders)
        return _give(current, wish, gifts(wish, by, now=now), {}, authority)


def add_all(wishes: Sequence[GrantRequest], *, by: Actor, reason: str = "", seen: int | None = None) -> int:
    """Several wishes in one realm as one change: all of them, or none.  Raises as `add` does.

    Where they give to the same people for the same time, the facts of the giver and of those people are
    loaded once for all of them.
    """
    first, now = wishes[0], timezone.now()
    with change(GRANT_ADDED, realm=realm_of(first.node), by=by, reason=reason) as current:
        if any(replace(wish, node=first.node, privileges=first.privileges) != first for wish in wishes):
            return sum(add(wish, by=by, reason=reason, seen=seen) for wish in wishes)
        authorities = {}
        for wish in wishes:
            if problem := wish.problem(now):
                raise Invalid(problem)
            authorities[wish.node.id] = authority_to_grant(wish.node, by, now=now)
            _unchanged_since(wish.node, wish.holders, seen)
        must_be_member(first.node, *first.holders)
        given = gifts_of(wishes, by, now=now)
        return _give(current, first, given, authorities, authorities[first.node.id])


def gifts(wish: GrantRequest, by: Actor, *, now: datetime) -> list[Grantable]:
    """The single privileges a wish comes down to, those on the way to the object first."""
    return gifts_of([wish], by, now=now)


def gifts_of(wishes: Sequence[GrantRequest], by: Actor, *, now: datetime) -> list[Grantable]:
    """The same for wishes in one realm for the same holders; what several need on their way stands once."""
    grantable = [
        Grantable(wish.node, holder, code)
        for wish in wishes
        for holder in wish.holders
        for code in wish.privileges
    ]
    if not any(wish.way for wish in wishes):
        return grantable
    giver = slices.current(_giver(by), wishes[0].node, now=now)
    held = slices.currents(list(wishes[0].holders), wishes[0].node, now=now)
    way = (gift for wish in wishes if wish.way for gift in _way(wish, giver, held, now))
    return [*dict.fromkeys(way), *grantable]


def _way(wish: GrantRequest, giver: Slice, held: Mapping[int, Slice], now: datetime) -> Iterable[Grantable]:
    """What each holder lacks above the object, at either side of the window, where the giver may give it."""
    above = {node.id: node for node in wish.node.above()}
    may = {pk for pk, node in above.items() if ask.answer(giver, GRANT, node, now=now)}
    action = actions_given(wish.node, wish.privileges)[0]
    last = wish.valid_until - timedelta(microseconds=1) if wish.valid_until else END
    for holder in wish.holders:
        lacks = {
            (lack.object, lack.privilege)
            for moment in (wish.valid_from or now, last)
            for lack in ask.answer(held[holder.pk], action, wish.node, now=moment)
            .explained(now=moment)
            .missing
            if lack.kind == "privilege" and lack.object in may
        }
        for key, code in sorted(lacks):
            yield Grantable(above[key], holder, code)


def _giver(by: Actor) -> Principal:
    if by.decides_as is None:
        raise Refused(gettext("Nobody is signed in."))
    return by.decides_as


def actions_given(node: Node, privileges: Sequence[str]) -> tuple[str, ...]:
    """What people say for having these privileges on such an object: `read`, `write`."""
    law = dialects.get(node.kind)
    actions = law.actions_for(node.type)
    privileges_ = [law.privilege(code) for code in privileges]
    reading = any(item is not None and item.category == "read" for item in privileges_)
    wanted = [*map(str.lower, privileges), "read" if reading else "write", "read", "use"]
    return tuple(dict.fromkeys(action for action in wanted if action in actions))


def _give(
    current: ChangeInProgress,
    wish: GrantRequest,
    given: Sequence[Grantable],
    authorities: Mapping[int, Authority],
    otherwise: Authority,
) -> int:
    """Begin what is new of the gifts, and end what it takes the place of; how many are new.

    `authorities` are by object, and `otherwise` is that for what lies on the way to one.
    """
    for node, code in dict.fromkeys((gift.node, gift.privilege) for gift in given):
        check_binding(node, code)
    held = grant_holders.ensure_all(current, wish.node, [gift.holder for gift in given])
    before = _replaced(given, wish.origin)
    ending, beginning = defaultdict[Authority, list[Draft]](list), defaultdict[Authority, list[Draft]](list)
    for gift in dict.fromkeys(given):
        mine = before[gift.holder.pk, gift.node.id, gift.privilege]
        grant = _new(wish, gift, held[gift.holder.pk], mine, now=current.at)
        if grant is None:
            continue
        authority = authorities.get(gift.node.id, otherwise)
        if wish.origin != Origin.REQUEST:  # what was asked for apart ends apart
            ending[authority] += [(old, said_of(GRANT_REMOVED, gift.node, gift.holder, old)) for old in mine]
        beginning[authority].append((grant, said_of(GRANT_ADDED, gift.node, gift.holder, grant)))
    for authority, rows in ending.items():
        current.end_all(rows, by=authority)
    for authority, rows in beginning.items():
        current.begin_all(rows, by=authority)
    return sum(map(len, beginning.values()))


def _replaced(given: Sequence[Grantable], origin: str) -> dict[Key, list[Grant]]:
    """The open direct grants of the same privilege and origin that new ones take the place of."""
    nodes = list(dict.fromkeys(gift.node for gift in given))
    before = defaultdict[Key, list[Grant]](list)
    for holder, row in direct_of(nodes, {gift.holder for gift in given}):
        if row.origin == origin:
            before[holder.pk, row.securable_id or 0, row.privilege].append(row)
    return before


def _new(
    wish: GrantRequest, gift: Grantable, held: grant_holders.Held, mine: Sequence[Grant], *, now: datetime
) -> Grant | None:
    """The grant of a gift; None where one of the same window stands among those before."""
    begin = kept_begin(wish.valid_from, (row.valid_from for row in mine), now=now)
    if any((row.valid_from, row.valid_until) == (begin, wish.valid_until) for row in mine):
        return None
    return Grant(
        **held,
        securable_id=gift.node.id,
        privilege=gift.privilege,
        origin=wish.origin,
        valid_from=begin,
        valid_until=wish.valid_until,
    )


def remove(
    node: Node,
    holders: Sequence[Principal],
    privileges: Sequence[str],
    *,
    by: Actor,
    reason: str = "",
    seen: int | None = None,
    authority: Authority | None = None,
) -> int:
    """Take direct grants back; answers how many were there.  Other paths to the object are not touched."""
    with change(GRANT_REMOVED, realm=realm_of(node), by=by, reason=reason) as current:
        authority = authority or authority_to_grant(node, by)
        _unchanged_since(node, holders, seen)
        rows = [pair for pair in direct_of([node], holders) if pair[1].privilege in privileges]
        ending = [(row, said_of(GRANT_REMOVED, node, holder, row)) for holder, row in rows]
        current.end_all(ending, by=authority)
        personal_roles.drop_when_empty(current, node, *holders)
        return len(rows)


def remove_all(
    nodes: Sequence[Node],
    holders: Sequence[Principal],
    privileges: Sequence[str],
    *,
    by: Actor,
    reason: str = "",
    seen: int | None = None,
) -> int:
    """Take direct grants on several objects of one realm back as one change: all of them, or none."""
    with change(GRANT_REMOVED, realm=realm_of(nodes[0]), by=by, reason=reason):
        return sum(remove(node, holders, privileges, by=by, reason=reason, seen=seen) for node in nodes)


def direct(node: Node, holder: Principal) -> QuerySet[Grant]:
    """The open direct ALLOW grants of a holder on an object."""
    mine, _ = grant_holders.find_all(node, [holder])
    return Grant.objects.open().filter(mine, securable=node.id, effect=Effect.ALLOW)


def direct_of(nodes: Sequence[Node], holders: Collection[Principal]) -> list[tuple[Principal, Grant]]:
    """The open direct ALLOW grants of holders on objects of one realm, with their holders.  Two queries."""
    mine, owner_of_role = grant_holders.find_all(nodes[0], holders)
    by_number = {holder.pk: holder for holder in holders}
    rows = Grant.objects.open().filter(
        mine, any_of("securable_id", [node.id for node in nodes]), effect=Effect.ALLOW
    )
    return [
        (by_number[owner_of_role.get(row.role_id or 0, row.holder_id or 0)], row)
        for row in rows.order_by("pk")
    ]


def _unchanged_since(node: Node, holders: Sequence[Principal], seen: int | None) -> None:
    if seen is None:
        return
    mine, _ = grant_holders.find_all(node, holders)
    newer = Grant.objects.filter(mine, securable=node.id)
    if newer.filter(opened__gt=seen).exists() or newer.filter(closed__gt=seen).exists():
        raise Conflict(gettext("Someone changed these grants since you opened this page."))


def said_of(kind: str, node: Node, holder: Principal, grant: Grant) -> EventDraft:
    """The event of a direct grant that begins or ends."""
    until = grant.valid_until.isoformat() if grant.valid_until else None
    return make_event(kind, node, holder, privilege=grant.privilege, holder=holder.pseudonym, until=until)


def revision_now() -> int:
    """The site's last committed revision."""
    return Counter.objects.values_list("revision", flat=True).get()


__all__ = [
    "GrantRequest",
    "Grantable",
    "actions_given",
    "add",
    "add_all",
    "authority_to_grant",
    "direct",
    "direct_of",
    "gifts",
    "gifts_of",
    "remove",
    "remove_all",
    "revision_now",
]

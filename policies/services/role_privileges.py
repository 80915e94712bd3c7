"""What a role says of many objects at once: each privilege allowed, denied, or not spoken of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils import timezone
from django.utils.translation import gettext

from catalog.nodes import Node
from policies.authority import Actor, Authority, origin_of, require
from policies.decisions import ask, slices
from policies.errors import Conflict, Refused
from policies.events import DENIAL_ADDED, DENIAL_REMOVED, GRANT_ADDED, GRANT_REMOVED, EventDraft
from policies.models import Grant
from policies.models.grants import Effect
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.services import realm_of
from policies.services.grants import GRANT
from policies.services.roles import check_binding


@dataclass(frozen=True)
class Turn:
    """One privilege on one object: what the role says of it now and is to say; "" is nothing."""

    node: Node
    privilege: str
    before: str
    after: str


def turns(role: Node, places: Sequence[Node], wanted: Mapping[str, str]) -> list[Turn]:
    """What would differ, object by object.  One query."""
    now = {(row.securable_id, row.privilege): row.effect for row in _open(role, places, wanted)}
    pairs = [(node, code, now.get((node.id, code), "")) for node in places for code in wanted]
    return [Turn(node, code, before, wanted[code]) for node, code, before in pairs if before != wanted[code]]


def _open(role: Node, places: Sequence[Node], wanted: Mapping[str, str]) -> Sequence[Grant]:
    keys = [node.id for node in places]
    rows = Grant.objects.open().filter(role=role.id, securable__in=keys, privilege__in=list(wanted))
    return list(rows)


def set_on_all(
    role: Node,
    places: Sequence[Node],
    wanted: Mapping[str, str],
    *,
    by: Actor,
    reason: str = "",
    foretold: int | None = None,
) -> int:
    """Let a role say the same of all these objects of one type; answers how many things differ from before.

    `foretold` is how many were shown to differ.  Raises Refused when one is not the actor's to give, Invalid,
    and Conflict when it changed since.
    """
    with change(GRANT_ADDED, realm=realm_of(role), by=by, reason=reason) as current:
        authority = _may_give_all(places, by)
        differing = turns(role, places, wanted)
        if foretold is not None and len(differing) != foretold:
            raise Conflict(gettext("Someone changed what this role gives since you looked."))
        for item in {turn.privilege for turn in differing if turn.after}:
            check_binding(places[0], item)
        turned_off = {(turn.node.id, turn.privilege): turn.node for turn in differing if turn.before}
        rows = [row for row in _open(role, places, wanted) if (row.securable_id, row.privilege) in turned_off]
        ended = [
            (row, _draft_of(role, turned_off[row.securable_id or 0, row.privilege], row)) for row in rows
        ]
        current.end_all(ended, by=authority)
        new = [(turn, _grant(role, turn, by)) for turn in differing if turn.after]
        current.begin_all(
            [(row, _draft_of(role, turn.node, row, begins=True)) for turn, row in new], by=authority
        )
    return len(differing)


def _may_give_all(places: Sequence[Node], by: Actor) -> Authority:
    if by.decides_as is None:
        raise Refused(gettext("Nobody is signed in."))
    slice_, now = slices.current(by.decides_as, places[0]), timezone.now()
    for node in places:
        answer = ask.answer(slice_, GRANT, node, now=now)
        authority = require(
            answer.decision,
            by,
            otherwise=gettext("You may not grant access to %(object)s.") % {"object": node.ref.full_name},
        )
    return authority


def _grant(role: Node, turn: Turn, by: Actor) -> Grant:
    return Grant(
        role_id=role.id,
        securable_id=turn.node.id,
        privilege=turn.privilege,
        effect=turn.after,
        origin=origin_of(by),
    )


def _draft_of(role: Node, node: Node, row: Grant, *, begins: bool = False) -> EventDraft:
    allow, deny = (GRANT_ADDED, DENIAL_ADDED) if begins else (GRANT_REMOVED, DENIAL_REMOVED)
    kind = allow if row.effect == Effect.ALLOW else deny
    return make_event(kind, node, privilege=row.privilege, holder=f"role {role.name}", role=role.id)

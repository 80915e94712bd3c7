"""Who owns what."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import Principal
from catalog.nodes import Node
from policies.authority import Actor, Authority, origin_of, require
from policies.decisions import ask, personal_role_names, slices
from policies.errors import Conflict, Invalid, Refused
from policies.events import OWNER_ENDED, OWNER_SET
from policies.models import Ownership
from policies.record.change import ChangeInProgress, change
from policies.record.event_drafts import make_event
from policies.services import realm_of
from policies.services.roles import must_be_member

SET_OWNER = "Owner.setOwnerForObject"


def set_owner(node: Node, owner: Principal, *, by: Actor, authority: Authority, reason: str = "") -> bool:
    """Make a member of the realm the owner; False when they were it already.  Raises Invalid."""
    if node.type == "role" and personal_role_names.is_personal(node.name):
        raise Invalid(gettext("A personal role belongs to nobody."))
    with change(OWNER_SET, realm=realm_of(node), by=by, reason=reason) as current:
        must_be_member(node, owner)
        return bool(_set(current, {node: owner}, by, authority))


def hand_over(
    places: Sequence[Node],
    owner: Principal,
    *,
    by: Actor,
    reason: str = "",
    now_owned_by: Principal | None = None,
) -> int:
    """Make a member of the realm the owner of many of its objects in one change; answers how many changed.

    `now_owned_by`: only if all are still that principal's.  Raises Invalid, Conflict, and Refused when one of
    them is not the actor's to hand over.
    """
    if not places:
        return 0
    with change(OWNER_SET, realm=realm_of(places[0]), by=by, reason=reason) as current:
        authority = may_set_all(places, by)
        must_be_member(places[0], owner)
        if now_owned_by is not None:
            keys = [node.id for node in places]
            if Ownership.objects.open().filter(securable__in=keys, owner=now_owned_by).count() != len(keys):
                raise Conflict(gettext("Some of these now have another owner."))
        return _set(current, dict.fromkeys(places, owner), by, authority)


def bring_back(places: Collection[Node], before: Mapping[int, Principal], *, by: Actor) -> None:
    """Give objects back to who owned them before, or to nobody.  Raises Invalid, Refused."""
    rows = list(places)
    with change(OWNER_SET, realm=realm_of(rows[0]), by=by) as current:
        authority = may_set_all(rows, by)
        for owner in {item.pk: item for item in before.values()}.values():
            must_be_member(rows[0], owner)
        _end(current, [node for node in rows if node.id not in before], authority)
        _set(current, {node: before[node.id] for node in rows if node.id in before}, by, authority)


def settable(places: Sequence[Node], by: Principal) -> list[bool]:
    """Of which of the objects, all of one realm, somebody may set the owner.  One query at most."""
    if not places:
        return []
    slice_, now = slices.current(by, places[0]), timezone.now()
    return [bool(ask.answer(slice_, SET_OWNER, node, now=now)) for node in places]


def may_set_all(places: Sequence[Node], by: Actor) -> Authority:
    """The authority to set the owner of each of them, decided one by one.  Raises Refused."""
    if by.decides_as is None:
        raise Refused(gettext("Nobody is signed in."))
    slice_, now = slices.current(by.decides_as, places[0]), timezone.now()
    for node in places:
        answer = ask.answer(slice_, SET_OWNER, node, now=now)
        said_ = gettext("You may not set the owner of %(name)s.") % {"name": node.ref.full_name or node.name}
        authority = require(answer.decision, by, otherwise=said_)
    return authority


def _set(current: ChangeInProgress, wanted: Mapping[Node, Principal], by: Actor, authority: Authority) -> int:
    rows = Ownership.objects.open().filter(securable__in=[node.id for node in wanted])
    owned = {row.securable_id: row for row in rows.select_related("owner")}
    kept = {node for node in wanted if node.id in owned and owned[node.id].owner_id == wanted[node].pk}
    moved = [node for node in wanted if node not in kept]
    before = [(node, owned[node.id]) for node in moved if node.id in owned]
    current.end_all([(row, make_event(OWNER_ENDED, node, row.owner)) for node, row in before], by=authority)
    new = [Ownership(securable_id=node.id, owner=wanted[node], origin=origin_of(by)) for node in moved]
    drafts = [make_event(OWNER_SET, node, wanted[node]) for node in moved]
    current.begin_all(list(zip(new, drafts, strict=True)), by=authority)
    return len(moved)


def _end(current: ChangeInProgress, places: Iterable[Node], authority: Authority) -> None:
    by_number = {node.id: node for node in places}
    rows = Ownership.objects.open().filter(securable__in=by_number).select_related("owner")
    current.end_all(
        [(row, make_event(OWNER_ENDED, by_number[row.securable_id], row.owner)) for row in rows], by=authority
    )

"""Personal roles: what stands behind a grant to one person where the law knows grants to roles alone.

Named `~<user>`, made by the system with the first grant, held by that member alone, gone when empty.
"""

from __future__ import annotations

from collections.abc import Collection

from accounts.models import Principal
from accounts.record import Origin
from catalog.models import Placement, Securable
from catalog.nodes import Node
from lakewarden.law.facts import Level
from policies import authority as authorities
from policies.authority import Actor, Authority
from policies.events import (
    GRANT_REMOVED,
    ROLE_ASSIGNED,
    ROLE_CREATED,
    ROLE_DELETED,
    ROLE_UNASSIGNED,
)
from policies.models import Assignment, Grant
from policies.record.change import ChangeInProgress, change
from policies.record.event_drafts import make_event
from policies.services import realm_of

MARK = "~"


def name_for(principal: Principal) -> str:
    """`~alice` for a user; other kinds carry their kind, as names are unique only within it."""
    return MARK + (principal.name if principal.kind == Principal.Kind.USER else str(principal))


def is_personal(role_name: str) -> bool:
    return role_name.startswith(MARK)


def find(node: Node, principal: Principal) -> Securable | None:
    """The personal role of a principal in the node's realm, if it has one now."""
    place = (
        Placement.objects.open()
        .filter(scope=node.root_id, type="role", name=name_for(principal))
        .select_related("securable")
        .first()
    )
    return place.securable if place else None


def find_all(node: Node, principals: Collection[Principal]) -> dict[int, int]:
    """The personal roles of those who have one in the node's realm, by principal.  One query."""
    named = {name_for(principal): principal.pk for principal in principals}
    rows = Placement.objects.open().filter(scope=node.root_id, type="role", name__in=named)
    return {named[name]: role for name, role in rows.values_list("name", "securable")}


def ensure(current: ChangeInProgress, node: Node, principal: Principal) -> Securable:
    """The personal role of a principal, made and assigned when absent."""
    role = find(node, principal)
    if role is not None:
        return role
    system = authorities.of_system("personal role")
    role = Securable.objects.create(realm_id=node.realm_id, type="role", opened=current.revision)
    place = Placement(
        securable=role,
        type="role",
        name=name_for(principal),
        parent_id=node.root_id,
        scope_id=node.root_id,
        ancestors=[node.root_id],
        origin=Origin.SYSTEM,
    )
    about = _about(node, role)
    told = pseudonymous(principal)
    current.begin(
        place, make_event(ROLE_CREATED, about, principal, role=told), by=system, told={"name": told}
    )
    assigned = Assignment(role=role, holder=principal, origin=Origin.SYSTEM)
    current.begin(
        assigned, make_event(ROLE_ASSIGNED, about, principal, role=pseudonymous(principal)), by=system
    )
    return role


def drop_when_empty(current: ChangeInProgress, node: Node, principal: Principal) -> None:
    """End a personal role that no longer gives anything."""
    role = find(node, principal)
    if role is None or Grant.objects.open().filter(role=role).exists():
        return
    _end(current, node, principal, role, authorities.of_system("personal role"))


def end_when_empty(node: Node, role: int, *, by: Actor) -> None:
    """End a personal role that was emptied through its name."""
    with change(ROLE_DELETED, realm=realm_of(node), by=by) as current:
        held = Assignment.objects.open().filter(role=role).select_related("holder").first()
        if held is not None:
            drop_when_empty(current, node, held.holder)


def dissolve(current: ChangeInProgress, node: Node, principal: Principal, *, by: Authority) -> None:
    """End a leaving member's personal role with all it gives."""
    role = find(node, principal)
    if role is None:
        return
    for grant in Grant.objects.open().filter(role=role):
        current.end(
            grant,
            make_event(GRANT_REMOVED, node, principal, privilege=grant.privilege, holder=principal.pseudonym),
            by=by,
        )
    _end(current, node, principal, role, by)


def _end(current: ChangeInProgress, node: Node, principal: Principal, role: Securable, by: Authority) -> None:
    about = _about(node, role)
    for held in Assignment.objects.open().filter(role=role):
        current.end(held, make_event(ROLE_UNASSIGNED, about, principal, role=pseudonymous(principal)), by=by)
    for place in Placement.objects.open().filter(securable=role):
        current.end(place, make_event(ROLE_DELETED, about, principal, role=pseudonymous(principal)), by=by)
    Securable.objects.filter(pk=role.pk).update(closed=current.revision)


def _about(node: Node, role: Securable) -> Node:
    levels = (node.levels[0], Level("role", role.pk))
    return Node(role.pk, node.realm_id, node.kind, levels, (node.names[0], "personal role"))


def pseudonymous(principal: Principal) -> str:
    """How the record names a personal role, so that it holds no name of a person."""
    return MARK + principal.pseudonym


def role_name(role: int) -> str:
    """A role's name in the record's words."""
    held = Assignment.objects.filter(role=role).select_related("holder").first()
    place = Placement.objects.filter(securable=role).order_by("-opened").first()
    if place is None:
        return ""
    return pseudonymous(held.holder) if is_personal(place.name) and held else place.name

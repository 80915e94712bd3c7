"""Personal roles: what stands behind a grant to one person where the law knows grants to roles alone.

Named `~<user>`, made by the system with the first grant, held by that member alone, gone when empty.
"""

from __future__ import annotations

from accounts.models import Principal
from accounts.record import Origin
from catalog.models import Placement, Securable
from catalog.nodes import Node
from lakewarden.law.facts import Level
from policies import authority as authorities
from policies.authority import Actor, Authority
from policies.decisions.personal_role_names import find, name_for, pseudonymous
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
    name = pseudonymous(principal)
    current.begin(
        place, make_event(ROLE_CREATED, about, principal, role=name), by=system, told={"name": name}
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

"""Personal roles: what stands behind a grant to one person where the law knows grants to roles alone.

Named `~<user>`, made by the system with the first grant, held by that member alone, gone when empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from accounts.models import Principal
from accounts.record import Origin
from catalog.models import Placement, Securable
from catalog.nodes import Node
from lakewarden.law.facts import Level
from policies import authority as authorities
from policies.authority import Actor, Authority
from policies.decisions.personal_role_names import find_all, name_for, pseudonymous
from policies.events import (
    GRANT_REMOVED,
    ROLE_ASSIGNED,
    ROLE_CREATED,
    ROLE_DELETED,
    ROLE_UNASSIGNED,
    EventDraft,
)
from policies.models import Assignment, Grant
from policies.record.change import ChangeInProgress, change
from policies.record.event_drafts import make_event
from policies.services import realm_of


def ensure_all(current: ChangeInProgress, node: Node, principals: Iterable[Principal]) -> dict[int, int]:
    """The personal roles of principals in the node's realm, by principal, made and assigned where absent."""
    every = {principal.pk: principal for principal in principals}
    roles = find_all(node, every.values())
    if new := [principal for key, principal in every.items() if key not in roles]:
        blank = [Securable(realm_id=node.realm_id, type="role", opened=current.revision) for _ in new]
        made = dict(zip(new, Securable.objects.bulk_create(blank), strict=True))
        _begin(current, node, made)
        roles |= {principal.pk: role.pk for principal, role in made.items()}
    return roles


def _begin(current: ChangeInProgress, node: Node, made: Mapping[Principal, Securable]) -> None:
    system = authorities.of_system("personal role")
    places, assignments, pseudonyms = [], [], []
    for principal, role in made.items():
        about, pseudonym = _about(node, role.pk), pseudonymous(principal)
        place = Placement(
            securable=role,
            type="role",
            name=name_for(principal),
            parent_id=node.root_id,
            scope_id=node.root_id,
            ancestors=[node.root_id],
            origin=Origin.SYSTEM,
        )
        places.append((place, make_event(ROLE_CREATED, about, principal, role=pseudonym)))
        pseudonyms.append({"name": pseudonym})
        assigned = Assignment(role=role, holder=principal, origin=Origin.SYSTEM)
        assignments.append((assigned, make_event(ROLE_ASSIGNED, about, principal, role=pseudonym)))
    current.begin_all(places, by=system, told=pseudonyms)
    current.begin_all(assignments, by=system)


def drop_when_empty(current: ChangeInProgress, node: Node, *principals: Principal) -> None:
    """End the personal roles that no longer give anything."""
    roles = find_all(node, principals)
    giving = set(Grant.objects.open().filter(role__in=roles.values()).values_list("role", flat=True))
    empty = {principal: roles[principal.pk] for principal in principals if principal.pk in roles}
    gone = {principal: role for principal, role in empty.items() if role not in giving}
    _end(current, node, gone, authorities.of_system("personal role"))


def end_when_empty(node: Node, role: int, *, by: Actor) -> None:
    """End a personal role that was emptied through its name."""
    with change(ROLE_DELETED, realm=realm_of(node), by=by) as current:
        held = Assignment.objects.open().filter(role=role).select_related("holder").first()
        if held is not None:
            drop_when_empty(current, node, held.holder)


def dissolve(current: ChangeInProgress, node: Node, principal: Principal, *, by: Authority) -> None:
    """End a leaving member's personal role with all it gives."""
    for role in find_all(node, [principal]).values():
        ending = [
            (
                grant,
                make_event(
                    GRANT_REMOVED, node, principal, privilege=grant.privilege, holder=principal.pseudonym
                ),
            )
            for grant in Grant.objects.open().filter(role=role)
        ]
        current.end_all(ending, by=by)
        _end(current, node, {principal: role}, by)


def _end(current: ChangeInProgress, node: Node, roles: Mapping[Principal, int], by: Authority) -> None:
    holders = {role: principal for principal, role in roles.items()}

    def draft(kind: str, role: int) -> EventDraft:
        return make_event(kind, _about(node, role), holders[role], role=pseudonymous(holders[role]))

    held = Assignment.objects.open().filter(role__in=holders)
    current.end_all([(row, draft(ROLE_UNASSIGNED, row.role_id)) for row in held], by=by)
    places = Placement.objects.open().filter(securable__in=holders)
    current.end_all([(place, draft(ROLE_DELETED, place.securable_id)) for place in places], by=by)
    Securable.objects.filter(pk__in=holders).update(closed=current.revision)


def _about(node: Node, role: int) -> Node:
    levels = (node.levels[0], Level("role", role))
    return Node(role, node.realm_id, node.kind, levels, (node.names[0], "personal role"))

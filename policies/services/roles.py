"""Roles: making, deleting, giving them to people and groups, and what they allow or deny."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext

from accounts.models import Principal
from catalog.models import Detail, Placement, Securable
from catalog.nodes import Node, any_of, nodes, number
from lakewarden.law import dialects
from lakewarden.law.facts import Level
from policies.authority import Actor, Authority, origin_of
from policies.decisions import personal_role_names
from policies.errors import AlreadyExists, Invalid
from policies.events import (
    DENIAL_ADDED,
    DENIAL_REMOVED,
    GRANT_ADDED,
    GRANT_REMOVED,
    OWNER_ENDED,
    OWNER_SET,
    ROLE_ASSIGNED,
    ROLE_CREATED,
    ROLE_DELETED,
    ROLE_UNASSIGNED,
    EventDraft,
)
from policies.models import Assignment, Grant, Ownership, RealmMember
from policies.models.grants import Effect
from policies.record.change import ChangeInProgress, change
from policies.record.event_drafts import make_event
from policies.services import realm_of
from policies.services.object_names import check_described, checked


@dataclass(frozen=True)
class Privilege:
    """A privilege as it is given: its code, allow or deny, and the name the client wrote."""

    code: str
    effect: str = Effect.ALLOW
    written: str = ""
    valid_from: datetime | None = None
    valid_until: datetime | None = None


def create(
    root: Node,
    name: str,
    *,
    by: Actor,
    authority: Authority,
    owner: Principal | None = None,
    properties: dict[str, Any] | None = None,
    reason: str = "",
) -> Node:
    """Make a role; its maker owns it.  Raises AlreadyExists, Invalid."""
    if personal_role_names.is_personal(checked(name)):
        raise Invalid(
            gettext("Names that begin with %(mark)s belong to personal roles.")
            % {"mark": personal_role_names.MARK}
        )
    check_described(properties)
    with change(ROLE_CREATED, realm=realm_of(root), by=by, reason=reason) as current:
        if Placement.objects.open().filter(scope=root.id, type="role", name=name).exists():
            raise AlreadyExists(gettext("Role %(name)s already exists.") % {"name": name})
        row = Securable.objects.create(realm_id=root.realm_id, type="role", opened=current.revision)
        node = Node(
            row.pk, root.realm_id, root.kind, (root.levels[0], Level("role", row.pk)), (root.name, name)
        )
        place = Placement(
            securable=row, type="role", name=name, parent_id=root.id, scope_id=root.id, ancestors=[root.id]
        )
        place.origin = origin_of(by)
        current.begin(place, make_event(ROLE_CREATED, node, role=name), by=authority)
        Detail.objects.create(securable=row, properties=properties or {})
        if owner is not None:
            owned = Ownership(securable=row, owner=owner, origin=origin_of(by))
            current.begin(owned, make_event(OWNER_SET, node, owner), by=authority)
    return node


def delete(role: Node, *, by: Actor, authority: Authority, reason: str = "") -> None:
    """Delete a role with all it gives.  Raises Invalid for a personal role."""
    _refuse_personal(role)
    with change(ROLE_DELETED, realm=realm_of(role), by=by, reason=reason) as current:
        for held in Assignment.objects.open().filter(role=role.id).select_related("holder"):
            current.end(held, make_event(ROLE_UNASSIGNED, role, held.holder, role=role.name), by=authority)
        for grant in Grant.objects.open().filter(role=role.id):
            current.end(grant, _ended(role, role, grant), by=authority)
        for owned in Ownership.objects.open().filter(securable=role.id).select_related("owner"):
            current.end(owned, make_event(OWNER_ENDED, role, owned.owner), by=authority)
        place = Placement.objects.open().get(securable=role.id)
        current.end(place, make_event(ROLE_DELETED, role, role=role.name), by=authority)
        Securable.objects.filter(pk=role.id).update(closed=current.revision)


def assign(
    role: Node,
    holder: Principal,
    *,
    by: Actor,
    authority: Authority,
    reason: str = "",
    valid_from: datetime | None = None,
    valid_until: datetime | None = None,
) -> bool:
    """Give a role to a member of the realm; False when the same was given before.  Raises Invalid."""
    _refuse_personal(role)
    with change(ROLE_ASSIGNED, realm=realm_of(role), by=by, reason=reason) as current:
        must_be_member(role, holder)
        same = Assignment.objects.open().filter(
            role=role.id, holder=holder, valid_from=valid_from, valid_until=valid_until
        )
        if same.exists():
            return False
        row = Assignment(
            role_id=role.id,
            holder=holder,
            valid_from=valid_from,
            valid_until=valid_until,
            origin=origin_of(by),
        )
        current.begin(row, make_event(ROLE_ASSIGNED, role, holder, role=role.name), by=authority)
    return True


def hold(
    role: Node,
    holder: Principal,
    begin: datetime | None,
    end: datetime | None,
    *,
    by: Actor,
    authority: Authority,
    reason: str = "",
) -> bool:
    """Let somebody hold a role within exactly this window; False when it was so before.  Raises Invalid.

    What was given the same way with another window is replaced; what has begun keeps its beginning.
    """
    with change(ROLE_ASSIGNED, realm=realm_of(role), by=by, reason=reason) as current:
        rows = list(Assignment.objects.open().filter(role=role.id, holder=holder, origin=origin_of(by)))
        begin = kept_begin(begin, [row.valid_from for row in rows], now=current.at)
        if [(begin, end)] == [(row.valid_from, row.valid_until) for row in rows]:
            return False
        event = make_event(ROLE_UNASSIGNED, role, holder, role=role.name)
        current.end_all([(row, event) for row in rows], by=authority)
        return assign(role, holder, by=by, authority=authority, valid_from=begin, valid_until=end)


def kept_begin(
    asked: datetime | None, before: Iterable[datetime | None], *, now: datetime
) -> datetime | None:
    """When what is given again begins: what has begun keeps its beginning, so that its age stays known."""
    begun = [item for item in before if item is not None and item <= now]
    return asked or min(begun, default=None)


def unassign(role: Node, holder: Principal, *, by: Actor, authority: Authority, reason: str = "") -> bool:
    """Take a role back; False when it was not held.  Raises Invalid for a personal role."""
    _refuse_personal(role)
    with change(ROLE_UNASSIGNED, realm=realm_of(role), by=by, reason=reason) as current:
        rows = list(Assignment.objects.open().filter(role=role.id, holder=holder))
        for row in rows:
            current.end(row, make_event(ROLE_UNASSIGNED, role, holder, role=role.name), by=authority)
    return bool(rows)


def add_privileges(
    role: Node,
    node: Node,
    privileges: Sequence[Privilege],
    *,
    by: Actor,
    authority: Authority,
    reason: str = "",
) -> int:
    """Let a role allow or deny privileges on an object; answers how many are new.  Raises Invalid."""
    with change(GRANT_ADDED, realm=realm_of(node), by=by, reason=reason) as current:
        return sum(_add(current, role, node, privilege, by, authority) for privilege in privileges)


def _add(
    current: ChangeInProgress, role: Node, node: Node, privilege: Privilege, by: Actor, authority: Authority
) -> bool:
    check_binding(node, privilege.code)
    open_now = Grant.objects.open().filter(role=role.id, securable=node.id, privilege=privilege.code)
    if open_now.filter(
        effect=privilege.effect, valid_from=privilege.valid_from, valid_until=privilege.valid_until
    ).exists():
        return False
    grant = Grant(
        role_id=role.id,
        securable_id=node.id,
        privilege=privilege.code,
        written=privilege.written,
        effect=privilege.effect,
        valid_from=privilege.valid_from,
        valid_until=privilege.valid_until,
        origin=origin_of(by),
    )
    kind = GRANT_ADDED if privilege.effect == Effect.ALLOW else DENIAL_ADDED
    until = privilege.valid_until.isoformat() if privilege.valid_until else None
    event = make_event(
        kind, node, privilege=privilege.code, holder=f"role {role.name}", until=until, role=role.id
    )
    current.begin(grant, event, by=authority)
    return True


def remove_privileges(
    role: Node,
    node: Node,
    privileges: Sequence[Privilege],
    *,
    by: Actor,
    authority: Authority,
    reason: str = "",
) -> int:
    """Take privileges on an object from a role; answers how many were there."""
    with change(GRANT_REMOVED, realm=realm_of(node), by=by, reason=reason) as current:
        wanted = {(privilege.code, privilege.effect) for privilege in privileges}
        rows = Grant.objects.open().filter(role=role.id, securable=node.id)
        removed = [row for row in rows if (row.privilege, row.effect) in wanted]
        for row in removed:
            current.end(row, _ended(node, role, row), by=authority)
    return len(removed)


def replace_privileges(
    role: Node,
    wanted: Mapping[Node, Sequence[Privilege]],
    *,
    by: Actor,
    authority: Authority,
    reason: str = "",
) -> None:
    """Let a role give exactly this and nothing else, on no other object.  Raises Invalid."""
    with change(GRANT_ADDED, realm=realm_of(role), by=by, reason=reason) as current:
        kept = {
            (node.id, item.code, item.effect, item.valid_from, item.valid_until)
            for node, some in wanted.items()
            for item in some
        }
        rows = list(Grant.objects.open().filter(role=role.id))
        by_id = nodes(row.securable_id for row in rows if row.securable_id)
        for row in rows:
            key = (row.securable_id, row.privilege, row.effect, row.valid_from, row.valid_until)
            if key not in kept:
                node = by_id.get(row.securable_id, role) if row.securable_id else role
                current.end(row, _ended(node, role, row), by=authority)
        for node, some in wanted.items():
            add_privileges(role, node, some, by=by, authority=authority)


def _ended(node: Node, role: Node, grant: Grant) -> EventDraft:
    kind = GRANT_REMOVED if grant.effect == Effect.ALLOW else DENIAL_REMOVED
    return make_event(kind, node, privilege=grant.privilege, holder=f"role {role.name}", role=role.id)


DEEDS = {
    "create": ("Role.createRole", "role.create"),
    "assign": ("Permission.grantRolesToUser", "role.assign"),
    "delete": ("Role.deleteRole", "role.delete"),
}


def operation(node: Node, deed: str) -> str:
    """What the law of a role, or of the realm that it is made in, calls making, giving or deleting one."""
    operations = dialects.get(node.kind).operations
    return next((name for name in DEEDS[deed] if name in operations), DEEDS[deed][0])


def check_binding(node: Node, privilege: str, *, kind: str | None = None) -> None:
    """Raise Invalid when the law does not let this privilege be given on this object.

    `kind` is that of its catalog, where the caller knows it.
    """
    if dialects.get(node.kind).by_text:
        raise Invalid(
            gettext("In %(realm)s privileges are given on texts, such as dataset:ns1.*")
            % {"realm": node.realm}
        )
    problem = dialects.get(node.kind).bindable(privilege, node.type, kind or catalog_kind(node))
    if problem:
        raise Invalid(problem)


def catalog_kind(node: Node) -> str | None:
    """What kind of catalog an object stands in: relational, fileset, messaging, model; None in none."""
    catalogs = [number(level) for level in node.levels if level.type == "catalog"]
    if not catalogs:
        return None
    detail = Detail.objects.filter(securable=catalogs[0]).values_list("properties", flat=True).first()
    return str((detail or {}).get("type", "relational"))


def must_be_member(node: Node, *holders: Principal) -> None:
    """Raise Invalid for somebody who is no member of a realm that has members.  One query."""
    if dialects.get(node.kind).open_to_all:
        return
    rows = RealmMember.objects.open().filter(any_of("principal_id", (holder.pk for holder in holders)))
    members = set(rows.filter(realm=node.realm_id).values_list("principal", flat=True))
    for holder in holders:
        if holder.pk not in members:
            raise Invalid(
                gettext("%(kind)s %(name)s is not a member of %(realm)s.")
                % {"kind": holder.kind.capitalize(), "name": holder.name, "realm": node.realm}
            )


def _refuse_personal(role: Node) -> None:
    if personal_role_names.is_personal(role.name):
        raise Invalid(
            gettext("%(role)s is a personal role; only the privileges in it can be changed.")
            % {"role": role.name}
        )

"""Making the proposed changes really: each by the verb that the console itself has for it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

from django.utils.translation import gettext

from catalog.nodes import Node
from lakewarden.law import dialects
from policies.authority import Actor, Authority, of_operator, require
from policies.decisions import ask, site_permissions
from policies.errors import Invalid, Refused
from policies.services import entities, entries, grants, members, objects, owners, patterns, roles
from policies.services.entries import Turn
from policies.services.grants import GRANT, GrantRequest
from policies.services.objects import Move
from policies.services.roles import Privilege
from policies.simulation import changes as proposals
from policies.simulation.changes import Change


def authority_for(change: Change, root: Node, by: Actor) -> Authority:
    """The right to make a change, decided on the facts as they are.  Raises Refused.

    An operator at the site's own shell has it.
    """
    if by.principal is None and by.decides_as is None:
        return of_operator(by)
    return _authority(change, root, by)


def authority_to_make(node: Node, by: Actor, operation: str = GRANT) -> Authority:
    """The right to make something below an object, or to say who may do what there.  Raises Refused."""
    if by.principal is None and by.decides_as is None:
        return of_operator(by)
    return _may(operation, node, by)


def subject_of(change: Change) -> tuple[object, ...]:
    """What the right to a change depends on; changes of which this is equal are allowed or refused alike."""
    match change:
        case (
            proposals.GrantAccess()
            | proposals.RevokeAccess()
            | proposals.AddToRole()
            | proposals.RemoveFromRole()
        ):
            return proposals.GrantAccess, change.target.key
        case proposals.AssignRole() | proposals.UnassignRole():
            return proposals.AssignRole, change.role.id
        case proposals.JoinGroup() | proposals.LeaveGroup():
            return (proposals.JoinGroup,)
    return (change,)


@singledispatch
def _authority(change: Change, root: Node, by: Actor) -> Authority:
    raise Invalid(gettext("%(change)s cannot be made.") % {"change": type(change).__name__})


@_authority.register(proposals.GrantAccess)
@_authority.register(proposals.RevokeAccess)
@_authority.register(proposals.AddToRole)
@_authority.register(proposals.RemoveFromRole)
def _may_grant(
    change: proposals.GrantAccess | proposals.RevokeAccess | proposals.AddToRole | proposals.RemoveFromRole,
    root: Node,
    by: Actor,
) -> Authority:
    if change.target.entity is not None:
        return patterns.authority(root, change.target.entity, by=by)
    return grants.authority_to_grant(change.target.node, by)


@_authority.register(proposals.AssignRole)
@_authority.register(proposals.UnassignRole)
def _may_assign(change: proposals.AssignRole | proposals.UnassignRole, root: Node, by: Actor) -> Authority:
    operation = roles.operation(root, "assign")
    is_known = operation in dialects.get(root.kind).operations
    return _may(operation if is_known else GRANT, change.role, by)


@_authority.register
def _may_delete_role(change: proposals.DeleteRole, root: Node, by: Actor) -> Authority:
    return _may(roles.operation(root, "delete"), change.role, by)


@_authority.register(proposals.JoinGroup)
@_authority.register(proposals.LeaveGroup)
def _may_change_group(change: Change, root: Node, by: Actor) -> Authority:
    return site_permissions.of_admin(by)


@_authority.register
def _may_set_owner(change: proposals.SetOwner, root: Node, by: Actor) -> Authority:
    return _may(owners.SET_OWNER, change.node, by)


@_authority.register
def _may_move(change: proposals.MoveObject, root: Node, by: Actor) -> Authority:
    if change.parent.levels != change.node.levels[:-1]:
        _may(f"create_{change.node.type}", change.parent, by)
    return _may("alter", change.node, by)


@_authority.register
def _may_drop(change: proposals.DropObject, root: Node, by: Actor) -> Authority:
    return _may("drop", change.node, by)


@_authority.register(proposals.AddMember)
@_authority.register(proposals.RemoveMember)
def _may_change_members(
    change: proposals.AddMember | proposals.RemoveMember, root: Node, by: Actor
) -> Authority:
    adds = isinstance(change, proposals.AddMember)
    operations = members.ADMITS if adds else members.REMOVES
    return _may(operations.get(change.member.kind, ""), root, by)


def _may(operation: str, node: Node, by: Actor) -> Authority:
    if by.decides_as is None:
        raise Refused(gettext("Nobody is signed in."))
    answer = ask.ask(by.decides_as, operation, node)
    refusal = gettext("You may not do this to %(name)s.") % {"name": node.ref.full_name or node.name}
    return require(answer.decision, by, otherwise=refusal)


def carry_out(changes: Sequence[Change], root: Node, *, by: Actor) -> None:
    """Make changes one after another, each with the right to it; in a change of the caller's.

    Raises Refused, Invalid, NotFound, Conflict.
    """
    for change in changes:
        _make(change, root, by, authority_for(change, root, by))


@singledispatch
def _make(change: Change, root: Node, by: Actor, authority: Authority) -> None:
    raise Invalid(gettext("%(change)s cannot be made.") % {"change": type(change).__name__})


@_make.register
def _grant(change: proposals.GrantAccess, root: Node, by: Actor, authority: Authority) -> None:
    target, (begin, end) = change.target, change.window
    if target.entity is not None:
        if begin is not None:
            raise Invalid(gettext("In a CDAP realm a grant begins at once."))
        patterns.grant(
            root, target.entity, change.holder, change.privileges, by=by, valid_until=end, right=authority
        )
    elif dialects.get(root.kind).grantees and begin is None and end is None:
        given = Turn(change.holder, gives=frozenset(change.privileges))
        entries.turn(target.node, [given], by=by, authority=authority)
    else:
        wish = GrantRequest(target.node, (change.holder,), change.privileges, begin, end, way=False)
        grants.add(wish, by=by, authority=authority)


@_make.register
def _revoke(change: proposals.RevokeAccess, root: Node, by: Actor, authority: Authority) -> None:
    target = change.target
    if target.entity is not None:
        patterns.revoke(root, target.entity, change.holder, change.privileges, by=by)
    elif dialects.get(root.kind).grantees:
        turn = Turn(change.holder, takes=frozenset(change.privileges))
        entries.turn(target.node, [turn], by=by, authority=authority)
    else:
        grants.remove(target.node, [change.holder], change.privileges, by=by, authority=authority)


@_make.register
def _add_to_role(change: proposals.AddToRole, root: Node, by: Actor, authority: Authority) -> None:
    role, target, (begin, end) = change.role, change.target, change.window
    if target.entity is not None:
        patterns.grant(root, target.entity, role, change.privileges, by=by, valid_until=end, right=authority)
        return
    wanted = [Privilege(code, change.effect, valid_from=begin, valid_until=end) for code in change.privileges]
    roles.add_privileges(role, target.node, wanted, by=by, authority=authority)


@_make.register
def _remove_from_role(change: proposals.RemoveFromRole, root: Node, by: Actor, authority: Authority) -> None:
    role, target = change.role, change.target
    if target.entity is not None:
        patterns.revoke(root, target.entity, role, change.privileges, by=by)
        return
    removed = [Privilege(code, change.effect) for code in change.privileges]
    roles.remove_privileges(role, target.node, removed, by=by, authority=authority)


@_make.register
def _assign(change: proposals.AssignRole, root: Node, by: Actor, authority: Authority) -> None:
    begin, end = change.window
    roles.assign(change.role, change.holder, by=by, authority=authority, valid_from=begin, valid_until=end)


@_make.register
def _unassign(change: proposals.UnassignRole, root: Node, by: Actor, authority: Authority) -> None:
    roles.unassign(change.role, change.holder, by=by, authority=authority)


@_make.register
def _delete_role(change: proposals.DeleteRole, root: Node, by: Actor, authority: Authority) -> None:
    roles.delete(change.role, by=by, authority=authority)


@_make.register
def _join(change: proposals.JoinGroup, root: Node, by: Actor, authority: Authority) -> None:
    members.join_group(change.group, change.member, by=by, authority=authority)


@_make.register
def _leave(change: proposals.LeaveGroup, root: Node, by: Actor, authority: Authority) -> None:
    members.leave_group(change.group, change.member, by=by, authority=authority)


@_make.register
def _set_owner(change: proposals.SetOwner, root: Node, by: Actor, authority: Authority) -> None:
    owners.set_owner(change.node, change.owner, by=by, authority=authority)


@_make.register
def _move(change: proposals.MoveObject, root: Node, by: Actor, authority: Authority) -> None:
    objects.move([Move(change.node, change.parent, change.name)], by=by, authority=authority)


@_make.register
def _drop(change: proposals.DropObject, root: Node, by: Actor, authority: Authority) -> None:
    if dialects.get(root.kind).by_text:
        entities.delete(root, entities.entity_of(change.node), by=by)
    else:
        objects.drop(change.node, by=by, authority=authority)


@_make.register
def _add_member(change: proposals.AddMember, root: Node, by: Actor, authority: Authority) -> None:
    members.add(root, change.member, by=by, authority=authority)


@_make.register
def _remove_member(change: proposals.RemoveMember, root: Node, by: Actor, authority: Authority) -> None:
    members.remove(root, change.member, by=by, authority=authority)

"""Who a realm admits, and who is in which group."""

from __future__ import annotations

from django.utils.translation import gettext

from accounts import directory, people
from accounts.models import Membership, Principal, User
from accounts.people import django_group
from catalog.nodes import Node
from policies.authority import DIRECTORY, Actor, Authority, origin_of
from policies.decisions import personal_role_names
from policies.errors import AlreadyExists, Invalid
from policies.events import (
    GROUP_JOINED,
    GROUP_LEFT,
    GROUP_MADE,
    MEMBER_ADDED,
    MEMBER_REMOVED,
    OWNER_ENDED,
    ROLE_UNASSIGNED,
)
from policies.models import Assignment, Ownership, RealmMember
from policies.record.change import ChangeInProgress, change
from policies.record.event_drafts import make_event
from policies.services import personal_roles, realm_of

ADMITS = {"user": "User.addUser", "group": "Group.addGroup", "service": "User.addUser"}
REMOVES = {"user": "User.removeUser", "group": "Group.removeGroup", "service": "User.removeUser"}
"""The law's operation that admits or removes a principal of each kind."""


def add(node: Node, principal: Principal, *, by: Actor, authority: Authority, reason: str = "") -> bool:
    """Admit a principal to the realm; False when it was admitted before."""
    realm = realm_of(node)
    with change(MEMBER_ADDED, realm=realm, by=by, reason=reason) as current:
        if RealmMember.objects.open().filter(realm=realm, principal=principal).exists():
            return False
        member = RealmMember(realm=realm, principal=principal, origin=origin_of(by))
        current.begin(member, make_event(MEMBER_ADDED, node, principal), by=authority)
    return True


def remove(node: Node, principal: Principal, *, by: Actor, authority: Authority, reason: str = "") -> bool:
    """Remove a principal with all roles and ownerships it has in the realm; False when it was no member."""
    realm = realm_of(node)
    with change(MEMBER_REMOVED, realm=realm, by=by, reason=reason) as current:
        admitted = list(RealmMember.objects.open().filter(realm=realm, principal=principal))
        if not admitted:
            return False
        if Ownership.objects.open().filter(owner=principal, securable=node.id).exists():
            kind = principal.kind
            raise Invalid(
                gettext("Cannot remove %(kind)s %(name)s because the %(kind)s is the owner of the %(type)s.")
                % {"kind": kind, "name": principal.name, "type": node.type}
            )
        for row in admitted:
            current.end(row, make_event(MEMBER_REMOVED, node, principal), by=authority)
        _end_all_of(current, node, principal, authority)
    return True


def _end_all_of(current: ChangeInProgress, node: Node, principal: Principal, authority: Authority) -> None:
    personal_roles.dissolve(current, node, principal, by=authority)
    held = Assignment.objects.open().filter(holder=principal, role__realm=node.realm_id)
    for row in held.select_related("role"):
        current.end(
            row,
            make_event(ROLE_UNASSIGNED, node, principal, role=personal_role_names.role_name(row.role_id)),
            by=authority,
        )
    owned = Ownership.objects.open().filter(owner=principal, securable__realm=node.realm_id)
    for own in owned:
        current.end(own, make_event(OWNER_ENDED, node, principal), by=authority)


def make_group(name: str, *, by: Actor, authority: Authority, reason: str = "") -> Principal:
    """Make a group that nobody is in yet.  Raises AlreadyExists, Invalid."""
    with change(GROUP_MADE, realm=None, by=by, reason=reason) as current:
        if people.find(Principal.Kind.GROUP, name) is not None:
            raise AlreadyExists(gettext("Group %(name)s already exists.") % {"name": name})
        try:
            group = people.ensure(Principal.Kind.GROUP, name)
        except people.BadName as problem:
            raise Invalid(f"{str(problem).capitalize()}.") from problem
        current.say(make_event(GROUP_MADE, None, group, group=group.pseudonym), by=authority)
    return group


def join_group(group: Principal, member: Principal, *, by: Actor, authority: Authority) -> bool:
    """Put a person or service account into a group; False when it was in it.  Raises Invalid.

    No system puts in whose account is disabled.
    """
    if group.kind != Principal.Kind.GROUP or member.kind == Principal.Kind.GROUP:
        raise Invalid(gettext("Only people and service accounts can be put into a group."))
    _refuse_what_the_directory_keeps(group, by)
    with change(GROUP_JOINED, realm=None, by=by) as current:
        if by.via == DIRECTORY.via and User.objects.filter(principal=member, is_active=False).exists():
            return False  # they left while this was on its way; who returns is put in then
        if Membership.objects.open().filter(group=group, member=member).exists():
            return False
        row = Membership(group=group, member=member, origin=origin_of(by))
        current.begin(row, make_event(GROUP_JOINED, None, member, group, group=group.pseudonym), by=authority)
        _project(group, member)
    return True


def leave_group(group: Principal, member: Principal, *, by: Actor, authority: Authority) -> bool:
    """Take someone out of a group; False when it was not in it.  Raises Invalid."""
    _refuse_what_the_directory_keeps(group, by)
    with change(GROUP_LEFT, realm=None, by=by) as current:
        rows = Membership.objects.open().filter(group=group, member=member).select_related("group", "member")
        for row in (memberships := list(rows)):
            take_out(current, row, by=authority)
    return bool(memberships)


def take_out(current: ChangeInProgress, row: Membership, *, by: Authority) -> None:
    """End that somebody is in a group."""
    draft = make_event(GROUP_LEFT, None, row.member, row.group, group=row.group.pseudonym)
    current.end(row, draft, by=by)
    _project(row.group, row.member)


def _refuse_what_the_directory_keeps(group: Principal, by: Actor) -> None:
    if by.via != DIRECTORY.via and directory.keeps(group):
        raise Invalid(
            gettext("The directory manages group %(group)s. Change its members there.")
            % {"group": group.label}
        )


def _project(group: Principal, member: Principal) -> None:
    # guardian and sign-in read Django's own groups, so they follow in the same transaction
    for account in User.objects.filter(principal=member):
        inside = Membership.objects.open().filter(group=group, member=member).exists()
        (account.groups.add if inside else account.groups.remove)(django_group(group))

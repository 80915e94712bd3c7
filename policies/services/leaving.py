"""All access of somebody who left, ended at once: every surface and every backend follows the facts."""

from __future__ import annotations

from accounts import tokens
from accounts.models import Membership, Principal
from catalog.queries import nodes, root
from policies.authority import Authority
from policies.decisions.cache_versions import principal_key
from policies.decisions.personal_role_names import is_personal, role_name
from policies.events import (
    DIRECTORY_LEFT,
    GRANT_REMOVED,
    MEMBER_REMOVED,
    ROLE_UNASSIGNED,
    TOKEN_REVOKED,
)
from policies.models import Assignment, Grant, RealmMember, UserDuty
from policies.models.grants import Effect
from policies.record.change import ChangeInProgress
from policies.record.event_drafts import make_event
from policies.services import duties, grants, members, patterns, personal_roles


def end_access(current: ChangeInProgress, person: Principal, *, by: Authority) -> None:
    """End what somebody may do: grants, roles, groups, realms, duties and tokens.

    What denies them something stays, and so does what they own: it waits for another owner.
    """
    current.say(make_event(DIRECTORY_LEFT, None, person), by=by)
    current.touch(principal_key(person.pk))
    _end_grants(current, person, by)
    _end_roles(current, person, by)
    for row in Membership.objects.open().filter(member=person).select_related("group", "member"):
        members.take_out(current, row, by=by)
    for admitted in RealmMember.objects.open().filter(principal=person).select_related("realm"):
        current.end(admitted, make_event(MEMBER_REMOVED, root(admitted.realm), person), by=by)
    _end_duties(person, by)
    for token in tokens.revoke_all(person):
        current.say(make_event(TOKEN_REVOKED, None, person, prefix=token.prefix), by=by)


def _end_grants(current: ChangeInProgress, person: Principal, by: Authority) -> None:
    allowed = Grant.objects.open().filter(effect=Effect.ALLOW)
    own = list(allowed.filter(holder=person))
    places = nodes({row.securable_id for row in own if row.securable_id is not None})
    for row in own:
        if row.securable_id is None and row.realm is not None:
            patterns.end(current, root(row.realm), [row], by=by)
        elif row.securable_id in places:
            current.end(row, grants.said_of(GRANT_REMOVED, places[row.securable_id], person, row), by=by)


def _end_roles(current: ChangeInProgress, person: Principal, by: Authority) -> None:
    held = list(Assignment.objects.open().filter(holder=person).select_related("role__realm"))
    places = nodes({row.role_id for row in held})
    for row in held:
        home = root(row.role.realm)
        if row.role_id in places and is_personal(places[row.role_id].name):
            for grant in Grant.objects.open().filter(role=row.role, effect=Effect.ALLOW):
                on = nodes([grant.securable_id or 0]).get(grant.securable_id or 0, home)
                current.end(grant, grants.said_of(GRANT_REMOVED, on, person, grant), by=by)
            personal_roles.drop_when_empty(current, home, person)
        else:
            draft = make_event(
                ROLE_UNASSIGNED, places.get(row.role_id, home), person, role=role_name(row.role_id)
            )
            current.end(row, draft, by=by)


def _end_duties(person: Principal, by: Authority) -> None:
    rows = UserDuty.objects.filter(user__principal=person).select_related("permission")
    places = nodes({row.content_object_id for row in rows})
    for row in rows:
        node = places.get(row.content_object_id)
        if node is not None:
            duties.take(node, row.permission.codename, person, by=by.actor, authority=by)

"""The console's own duties, as guardian permissions on objects; each given and taken on the record."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import cast

from django.contrib.auth.models import Group
from django.utils import timezone
from guardian.shortcuts import assign_perm, remove_perm

from accounts.models import Principal, User
from accounts.people import django_group, django_group_name, groups_of
from catalog.models import Securable
from catalog.nodes import Node
from policies.authority import Actor, Authority
from policies.decisions.seals import duty_seals
from policies.decisions.seals.duty_seals import SealedDuty
from policies.errors import Invalid
from policies.events import DUTY_GIVEN, DUTY_TAKEN
from policies.models import GroupDuty, UserDuty
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.services import realm_of

DUTIES = tuple(code for code, _ in Securable._meta.permissions)


def give(node: Node, duty: str, principal: Principal, *, by: Actor, authority: Authority) -> bool:
    """Give a duty on an object and all below it; False when it was given before.  Raises Invalid."""
    return _set(node, duty, principal, by, authority, given=True)


def take(node: Node, duty: str, principal: Principal, *, by: Actor, authority: Authority) -> bool:
    """Take a duty back; False when it was not given here."""
    return _set(node, duty, principal, by, authority, given=False)


def _set(
    node: Node, duty: str, principal: Principal, by: Actor, authority: Authority, *, given: bool
) -> bool:
    if duty not in DUTIES:
        raise Invalid(f"unknown duty `{duty}`; known are {', '.join(DUTIES)}")
    kind = DUTY_GIVEN if given else DUTY_TAKEN
    with change(kind, realm=realm_of(node), by=by) as current:
        holder, securable = _holder(principal), Securable.objects.get(pk=node.id)
        if _is_given(holder, duty, securable) == given:
            return False
        if given:
            duty_seals.seal_row(cast("duty_seals.Duty", assign_perm(duty, holder, securable)))
        else:
            remove_perm(duty, holder, securable)
        current.say(make_event(kind, node, principal, duty=duty), by=authority)
    return True


def _holder(principal: Principal) -> User | Group:
    if principal.kind == Principal.Kind.GROUP:
        return django_group(principal)
    account = User.objects.filter(principal=principal).first()
    if account is None:
        raise Invalid(f"{principal} has no account to hold a duty")
    return account


def _is_given(holder: User | Group, duty: str, securable: Securable) -> bool:
    # not guardian's own answer: it says nothing of a disabled account, and all of what groups have
    rows = (
        GroupDuty.objects.filter(group=holder)
        if isinstance(holder, Group)
        else UserDuty.objects.filter(user=holder)
    )
    return rows.filter(content_object=securable, permission__codename=duty).exists()


@dataclass(frozen=True)
class HeldDuty:
    """Somebody has a duty on an object, and by that on all below it."""

    holder: Principal
    duty: str
    node: Node


def duties_along(*nodes: Node) -> list[HeldDuty]:
    """Every duty given on an object, or some, and above it, the nearest first.  Three queries."""
    wanted = {"content_object__in": {key for node in nodes for key in node.lineage}}
    people = UserDuty.objects.filter(**wanted).select_related("user__principal", "permission")
    groups = GroupDuty.objects.filter(**wanted).select_related("group", "permission")
    rows = [
        (row.content_object_id, row.permission.codename, row.user.principal)
        for row in people
        if duty_seals.is_row_sealed(row)
    ]
    named = (
        {django_group_name(principal.name): principal for principal in Principal.objects.filter(kind="group")}
        if groups
        else {}
    )
    rows += [
        (row.content_object_id, row.permission.codename, named.get(row.group.name))
        for row in groups
        if duty_seals.is_row_sealed(row)
    ]
    places = {item.id: item for node in nodes for item in (*node.above(), node)}
    found = [HeldDuty(one, duty, places[key]) for key, duty, one in rows if one is not None and key in places]
    return sorted(found, key=lambda one: (-len(one.node.levels), DUTIES.index(one.duty), one.holder.label))


def has(principal: Principal, duty: str, node: Node, *, now: datetime | None = None) -> bool:
    """Whether the principal has a duty on the object or on anything above it.  Two queries."""
    return not held(principal, duty, now=now).isdisjoint(node.lineage)


def held(principal: Principal, duty: str, *, now: datetime | None = None) -> frozenset[int]:
    """The numbers of the objects on which the principal has a duty.  Two queries.

    The groups are those of the facts, not Django's copy, which knows neither windows nor late accounts.
    """
    groups = map(django_group_name, groups_of(principal, now or timezone.now()))
    mine = UserDuty.objects.filter(user__principal=principal, permission__codename=duty)
    ours = GroupDuty.objects.filter(group__name__in=list(groups), permission__codename=duty)
    rows = duty_seals.sealed_columns(mine, "user").union(duty_seals.sealed_columns(ours, "group"))
    return frozenset(row.on for row in map(SealedDuty._make, rows) if row.is_sealed)

"""Who has which duty on an object, by a row that the console has sealed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import Principal
from accounts.people import django_group_name, groups_of
from catalog.models import Securable
from catalog.nodes import Node
from policies.decisions.seals import duty_seals
from policies.decisions.seals.duty_seals import SealedDuty
from policies.models import GroupDuty, UserDuty

DUTIES = tuple(code for code, _ in Securable._meta.permissions)


@dataclass(frozen=True)
class HeldDuty:
    """Somebody has a duty on an object, and by that on all below it."""

    holder: Principal
    duty: str
    node: Node


def duties_on(keys: Collection[int] | QuerySet[Any]) -> list[tuple[int, str, Principal]]:
    """Every duty given on some objects: on which, which, to whom.  Three queries."""
    wanted = {"content_object__in": keys}
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
    return [(key, duty, who) for key, duty, who in rows if who is not None and who.is_as_written]


def duties_along(*nodes: Node) -> list[HeldDuty]:
    """Every duty given on an object, or some, and above it, the nearest first.  Three queries."""
    places = {item.id: item for node in nodes for item in (*node.above(), node)}
    given = duties_on({key for node in nodes for key in node.lineage})
    duties = [HeldDuty(principal, duty, places[key]) for key, duty, principal in given if key in places]
    return sorted(
        duties,
        key=lambda held_duty: (
            -len(held_duty.node.levels),
            DUTIES.index(held_duty.duty),
            held_duty.holder.label,
        ),
    )


def has(principal: Principal, duty: str, node: Node, *, now: datetime | None = None) -> bool:
    """Whether the principal has a duty on the object or on anything above it.  Two queries."""
    return not held(principal, duty, now=now).isdisjoint(node.lineage)


def held(principal: Principal, duty: str, *, now: datetime | None = None) -> frozenset[int]:
    """The numbers of the objects on which the principal has a duty.  Two queries.

    The groups are those of the facts, not Django's copy, which knows neither windows nor late accounts.
    """
    if not principal.is_as_written:
        return frozenset()
    groups = map(django_group_name, groups_of(principal, now or timezone.now()))
    mine = UserDuty.objects.filter(user__principal=principal, permission__codename=duty)
    ours = GroupDuty.objects.filter(group__name__in=list(groups), permission__codename=duty)
    rows = duty_seals.sealed_columns(mine, "user").union(duty_seals.sealed_columns(ours, "group"))
    return frozenset(row.on for row in map(SealedDuty._make, rows) if row.is_sealed)

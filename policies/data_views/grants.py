"""The grants of a realm that were true at a revision, whether or not their windows have come."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from catalog.models import Placement
from catalog.nodes import Node, on_or_below
from policies.data_views import objects as data_views_objects
from policies.data_views.pinned import Keys, Pin, Range
from policies.decisions.personal_role_names import is_personal
from policies.models import Assignment, Grant

KEYS = """
SELECT g.id AS key FROM policies_grant g
  LEFT JOIN catalog_securable r ON r.id = g.role_id LEFT JOIN catalog_securable s ON s.id = g.securable_id
 WHERE coalesce(r.realm_id, s.realm_id, g.realm_id) = %(realm)s
   AND g.opened <= %(revision)s AND (g.closed IS NULL OR g.closed > %(revision)s)"""
FILTERS = frozenset({"privilege", "effect", "origin", "holder", "role", "type"})
PLAIN = ("privilege", "effect", "origin")


def rows(
    pin: Pin, seen: Collection[int], within: Range, where: Mapping[str, Collection[str]], limit: int
) -> tuple[list[dict[str, Any]], Keys | None]:
    """A page of grants.  Six queries."""
    rows_ = _within(pin, seen).filter(pk__gt=within.after[0], pk__lte=within.upto)
    rows_ = rows_.filter(_asked(pin, where)).select_related("holder").order_by("pk")
    page = list(rows_[: limit + 1])
    more, page = page[limit - 1].pk if len(page) > limit else None, page[:limit]
    nodes = data_views_objects.named(pin, (item.securable_id for item in page if item.securable_id))
    # for each role its name, or for a personal one whose it is
    places = Placement.objects.as_of(pin.revision).filter(
        securable__in={item.role_id for item in page if item.role_id}
    )
    names = dict(places.values_list("securable", "name"))
    personal = [key for key, name in names.items() if is_personal(name)]
    held = Assignment.objects.as_of(pin.revision).filter(role__in=personal).select_related("holder")
    whose = {row.role_id: str(row.holder) for row in held}
    roles = {key: (None, whose.get(key)) if key in personal else (name, None) for key, name in names.items()}
    return [_row(item, nodes, roles) for item in page], (more,) if more else None


def _within(pin: Pin, seen: Collection[int]) -> QuerySet[Grant]:
    rows = Grant.objects.as_of(pin.revision)
    if pin.root.id in seen:
        return rows.filter(
            Q(securable__realm=pin.realm) | Q(realm=pin.realm) | Q(securable=None, role__realm=pin.realm)
        )
    places = Placement.objects.as_of(pin.revision).filter(on_or_below(seen), securable__realm=pin.realm)
    return rows.filter(securable__in=places.values("securable"))


def _asked(pin: Pin, where: Mapping[str, Collection[str]]) -> Q:
    condition = Q()
    for name in PLAIN:
        if name in where:
            condition &= Q(**{f"{name}__in": where[name]})
    if "type" in where:
        condition &= Q(securable__type__in=where["type"])
    if "role" in where:
        named = [name for name in where["role"] if not is_personal(name)]
        placements = Placement.objects.as_of(pin.revision).filter(
            type="role", name__in=named, scope=pin.root.id
        )
        named_roles = placements.values("securable")
        condition &= Q(role__in=named_roles)
    if "holder" in where:
        held = Assignment.objects.as_of(pin.revision).filter(
            data_views_objects.called("holder", where["holder"])
        )
        personal = Placement.objects.as_of(pin.revision).filter(type="role", name__startswith="~")
        held = held.filter(role__in=personal.values("securable"), role__realm=pin.realm)
        condition &= data_views_objects.called("holder", where["holder"]) | Q(role__in=held.values("role"))
    return condition


def _row(
    grant: Grant, nodes: Mapping[int, Node], roles: Mapping[int, tuple[str | None, str | None]]
) -> dict[str, Any]:
    role, person = roles.get(grant.role_id or 0, (None, None))
    node = nodes.get(grant.securable_id or 0)
    return {
        "holder": str(grant.holder) if grant.holder else person,
        "role": role,
        "privilege": grant.privilege,
        "effect": grant.effect,
        "type": node.type if node else None,
        "object": node.ref.id if node else None,
        "pattern": grant.pattern or None,
        "valid_from": _moment(grant.valid_from),
        "valid_until": _moment(grant.valid_until),
        "origin": grant.origin,
        "since": grant.opened,
    }


def _moment(value: datetime | None) -> str | None:
    return value.isoformat() if value else None

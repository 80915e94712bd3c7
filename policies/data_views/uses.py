"""What jobs told that they used; what is told after the splits were cut is not in them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.db.models import Q

from catalog.models import Placement
from catalog.nodes import on_or_below
from policies.data_views import objects as data_views_objects
from policies.data_views.pinned import Keys, Pin, Range
from policies.models import Use

KEYS = "SELECT u.id AS key FROM policies_use u WHERE u.realm_id = %(realm)s"
FILTERS = frozenset({"principal", "action", "type"})


def rows(
    pin: Pin, seen: Collection[int], within: Range, where: Mapping[str, Collection[str]], limit: int
) -> tuple[list[dict[str, Any]], Keys | None]:
    """A page of uses of what there was at the revision.  Four queries."""
    places = Placement.objects.as_of(pin.revision).filter(securable__realm=pin.realm)
    if pin.root.id not in seen:
        places = places.filter(on_or_below(seen))
    uses = Use.objects.filter(realm=pin.realm, pk__gt=within.after[0], pk__lte=within.upto)
    uses = uses.filter(_asked(where), securable__in=places.values("securable")).select_related("principal")
    page = list(uses.order_by("pk")[: limit + 1])
    more, page = page[limit - 1].pk if len(page) > limit else None, page[:limit]
    nodes = data_views_objects.named(pin, (item.securable_id for item in page))
    rows_ = [
        {
            "principal": str(item.principal),
            "type": nodes[item.securable_id].type,
            "object": nodes[item.securable_id].ref.id,
            "action": item.action,
            "executed": item.executed,
            "at": item.at.isoformat(),
            "run": item.run,
        }
        for item in page
    ]
    return rows_, (more,) if more else None


def _asked(where: Mapping[str, Collection[str]]) -> Q:
    condition = data_views_objects.called("principal", where["principal"]) if "principal" in where else Q()
    if "action" in where:
        condition &= Q(action__in=where["action"])
    return condition & Q(securable__type__in=where["type"]) if "type" in where else condition

"""What concerns the site and no realm alone: everybody it knows, and realms that nobody can run any more."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import QuerySet

from accounts.entering import able
from accounts.models import Principal
from accounts.text import called, holdable
from catalog.models import Placement
from catalog.nodes import Node, nodes
from policies.models import Ownership


def named(kinds: Collection[str], text: str = "") -> QuerySet[Principal]:
    """Everybody of some kinds whom the site knows and whose name holds a text, by name."""
    rows = Principal.objects.filter(kind__in=kinds).order_by("display_name", "name", "pk")
    if not holdable(text):
        return rows.none()
    return rows.filter(called(text)) if text else rows


def locked_out_realms() -> list[tuple[Node, Principal]]:
    """The realms whose owner cannot come in any more, by name, with that owner."""
    tops = Placement.objects.open().filter(parent__isnull=True).values_list("securable", flat=True)
    rows = list(Ownership.objects.open().filter(securable__in=tops).select_related("owner"))
    able_people = able({row.owner_id for row in rows})
    out = {row.securable_id: row.owner for row in rows if row.owner_id not in able_people}
    places = nodes(out)
    return sorted(((places[key], owner) for key, owner in out.items()), key=lambda pair: pair[0].name)

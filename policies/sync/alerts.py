"""Telling who answers for a backend that it waits for him: once, and settled when it no longer does."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Q

from accounts.models import Principal
from catalog.nodes import Node, last
from catalog.queries import nodes
from policies import notices
from policies.models import Backend, BackendFinding, Notice, OutboxEntry, SyncItem, SyncRun
from policies.queries import owner_of
from policies.services import duties

PARKED = notices.kind("sync.parked", "changes of yours that a backend refuses")
HELD = notices.kind("sync.held", "plans of a sync that take so much that somebody must look first")
DUTY = "operate_sync"
NAMED = 20
"""The owners of so many of the objects that a refused step is about are told, besides the catalog's own."""


def look(backend: Backend) -> None:
    """Bring what people were told up to what is true of a backend now."""
    row = Backend.objects.get(pk=backend.pk)
    parked = OutboxEntry.objects.filter(backend=row, parked=True).order_by("pk").values_list("pk", flat=True)
    _say(row, PARKED, parked.first(), "refused what was decided, several times; it waits for you.")
    held = SyncRun.objects.filter(backend=row, state=SyncRun.State.HELD).order_by("-pk")
    first = held.values_list("pk", flat=True).first() if row.state == Backend.State.HELD else None
    _say(row, HELD, first, "has a plan that takes rights from many people; it waits until somebody looks.")


def _say(row: Backend, kind: str, number: int | None, told: str) -> None:
    """While there is a `number` one notice is open; the same trouble is told once, however long it lasts."""
    open_ = Notice.objects.filter(kind=kind, key__startswith=f"{kind}:{row.pk}:", done__isnull=True)
    if number is None:
        notices.settle(*open_.values_list("key", flat=True).distinct())
    elif not open_.exists():
        catalog = last(row.catalog_id)
        if catalog is not None:
            text = f"{row.get_kind_display()} {catalog.name} {told}"
            people = list(dict.fromkeys(_who(row, catalog, kind)))
            notices.tell(people, kind, text, key=f"{kind}:{row.pk}:{number}", link=f"/sync/{row.pk}")


def _who(row: Backend, catalog: Node, kind: str) -> Iterator[Principal]:
    """Who owns the catalog and what the refused steps are about, and who has the duty to run the sync."""
    places = [catalog, *(_refused(row) if kind == PARKED else ())]
    yield from (owner for owner in map(owner_of, places) if owner is not None)
    yield from (one.holder for one in duties.along(catalog) if one.duty == DUTY)


def _refused(row: Backend) -> list[Node]:
    run = SyncRun.objects.filter(backend=row).order_by("-pk").first()
    failed = SyncItem.objects.filter(run=run, state=SyncItem.State.FAILED).order_by("number")
    paths = {path for some in failed.values_list("places", flat=True)[:NAMED] for path in some}
    about = BackendFinding.objects.filter(Q(kind="missing") | Q(kind="extra"), backend=row, place__in=paths)
    keys = about.exclude(securable=None).order_by("securable").values_list("securable", flat=True).distinct()
    found = nodes(set(keys[:NAMED]))
    return [found[key] for key in sorted(found)]

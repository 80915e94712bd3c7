"""Telling who answers for a backend what is wrong with it: once, and settled when it no longer is."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Count, Min
from django.db.models.functions import Coalesce

from accounts.models import Principal
from catalog.nodes import Node, last
from catalog.queries import nodes
from policies import notices
from policies.decisions import duties
from policies.decisions.lookups.visible_objects import owner_of
from policies.models import Backend, Notice, OutboxEntry, SyncRun
from policies.sentences import say, sentence
from policies.services.grants import revision_now
from policies.sync.differences import items

PARKED = notices.kind("sync.parked", "your changes that a backend refuses")
HELD = notices.kind("sync.held", "sync plans with so many removals that they wait for a review")
RESTORED = notices.kind(
    "sync.restored", "backends that only report after the database was restored from a backup"
)
SILENT = notices.kind("sync.silent", "backends that do not answer")
OVERDUE = notices.kind("sync.overdue", "access revoked here but still there in the backend")
AWAITS = notices.kind("sync.awaits", "connections that only report until a site admin agrees")
WHY: dict[str, str] = {
    Backend.Awaits.NEW: sentence(
        "sync.awaits.new",
        "{backend} was connected by someone who does not run this site, so it only reports for now.",
    ),
    Backend.Awaits.MOVED: sentence(
        "sync.awaits.moved",
        "{backend} connects to a different system than before, so it only reports for now.",
    ),
    Backend.Awaits.SHARED: sentence(
        "sync.awaits.shared",
        "{backend} covers a system that another connection already governs, so it only reports for now.",
    ),
}
"""What is told of a connection that a site admin has to agree to."""
REFUSES = sentence("sync.refuses", "{backend} refused a decision several times; it waits for you.")
TAKES_MUCH = sentence(
    "sync.takes_much",
    "{backend} has a plan that revokes rights from many people; it waits for a review.",
)
FROM_A_COPY = sentence(
    "sync.from_a_copy",
    "{backend} only reports, because the console's database was restored from a backup. Decisions are "
    "not applied until someone reviews the plan and chooses Repair.",
)
NO_ANSWER = sentence("sync.no_answer", "{backend} does not answer. Decisions wait until it does.")
NOT_REMOVED = sentence("sync.not_removed", "{backend} has not yet applied a removal decided here.")
DUTY = "operate_sync"
REVOKED_WITHIN = timedelta(seconds=60)
"""What takes access away and is not applied by then is overdue, and told."""
NAMED = 20
"""The owners of so many of the objects that a refused step is about are told, besides the catalog's own."""


def look(backend: Backend) -> None:
    """Bring what people were told up to what is true of a backend now."""
    row = Backend.objects.get(pk=backend.pk)
    parked = OutboxEntry.objects.filter(backend=row, parked=True).order_by("pk").values_list("pk", flat=True)
    stuck = [*items.stuck_orders([row.pk]), *items.stuck_findings([row.pk])]
    first_stuck = min((order.pk for order in stuck), default=None)
    _say(
        row,
        PARKED,
        first_stuck or parked.first(),
        REFUSES,
    )
    held = SyncRun.objects.filter(backend=row, state=SyncRun.State.HELD).order_by("-pk")
    first = held.values_list("pk", flat=True).first() if row.state == Backend.State.HELD else None
    _say(row, HELD, first, TAKES_MUCH)
    now = revision_now()
    _say(
        row,
        RESTORED,
        now if row.restored else None,
        FROM_A_COPY,
    )
    silent = row.state == Backend.State.SILENT
    _say(row, SILENT, now if silent else None, NO_ANSWER)
    _say(row, AWAITS, now if row.awaits else None, WHY.get(row.awaits, ""), link=f"/sync/{row.pk}/agree")


def look_at_overdue(now: datetime) -> None:
    """Tell of revocations that are overdue, and settle what was told of those that were applied since."""
    told_of = Notice.objects.filter(kind=OVERDUE, done__isnull=True).values_list("key", flat=True).distinct()
    open_ = {int(key.split(":")[1]) for key in told_of}
    late = overdue(now)
    for row in Backend.objects.filter(pk__in=open_ | late.keys()).order_by("pk"):
        # who paused it decided so, and what is parked, held or restored is told by itself
        known = row.state in (Backend.State.PAUSED, Backend.State.HELD) or row.restored
        tell = row.pk in late and not known
        _say(row, OVERDUE, revision_now() if tell else None, NOT_REMOVED)


def overdue(now: datetime) -> dict[int, tuple[int, datetime]]:
    """By backend how many decisions that take access away are overdue, and since when the oldest was due."""
    waiting = OutboxEntry.objects.filter(revokes=True, parked=False)
    late = waiting.annotate(first_due=Coalesce("since", "due")).filter(first_due__lt=now - REVOKED_WITHIN)
    rows = late.order_by().values("backend").annotate(many=Count("pk"), oldest=Min("first_due"))
    return {row["backend"]: (row["many"], row["oldest"]) for row in rows}


def _say(row: Backend, kind: str, number: int | None, code: str, *, link: str = "") -> None:
    """While there is a `number` one notice is open; the same trouble is told once, however long it lasts."""
    open_ = Notice.objects.filter(kind=kind, key__startswith=f"{kind}:{row.pk}:", done__isnull=True)
    if number is None:
        notices.settle(*open_.values_list("key", flat=True).distinct())
    elif not open_.exists():
        catalog = last(row.catalog_id)
        if catalog is not None:
            text = say(code, backend=f"{row.get_kind_display()} {catalog.name}")
            people = list(dict.fromkeys(_who(row, catalog, kind)))
            notices.tell(people, kind, text, key=f"{kind}:{row.pk}:{number}", link=link or f"/sync/{row.pk}")


def _who(row: Backend, catalog: Node, kind: str) -> Iterator[Principal]:
    """Who owns the catalog and what the refused steps are about, and who has the duty to run the sync."""
    places = [catalog, *(_refused(row) if kind == PARKED else ())]
    yield from (owner for owner in map(owner_of, places) if owner is not None)
    yield from (duty.holder for duty in duties.duties_along(catalog) if duty.duty == DUTY)
    if kind == AWAITS:
        yield from Principal.objects.filter(kind="user", name__in=settings.LAKEWARDEN_SERVICE_ADMINS)


def _refused(row: Backend) -> list[Node]:
    findings, ordered = items.stuck_findings([row.pk])[:NAMED], items.stuck_orders([row.pk])[:NAMED]
    keys = {int(key) for finding in findings for key in finding.concerns or ()}
    keys |= {finding.securable_id for finding in findings if finding.securable_id}
    keys |= {order.securable_id for order in ordered if order.securable_id}
    places = nodes(keys)
    return [places[key] for key in sorted(places)][:NAMED]

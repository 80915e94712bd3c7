"""What was applied where and when: every run of a backend, and every step that was about one object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Q, QuerySet
from django.db.models.functions import TruncDate
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import words
from authzsite.console.kit.display.charts import DayChart, by_day
from authzsite.console.kit.display.lists import Pager, Toggle
from authzsite.console.kit.display.parts import Crumbs, Empty, StrOrPromise
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.objects.access import get_object_or_404
from authzsite.console.objects.header import ObjectHeader
from authzsite.console.sync.backend import BackendAccess, there
from authzsite.console.sync.runs import Step, lines_of, state_of, step_of
from authzsite.downloads import csv_file
from policies.models import Backend, SyncItem, SyncRun

SHOWN = 50
DAYS = 30
"""So many days are drawn."""
FILTERS: dict[str, tuple[StrOrPromise, Q]] = {
    "did": (gettext_lazy("Changed something"), Q(done__gt=0)),
    "wrong": (gettext_lazy("Went wrong"), Q(state__in=("failed", "unproved")) | ~Q(errors=[])),
    "held": (gettext_lazy("Held"), Q(state="held")),
}


@reads
@login_required
def runs(request: Request, id: int) -> HttpResponse:
    """The runs that are kept, the newest first."""
    backend_access = there(request, id)
    state, rows = _runs(request, backend_access)
    run_rows, pager = _page(rows, request, state, "run")
    csv = reverse("console:sync_runs_csv", args=[id]) + (f"?{urlencode({'s': state})}" if state else "")
    every = Toggle(gettext("All"), "?", not state)
    toggles = (every, *(Toggle(word, f"?s={code}", state == code) for code, (word, _) in FILTERS.items()))
    backend = reverse("console:sync_backend", args=[backend_access.row.pk])
    context = {
        "heading": gettext("Runs of %(name)s") % {"name": backend_access.name},
        "lead": gettext("Each comparison: what was read, planned, done, and proved by reading again."),
        "crumbs": Crumbs(((gettext("Sync"), reverse("console:sync")), (backend_access.name, backend))),
        "toggles": toggles,
        "runs": lines_of(run_rows),
        "health": _health(backend_access.row),
        "runs_pager": replace(pager, csv=csv),
        "no_runs": Empty(
            gettext("No run matches") if state else gettext("It was not compared yet"), drawn=False
        ),
    }
    node = backend_access.place.node
    return page(request, "console/sync/runs.html", context, section="sync", realm=node.realm)


def _health(row: Backend) -> DayChart | None:
    """The comparisons of each of the last days, and how many of them went wrong in one query."""
    today = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    days = [today - timedelta(days=back) for back in range(DAYS - 1, -1, -1)]
    runs_by_day = SyncRun.objects.filter(backend=row, started__gte=days[0]).annotate(day=TruncDate("started"))
    counted = runs_by_day.values("day").annotate(
        many=Count("pk"), bad=Count("pk", filter=FILTERS["wrong"][1])
    )
    many = {line["day"]: (line["many"], line["bad"]) for line in counted.order_by("day")}
    lines = [many.get(day.date(), (0, 0)) for day in days]
    return by_day(
        gettext("Comparisons by day"),
        [(day, line[0]) for day, line in zip(days, lines, strict=True)],
        head=gettext("Comparisons"),
        wrong=[line[1] for line in lines],
    )


def _runs(request: Request, backend_access: BackendAccess) -> tuple[str, QuerySet[SyncRun]]:
    """The filter that the address names, and the runs of a backend that fit it.  Raises Http404."""
    if not backend_access.may_look:
        raise Http404
    state = request.GET.get("s", "") if request.GET.get("s", "") in FILTERS else ""
    rows = SyncRun.objects.filter(backend=backend_access.row)
    return state, rows.filter(FILTERS[state][1]) if state else rows


@reads
@login_required
def runs_csv(request: Request, id: int) -> HttpResponseBase:
    """The same runs to their end."""
    backend_access = there(request, id)
    _, rows = _runs(request, backend_access)
    head = ["backend", "run", "started", "ended", "state", "revision", "steps", "done", "removals", "removed"]
    lines = _csv_rows(backend_access.name, rows.order_by("-pk").iterator(csv_file.CHUNK))
    return csv_file.answer(f"runs-{id}", [*head, "errors"], lines)


def _csv_rows(name: str, rows: Iterable[SyncRun]) -> Iterator[list[object]]:
    for run in rows:
        when = (csv_file.moment(run.started), csv_file.moment(run.ended))
        counts = (run.total, run.done, run.removals, run.removed)
        errors = "; ".join(map(str, run.errors))
        yield [name, run.pk, *when, state_of(run).word, run.revision, *counts, errors]


def _page(rows: QuerySet[Any], request: Request, state: str, what: str) -> tuple[list[Any], Pager]:
    """Newest first, from behind the one that the address names."""
    before = number_in(request.GET.get("before", ""))
    older = rows.filter(pk__lt=before) if before else rows
    rows_ = list(older.order_by("-pk")[: SHOWN + 1])
    shown = rows_[:SHOWN]
    kept = {"s": state} if state else {}
    more = f"?{urlencode({**kept, 'before': shown[-1].pk})}" if len(rows_) > SHOWN else ""
    text = gettext("%(shown)s, newest first") % {"shown": words.count(len(shown), what)}
    return shown, Pager(text, f"?{urlencode(kept)}" if before else "", more)


@dataclass(frozen=True)
class Applied:
    """One step that was about an object, and the run that it was part of."""

    when: str
    run: str
    step: Step


@reads
@login_required
def on_object(request: Request, id: int) -> HttpResponse:
    """What was given and taken on one object in its backend, step by step."""
    place = get_object_or_404(request, id)
    head = ObjectHeader(place, "object_sync")
    if head.there is None or not place.may_look:
        raise Http404
    row = head.there.row
    steps = SyncItem.objects.filter(
        run__backend=row, places__contains=[place.node.path_below(row.catalog_id)]
    )
    steps = steps.exclude(state=SyncItem.State.PLANNED)
    rows, pager = _page(steps.select_related("run"), request, "", "step")
    opens = _opens(request, row.pk)
    context = {
        **head.context(),
        "applied": [_applied(item, row, opens=opens) for item in rows],
        "pager": pager,
        "back": reverse("console:object_sync", args=[id]),
        "nothing": Empty(
            gettext("Nothing was applied here"), gettext("The changes in its backend will be listed here.")
        ),
    }
    node = place.node
    return page(request, "console/objects/applied.html", context, section="catalog", realm=node.realm)


def _opens(request: Request, backend: int) -> bool:
    try:
        return there(request, backend).may_look
    except Http404:
        return False


def _applied(item: SyncItem, row: Backend, *, opens: bool) -> Applied:
    """One step; its run is a link where the whole backend may be looked at."""
    when = words.moment(item.at or item.run.started)
    return Applied(when, reverse("console:sync_run", args=[item.run_id]) if opens else "", step_of(item, row))

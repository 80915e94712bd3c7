"""The pipelines: what each is for, its last good result, how a run goes on, and all runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from django.db.models import Q, QuerySet
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRefresh

from authzsite.console.accounts import site_admins
from authzsite.console.insights import runs
from authzsite.console.insights.access import STARTERS, Watched, actor, place, refused, watched, watched_run
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import words
from authzsite.console.kit.display.lists import Pager
from authzsite.console.kit.display.parts import Crumbs, Empty, Reason
from authzsite.console.kit.http import Request, asker_of, number_in, numbers_in
from authzsite.console.kit.methods import reads, writes
from authzsite.console.kit.page import page, say
from authzsite.downloads import csv_file
from policies.analytics.pipelines import control, known
from policies.errors import Conflict, Invalid, Refused
from policies.models import PipelineRun
from policies.services.grants import revision_now

SHOWN = 20
WATCHED = 20
"""So many runs at once are looked at for a page."""


@reads
@login_required
def pipeline_list(request: Request) -> HttpResponse:
    """Every pipeline of every realm that one looks after, what goes on, and what went on before."""
    places = watched(asker_of(request))
    by_realm = {item.realm_id: item for item in places}
    mine = _of(by_realm)
    current = list(mine.filter(state__in=runs.GOING)[:WATCHED])
    shown, pager = _page_of(mine, number_in(request.GET.get("before", "")))
    context: dict[str, Any] = {
        "heading": _("Pipelines"),
        "lead": _("Jobs over whole realms: how much each person can access, and which access is not needed."),
        **runs.watching(current, by_realm),
        "realms": runs.offered(places),
        "reason": _no_start(places),
        "runs": runs.lines(shown, by_realm),
        "runs_pager": replace(pager, csv=reverse("console:pipeline_runs_csv")),
        "no_runs": Empty(
            _("Nothing has run yet"), _("They run each night, and when someone starts one."), drawn=False
        ),
        "nothing": Empty(
            _("You don’t have access to scheduled jobs"),
            _("A realm's owner, its reviewers and site admins can see the jobs of a realm."),
            level=2,
        ),
    }
    return page(
        request, "console/insights/pipelines.html", context, section="pipelines", revision=revision_now()
    )


def _of(by_realm: dict[int | None, Watched]) -> QuerySet[PipelineRun]:
    return control.runs([key for key in by_realm if key is not None], site=None in by_realm)


def _no_start(places: list[Watched]) -> Reason | None:
    if all(item.starts for item in places):
        return None
    return Reason("why-not-start", str(STARTERS))


def _page_of(mine: QuerySet[PipelineRun], before: int | None) -> tuple[list[PipelineRun], Pager]:
    last = mine.filter(pk=before).first() if before else None
    if last is not None:
        mine = mine.filter(Q(asked__lt=last.asked) | Q(asked=last.asked, pk__lt=last.pk))
    rows = list(mine[: SHOWN + 1])
    shown = rows[:SHOWN]
    next_ = f"?before={shown[-1].pk}" if len(rows) > SHOWN else ""
    return shown, Pager(
        _("%(shown)s, newest first") % {"shown": words.count(len(shown), "run")}, "?" if last else "", next_
    )


@reads
@login_required
def as_csv(request: Request) -> HttpResponseBase:
    """Every run that the viewer may see, to the oldest."""
    by_realm = {item.realm_id: item for item in watched(asker_of(request))}
    head = ["pipeline", "over", "asked for", "by", "revision", "state", "started", "ended", "trouble"]
    rows = _of(by_realm).iterator(csv_file.CHUNK)
    return csv_file.answer("pipeline-runs", head, _csv_rows(rows, by_realm))


def _csv_rows(rows: Iterable[PipelineRun], places: Mapping[int | None, Watched]) -> Iterator[list[object]]:
    for some in csv_file.chunks(rows):
        names = runs.askers(some)
        for row in some:
            by, state = names.get(row.by, runs.ERASED), runs.state_of(row).word
            what = (known.get(row.name).label, places[row.realm_id].name, csv_file.moment(row.asked), by)
            when = (csv_file.moment(row.started), csv_file.moment(row.ended))
            yield [*what, row.revision, state, *when, row.trouble]


@reads
@login_required
def progress(request: Request) -> HttpResponse:
    """How far the named runs are: a part of a page, asked for again while one goes on."""
    by_realm = {item.realm_id: item for item in watched(asker_of(request))}
    run_ids = numbers_in(request.GET.getlist("run"))[:WATCHED]
    shown = runs.watching(_of(by_realm).filter(pk__in=run_ids), by_realm)
    if request.htmx and not shown["progress_url"]:
        return HttpResponseClientRefresh()  # what may be done about it is another now
    return render(request, "console/insights/progress.html", shown)


@reads
@login_required
def run(request: Request, id: int) -> HttpResponse:
    """One run: how far it is, what went wrong, where its result is."""
    where, row = watched_run(asker_of(request), id)
    context: dict[str, Any] = {
        "heading": runs.title(row, where.name),
        "lead": _(known.get(row.name).about),
        "crumbs": Crumbs(((_("Pipelines"), reverse("console:pipelines")),)),
        "actions": runs.see(row, where),
        "facts": runs.facts(row),
        **runs.watching([row], {row.realm_id: where}),
        "row": row,
        "place": where.root.id if where.root else "",
        "again": row.state in ("failed", "stopped"),
        "stops": row.state in runs.GOING,
        "starts": where.starts,
        "reason": None if where.starts else _no_start([where]),
    }
    realm = where.root.name if where.root else ""
    return page(
        request,
        "console/insights/run.html",
        context,
        section="pipelines",
        realm=realm,
        revision=revision_now(),
    )


@writes
@login_required
def start(request: Request) -> HttpResponse:
    """Ask for a run of the realm as it is now; what waits or is fresh is not asked for twice."""
    realm_text = request.POST.get("realm", "")
    number = number_in(realm_text)
    if realm_text and number is None:
        raise Http404
    ward = place(request, number)
    try:
        known.get(request.POST.get("name", ""))
        row = control.ask(request.POST["name"], ward.root if ward else None, by=actor(asker_of(request)))
    except Invalid as unknown:
        raise Http404 from unknown
    except Refused as problem:
        if ward is None:
            heading = _("You cannot run pipelines over the whole site")
            return site_admins.refused(
                request, heading, back=reverse("console:pipelines"), back_words=_("Pipelines")
            )
        heading = _("You cannot run pipelines over %(name)s") % {"name": ward.root.name}
        return refused(
            request,
            ward,
            heading,
            _("%(problem)s It is %(owner_words)s.") % {"problem": problem, "owner_words": ward.owner_words()},
        )
    say(request, _summary(row))
    return redirect("console:pipeline_run", id=row.pk)


def _summary(row: PipelineRun) -> str:
    label = _(known.get(row.name).label)
    if row.state == "done":
        return _("%(label)s was calculated %(ago)s; nothing has changed since") % {
            "label": label,
            "ago": words.ago(row.ended or row.asked),
        }
    return (
        _("%(label)s is requested") % {"label": label}
        if row.state == "waiting"
        else _("%(label)s is under way") % {"label": label}
    )


@writes
@login_required
def stop(request: Request, id: int) -> HttpResponse:
    """Stop a run that waits or goes on."""
    where, row = watched_run(asker_of(request), id)
    try:
        control.stop(row.pk, by=actor(asker_of(request)))
    except Refused as problem:
        ward = place(request, where.root.id if where.root else None)
        if ward is None:
            raise Http404 from problem
        return refused(
            request,
            ward,
            _("You cannot stop pipelines over %(name)s") % {"name": ward.root.name},
            str(problem),
        )
    except Conflict as late:
        say(request, str(late))
    else:
        say(
            request,
            _("%(label)s is stopped; the last good result stays") % {"label": _(known.get(row.name).label)},
        )
    return redirect("console:pipeline_run", id=id)

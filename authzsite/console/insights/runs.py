"""Runs of pipelines in words: how far, how long yet, what went wrong, who asked, what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Principal
from authzsite.console.insights.access import Watched
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Fact, Facts, State
from policies.analytics.pipelines import control, known, step_words
from policies.analytics.pipelines.definition import Pipeline
from policies.authority import OPERATOR, SYSTEM
from policies.models import PipelineRun
from policies.models.pipelines import RUNS

MARKS = {"waiting": "behind", "running": "behind", "done": "ok", "failed": "failed", "stopped": "paused"}
GOING = ("waiting", "running")
ERASED = gettext_lazy("an erased person")


@dataclass(frozen=True)
class RunProgress:
    """A run that is watched: a number while it goes on, and how it ended."""

    id: int
    name: str
    url: str
    state: State
    ended: bool
    percent: int
    text: str
    left: str
    trouble: str
    result: str


@dataclass(frozen=True)
class RunLine:
    name: str
    url: str
    realm: str
    when: str
    by: str
    took: str
    revision: str
    state: State
    trouble: str


@dataclass(frozen=True)
class Offered:
    """One pipeline in one realm: its last good result, what goes on, and the way to start it."""

    pipeline: Pipeline
    where: Watched
    good: str
    age: str
    result: str
    last: RunLine | None
    going: str

    @property
    def label(self) -> str:
        return _(self.pipeline.label)

    @property
    def about(self) -> str:
        return _(self.pipeline.about)

    @property
    def number(self) -> int | str:
        return self.where.root.id if self.where.root else ""


def state_of(row: PipelineRun) -> State:
    return State(MARKS[row.state], _(RUNS.words[row.state]).capitalize())


def title(row: PipelineRun, where: str) -> str:
    """Effective access of demo."""
    return _("%(label)s of %(where)s") % {
        "label": _(known.get(row.name).label),
        "where": terms.lower(where) if row.realm_id is None else where,
    }


def result_of(name: str, where: Watched) -> str:
    """The page of what a pipeline finds; empty where it has none of its own."""
    if where.root is None:
        return ""
    if name == "effective_access":
        return reverse("console:overview_realm", args=[where.root.id])
    if name == "unused_grants":
        return f"{reverse('console:hints')}?{urlencode({'in': where.root.id})}"
    if name == "archive":
        return f"{reverse('console:history_archive')}?{urlencode({'realm': where.root.name})}"
    if name == "drift":
        return reverse("console:sync")
    return ""


def going(row: PipelineRun, where: Watched, last: timedelta | None = None) -> RunProgress:
    percent = 100 * row.done // row.total if row.total else 0
    return RunProgress(
        row.pk,
        title(row, where.name),
        reverse("console:pipeline_run", args=[row.pk]),
        state_of(row),
        row.state not in GOING,
        percent,
        _text(row),
        left(row, last),
        row.trouble,
        result_of(row.name, where) if row.state == "done" else "",
    )


def watching(rows: Iterable[PipelineRun], places: Mapping[int | None, Watched]) -> dict[str, Any]:
    """What the part that follows runs is drawn from; without an address when none of them goes on."""
    rows = list(rows)
    last = control.lasted(rows)
    watched = [going(row, places[row.realm_id], last.get((row.name, row.realm_id))) for row in rows]
    query = urlencode([("run", item.id) for item in watched])
    alive = any(not item.ended for item in watched)
    return {
        "going": watched,
        "progress_url": f"{reverse('console:pipeline_progress')}?{query}" if alive else "",
    }


def _text(row: PipelineRun) -> str:
    if row.state == "waiting":
        return _("A worker starts it when the realm is free; requested %(asked)s") % {
            "asked": words.ago(row.asked)
        }
    step = step_words.in_readers_language(row.step)
    return step[:1].upper() + step[1:]


def left(row: PipelineRun, last: timedelta | None = None) -> str:
    """about 40 s left; empty where nothing can be said yet."""
    remaining = control.left(row, last)
    return _("about %(time)s left") % {"time": spell(remaining)} if remaining is not None else ""


def spell(time: timedelta) -> str:
    """under a second; 40 s; 3 min; 2 h."""
    seconds = round(time.total_seconds())
    if seconds < 1:
        return _("under a second")
    if seconds < 120:
        return _("%(number)s s") % {"number": seconds}
    return (
        _("%(round)s min") % {"round": round(seconds / 60)}
        if seconds < 7200
        else _("%(number)s h") % {"number": round(seconds / 3600)}
    )


def lines(rows: Sequence[PipelineRun], places: Mapping[int | None, Watched]) -> list[RunLine]:
    """Runs as lines, with the names of who asked for them.  One query."""
    names = askers(rows)
    return [_line(row, places[row.realm_id], names) for row in rows if row.realm_id in places]


def askers(rows: Iterable[PipelineRun]) -> dict[str, str]:
    principals = Principal.objects.filter(pseudonym__in={row.by for row in rows})
    names = {item.pseudonym: item.label for item in principals}
    return {
        **names,
        SYSTEM.pseudonym: _("schedule, each night"),
        OPERATOR.pseudonym: _("an operator’s shell"),
    }


def _line(row: PipelineRun, where: Watched, names: Mapping[str, str]) -> RunLine:
    return RunLine(
        _(known.get(row.name).label),
        reverse("console:pipeline_run", args=[row.pk]),
        where.name,
        words.moment(row.asked),
        names.get(row.by) or str(ERASED),
        spell(row.ended - row.started) if row.ended and row.started and row.ended >= row.started else "",
        words.number(row.revision),
        state_of(row),
        row.trouble,
    )


def offered(places: Sequence[Watched]) -> list[tuple[Watched, list[Offered]]]:
    """Every pipeline of every realm.  Three queries."""
    rows = PipelineRun.objects.order_by("name", "realm", "-revision", "-asked").distinct("name", "realm")
    good = {(row.name, row.realm_id): row for row in rows.filter(state="done")}
    latest = PipelineRun.objects.order_by("name", "realm", "-asked", "-pk").distinct("name", "realm")
    last = {(row.name, row.realm_id): row for row in latest}
    names = askers(last.values())
    pipeline_offers = []
    for where in places:
        some = [item for item in known.every() if item.of_site == (where.root is None)]
        keys = [(item, (item.name, where.realm_id)) for item in some]
        offers = [_offered(pipeline, where, good.get(key), last.get(key), names) for pipeline, key in keys]
        pipeline_offers.append((where, offers))
    return [(where, offers) for where, offers in pipeline_offers if offers]


def _offered(
    pipeline: Pipeline,
    where: Watched,
    good: PipelineRun | None,
    last: PipelineRun | None,
    names: Mapping[str, str],
) -> Offered:
    return Offered(
        pipeline,
        where,
        _("Revision %(revision)s") % {"revision": words.number(good.revision)} if good else "",
        words.ago(good.ended) if good and good.ended else "",
        result_of(pipeline.name, where) if good else "",
        _line(last, where, names) if last else None,
        reverse("console:pipeline_run", args=[last.pk]) if last and last.state in GOING else "",
    )


def facts(row: PipelineRun) -> Facts:
    took = row.ended - row.started if row.ended and row.started else None
    by = askers([row]).get(row.by, "")
    where = row.master or (
        _("The console’s own database") if row.state == "done" else _("Known when it starts")
    )
    facts_ = [
        *([] if row.state in GOING else [Fact(_("State"), state=state_of(row))]),
        Fact(_("Revision"), words.number(row.revision)),
        Fact(_("Requested"), words.moment(row.asked), note=_("by %(by)s") % {"by": by} if by else ""),
        Fact(_("Runs on"), where),
        Fact(_("Started"), words.count(row.attempts, "time") if row.attempts else _("Not yet")),
    ]
    if took is not None and took >= timedelta():
        facts_.append(
            Fact(
                _("Took"),
                spell(took),
                note=_("ended %(ended)s") % {"ended": words.ago(row.ended)} if row.ended else "",
            )
        )
    return Facts(tuple(facts_))


def see(row: PipelineRun, where: Watched) -> list[Action]:
    """The way to what it found."""
    url = result_of(row.name, where) if row.state == "done" else ""
    return [Action(_("See what it found"), url, "primary")] if url else []

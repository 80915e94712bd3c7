"""Runs of a sync: how far one is, what each step did, what failed in the backend's own words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, IntegerField, Value, When
from django.http import Http404
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as noop

from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Empty, State
from authzsite.console.sync.backend_state import right_word
from authzsite.console.sync.drift.stuck_reasons import what_next
from policies.models import Backend, SyncItem, SyncRun
from policies.sync.runs.progress import KEPT_RIGHTS

STEPS, RIGHTS = 100, 4
NAMELESS = {
    "personal role": noop("a personal role"),
    "resolved rights": noop("a role of combined rights"),
    "a role no longer needed": noop("a role no longer needed"),
}
"""What is stored of roles in a backend that bear no name of a role here."""
_STATES = {
    SyncRun.State.RUNNING: ("behind", noop("Running")),
    SyncRun.State.PROVED: ("ok", noop("Proved")),
    SyncRun.State.UNPROVED: ("behind", noop("Not yet equal")),
    SyncRun.State.SHOWN: ("paused", noop("Not applied")),
    SyncRun.State.HELD: ("paused", noop("Held")),
    SyncRun.State.FAILED: ("failed", noop("Failed")),
}
_ITEMS = {
    SyncItem.State.PLANNED: ("unknown", noop("Planned")),
    SyncItem.State.DONE: ("ok", noop("Done")),
    SyncItem.State.FAILED: ("failed", noop("Failed")),
}


@dataclass(frozen=True)
class RunProgress:
    """A run that goes on: how much of it is done, and how long it will take."""

    name: str
    done: int
    total: int
    text: str
    left: str
    removals: str


@dataclass(frozen=True)
class RunLine:
    when: str
    url: str
    what: str
    removals: str
    state: State


@dataclass(frozen=True)
class Step:
    """One step in words; `retry` is the address that tries it again alone."""

    state: State
    text: str
    note: str
    takes: bool
    retry: str = ""


def going(run: SyncRun, row: Backend) -> RunProgress | None:
    """The run in progress; None when it has ended."""
    if run.state != SyncRun.State.RUNNING or not run.total:
        return None
    done = _("%(done)s of %(total)s applied") % {
        "done": words.number(run.done),
        "total": words.number(run.total),
    }
    removals = _("%(removed)s of %(removals)s") % {
        "removed": words.number(run.removed),
        "removals": words.number(run.removals),
    }
    return RunProgress(
        _("Applying to %(row)s") % {"row": row}, run.done, run.total, done, _left(run), removals
    )


def _left(run: SyncRun) -> str:
    """about 40 s left, by the pace so far."""
    if not run.done:
        return ""
    elapsed = (timezone.now() - run.started).total_seconds()
    seconds = round(elapsed / run.done * (run.total - run.done))
    return (
        _("about %(seconds)s s left") % {"seconds": seconds}
        if seconds < 120
        else _("about %(round)s min left") % {"round": round(seconds / 60)}
    )


def state_of(run: SyncRun) -> State:
    kind, word = _STATES[SyncRun.State(run.state)]
    return State(kind, _(word))


def run_lines(row: Backend, many: int) -> list[RunLine]:
    """The last runs, those that had something to do or to say."""
    return lines_of(SyncRun.objects.filter(backend=row).order_by("-pk")[:many])


def lines_of(rows: Iterable[SyncRun]) -> list[RunLine]:
    return [
        RunLine(
            words.moment(run.started),
            reverse("console:sync_run", args=[run.pk]),
            _progress(run),
            _("%(removed)s of %(removals)s")
            % {"removed": words.number(run.removed), "removals": words.number(run.removals)}
            if run.removals
            else _("None"),
            state_of(run),
        )
        for run in rows
    ]


def _progress(run: SyncRun) -> str:
    if not run.total:
        return _("Nothing to do")
    if not run.done:
        return _("%(total)s planned") % {"total": words.count(run.total, "step")}
    return _("Applied %(applied)s of %(total)s") % {
        "applied": words.number(run.applied),
        "total": words.number(run.total),
    }


def _progress_inside(run: SyncRun) -> str:
    """The same within a sentence."""
    if not run.total:
        return _("nothing to do")
    if not run.done:
        return _progress(run)
    return _("applied %(applied)s of %(total)s") % {
        "applied": words.number(run.applied),
        "total": words.number(run.total),
    }


def steps_of(run: SyncRun, row: Backend, *, may_retry: bool = False) -> list[Step]:
    """The steps of a run: what failed first, then what takes, then the rest in their order."""
    first = Case(
        When(state=SyncItem.State.FAILED, then=Value(0)),
        When(removes__gt=0, then=Value(1)),
        default=Value(2),
        output_field=IntegerField(),
    )
    items = run.items.annotate(first=first).order_by("first", "number")[:STEPS]
    return [step_of(item, row, may_retry=may_retry) for item in items]


def step_of(item: SyncItem, row: Backend, *, may_retry: bool = False) -> Step:
    kind, word = _ITEMS[SyncItem.State(item.state)]
    note = ""
    if item.error:
        note = _("%(system)s answered: %(error)s") % {"system": row.get_kind_display(), "error": item.error}
        note = f"{note} {what_next(item.error_kind)}"
    failed = item.state == SyncItem.State.FAILED
    retry = reverse("console:sync_retry", args=[item.run_id, item.pk]) if failed and may_retry else ""
    return Step(State(kind, _(word)), _step_words(item), note.strip(), item.removes > 0, retry)


def _step_words(item: SyncItem) -> str:
    """Take Read on sales.orders from role sales_read; ana joins role browse."""
    role = _role(item.label or item.role)
    what: dict[str, Any] = item.what
    rights = _rights(what.get("rights", ()), what.get("many", 0))
    sentences = {
        "make_role": _("Create %(role)s") % {"role": role},
        "drop_role": _("Drop %(role)s") % {"role": role},
        "give": _("Grant %(rights)s to %(role)s") % {"rights": rights, "role": role},
        "take": _("Revoke %(rights)s from %(role)s") % {"rights": rights, "role": role},
        "take_foreign": _("Revoke %(rights)s from %(person)s, granted by %(part)s")
        % {"rights": rights, "person": item.person, "part": what.get("grantor") or _("someone")},
    }
    return sentences.get(item.step) or _moves(item.person, what.get("joins", ()), what.get("leaves", ()))


def _role(label: str) -> str:
    """A stored name of a role in the reader's language: role sales_read; a personal role."""
    if label in NAMELESS:
        return _(NAMELESS[label])
    kind, _space, name = label.partition(" ")
    return _("role %(name)s") % {"name": name} if kind == "role" and name else label


def _moves(person: str, joins: Sequence[str], leaves: Sequence[str]) -> str:
    phrases = (
        [_("joins %(joins)s") % {"joins": words.listed([_role(label) for label in joins], 5)}]
        if joins
        else []
    )
    phrases += (
        [_("leaves %(leaves)s") % {"leaves": words.listed([_role(label) for label in leaves], 5)}]
        if leaves
        else []
    )
    return f"{person} {words.listed(phrases)}"


def _rights(rights: Iterable[Sequence[str]], many: int) -> str:
    by_place: dict[str, list[str]] = {}
    for kind, place, right in rights:
        by_place.setdefault(place, []).append(terms.lower(right_word(right, kind)))
    phrases = [
        _("%(rights)s on %(place)s") % {"rights": listed, "place": place} if place else listed
        for place, listed in (
            (place, words.listed(list(dict.fromkeys(names)))) for place, names in by_place.items()
        )
    ]
    if many <= KEPT_RIGHTS:
        return words.listed(phrases, RIGHTS)
    shown = {"shown": ", ".join(phrases[:RIGHTS]), "many": words.count(many, "right")}
    return _("%(shown)s and others, %(many)s in all") % shown


def run_page(run: SyncRun, row: Backend, *, may_retry: bool) -> dict[str, Any]:
    """One run: when, how much, what failed, and its steps."""
    ended = (
        _("ended %(ended)s") % {"ended": words.moment(run.ended, within=True)} if run.ended else _("going on")
    )
    more = max(0, run.items.count() - STEPS)
    return {
        "heading": _("Run of %(started)s") % {"started": words.moment(run.started, within=True)},
        "lead": _("%(row)s; %(told)s; %(ended)s; at revision %(revision)s.")
        % {
            "row": row,
            "told": _progress_inside(run),
            "ended": ended,
            "revision": words.number(run.revision),
        },
        "state": state_of(run),
        "errors": list(run.errors),
        "steps": steps_of(run, row, may_retry=may_retry),
        "more": _("%(more)s not shown") % {"more": words.count(more, "more step")} if more else "",
        "nothing": Empty(_("Nothing to do"), _("Both sides matched."), drawn=False),
        "going": going(run, row),
        "progress_url": reverse("console:sync_progress", args=[row.pk]),
    }


def run_or_404(id: int) -> SyncRun:
    """The run of that number.  Raises Http404."""
    run = SyncRun.objects.filter(pk=id).select_related("backend").first()
    if run is None:
        raise Http404
    return run

"""Beside a plan whose effect takes a worker: how far that is, followed without reload, and its result."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from accounts.models import Principal
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Count, Note, Tally
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.methods import reads
from authzsite.console.kit.replay import ReplaySection, section_of
from policies.calculations import asking
from policies.calculations.results import effect_of
from policies.errors import Gone, NotFound, PolicyError
from policies.models import Calculation
from policies.policy_files.effects import Effects
from policies.simulation.difference import Totals


@dataclass(frozen=True)
class EffectSection:
    """One effect on a page: while it is worked out a note and its progress, then totals and the replay."""

    note: Note | None = None
    number: int = 0
    percent: int = 0
    text: str = ""
    going: bool = False
    tally: Tally | None = None
    replay: ReplaySection | None = None


def ask(effects: Effects, asker: Principal) -> EffectSection:
    """Have it worked out, or see how far that is."""
    try:
        return _section(effects.ask(by=asker))
    except PolicyError as problem:
        return EffectSection(Note("warn", _("The effect on people is not calculated."), str(problem)))


@reads
@login_required
def progress(request: Request, id: int) -> HttpResponse:
    """The section again, for a page that follows it."""
    try:
        effect = _section(asking.get(id, asker_of(request)))
    except NotFound:
        raise Http404 from None
    except Gone as problem:
        effect = EffectSection(Note("warn", _("Preview again."), str(problem)), number=id)
    return render(request, "console/kit/effect.html", {"effect": effect})


def _section(row: Calculation) -> EffectSection:
    if row.state == "done":
        effect = effect_of(row)
        replay = section_of([effect.replay]) if effect.replay is not None else None
        return EffectSection(number=row.pk, tally=_tally(effect.totals), replay=replay)
    if row.state == "failed":
        note = Note("bad", _("The effect on people is not calculated."), _(row.trouble))
        return EffectSection(note, row.pk)
    return EffectSection(_waiting_note(row), row.pk, row.percent, _progress_text(row), going=True)


def _waiting_note(row: Calculation) -> Note:
    strong = _("This change affects many people or objects. Its effect is calculated in the background.")
    if not asking.is_somebody_there():
        text = _("No worker has reported for a minute. The calculation begins as soon as one runs.")
        return Note("warn", strong, text)
    return Note("", strong, _("You can leave this page. The result stays until the realm changes."))


def _progress_text(row: Calculation) -> str:
    if row.state == "waiting" and (behind := asking.waits_behind(row)):
        return _("Waits behind %(many)s.") % {"many": words.count(behind, "calculation")}
    if not row.progress_at:
        return _("It has not begun yet.") if row.state == "waiting" else _("It has just begun.")
    return _("%(done)s of %(total)s decisions, %(when)s") % {
        "done": words.number(row.done),
        "total": words.number(row.total),
        "when": words.ago(row.progress_at),
    }


def _tally(totals: Totals) -> Tally:
    counted = (
        (totals.people_losing, words.outcome("lose", totals.people_losing), "lose"),
        (totals.people_gaining, words.outcome("gain", totals.people_gaining), "gain"),
        (totals.objects_losing, _("objects for fewer people"), "lose"),
        (totals.objects_gaining, _("objects for more people"), "gain"),
    )
    return Tally(tuple(Count(words.number(many), label, kind) for many, label, kind in counted))

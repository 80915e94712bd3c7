"""One request: how far it has come, each decision, what was given, and is it there in each backend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import (
    Action,
    Chip,
    Crumbs,
    Fact,
    Facts,
    Moment,
    Note,
    State,
    Timeline,
)
from authzsite.console.kit.forms import PLAIN, ConsoleForm, ReasonField, TextField
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.requests import rows as requests_rows
from authzsite.console.requests.plan_section import section_of
from policies.errors import NotFound
from policies.models import RequestPart, RequestStep, RequestWant
from policies.models.requests import GRANTED, WAITING
from policies.requests import outcomes, provisioning, rules, visibility
from policies.requests.provisioning import BackendProgress
from policies.requests.visibility import VisibleRequest
from policies.sentences import either
from policies.services.grants import revision_now

NAMED = 4
NOT_TOLD = gettext_lazy("An approver")
"""Who decides, in the words for a viewer who may not know what is there or that others are asked."""
SAID = {
    "asked": gettext_lazy("%(who)s made the request"),
    "asked_back": gettext_lazy("%(who)s asked a question"),
    "answered": gettext_lazy("%(who)s answered"),
    "approved": gettext_lazy("%(who)s approved"),
    "approved_less": gettext_lazy("%(who)s approved less"),
    "refused": gettext_lazy("%(who)s refused"),
    "withdrawn": gettext_lazy("%(who)s withdrew it"),
    "lapsed": gettext_lazy("Nobody decided in time, so it lapsed"),
    "escalated": gettext_lazy("Nobody had decided, so the next level was asked"),
    "given": gettext_lazy("It was granted"),
    "applied": gettext_lazy("%(who)s applied it"),
    "reopened": gettext_lazy("An approval was opened again"),
    "proved": gettext_lazy("It was read back"),
    "stuck": gettext_lazy("Something stands in the way"),
}
MARKS = {
    "approved": "gain",
    "approved_less": "gain",
    "given": "gain",
    "applied": "gain",
    "refused": "lose",
    "proved": "gain",
}


@dataclass(frozen=True)
class Decision:
    """One decision that the request needs: what it is about, how it stands, who makes or made it, and why."""

    number: int
    what: str
    state: State
    who: str
    when: str
    why: str
    escalates: str
    mine: bool


@dataclass(frozen=True)
class GivenRow:
    """One thing that was asked for and what has become of it."""

    what: str
    state: State
    window: Chip | None
    lead: str


class WithdrawForm(ConsoleForm):
    """Why it is taken back."""

    reason = ReasonField(
        label=gettext_lazy("Reason (optional)"),
        help_text="",
        widget=forms.TextInput(attrs={**PLAIN, "maxlength": 2000}),
    )


class AnswerForm(ConsoleForm):
    """What is answered to a question."""

    answer = TextField(
        label=gettext_lazy("Your answer"),
        max_length=rules.LONGEST_REASON,
        widget=forms.Textarea(attrs={"class": "input", "rows": 3}),
        error_messages={"required": gettext_lazy("Enter an answer.")},
    )


def seen_by(request: Request, number: int) -> VisibleRequest:
    """The request as the asker may see it; not found when it is none or not theirs to see."""
    try:
        return visibility.get(number, asker_of(request))
    except NotFound:
        raise Http404 from None


@reads
@login_required
def request_detail(request: Request, id: int) -> HttpResponse:
    """Its page."""
    return shown(request, seen_by(request, id), [])


def shown(
    request: Request, seen: VisibleRequest, notes: list[Note], *, status: int = 200, **more: Any
) -> HttpResponse:
    row = seen.request
    standings = provisioning.standings(row)
    context = {
        "crumbs": Crumbs(((_("Requests"), reverse("console:requests")),)),
        "heading": _("%(seen)s to %(wants)s")
        % {"seen": _subject(seen), "wants": requests_rows.wants_words(seen.wants)},
        "kind": _("Request %(pk)s") % {"pk": row.pk},
        "lead": "",
        "actions": list(_actions(seen)),
        "notes": notes,
        "reason": row.reason,
        "facts": facts(seen),
        "line": list(_line(seen, standings)),
        "decisions": decisions(seen),
        "given": [_one_given(want, seen) for want in seen.wants],
        "standings": [_standing(standing) for standing in standings],
        "timeline": _timeline(seen),
        "answer": AnswerForm() if seen.mine and row.state == "asked_back" else None,
        "withdraw": WithdrawForm() if seen.mine and row.open else None,
        "planned": section_of(seen),
        "applying": ConsoleForm(),
        "id": row.pk,
        **more,
    }
    realm = row.realm_name if row.realm else ""
    return page(
        request,
        "console/requests/request.html",
        context,
        section="requests",
        realm=realm,
        revision=revision_now(),
        status=status,
    )


def _subject(seen: VisibleRequest) -> str:
    holder = requests_rows.other_holder(seen.request)
    if seen.mine:
        return _("You ask for %(holder)s") % {"holder": holder} if holder else _("You ask")
    text = _("%(label)s asks for %(holder)s") if holder else _("%(label)s asks")
    return text % {"label": seen.request.asker.label, "holder": holder}


def _actions(seen: VisibleRequest) -> Iterable[Action]:
    if seen.may_decide:
        yield Action(_("Decide"), reverse("console:request_decide", args=[seen.request.pk]), "primary")
    wanted = [(want.type, want.name, want.action) for want in seen.wants]
    if seen.mine and not seen.request.open and seen.planned is None:
        from authzsite.console.requests.links import ask

        yield Action(_("Request again"), ask(wanted, seen.request.holder))


def facts(seen: VisibleRequest) -> Facts:
    row = seen.request
    told_ = [
        Fact(_("State"), state=requests_rows.state_of(row)),
        Fact(_("Requested by"), row.asker.label, note=words.moment(row.asked_at, within=True)),
        Fact(_("For"), terms.principal_name(row.holder)),
    ]
    if seen.planned is None:
        told_.append(Fact(_("How long"), requests_rows.lasts_words(row), note=_from(seen)))
    if row.ticket:
        told_.append(Fact(_("Ticket"), row.ticket))
    if row.open:
        told_.append(Fact(_("Lapses"), words.moment(row.lapses_at), note=words.ends_in(row.lapses_at)))
    return Facts(tuple(told_))


def _from(seen: VisibleRequest) -> str:
    row = seen.request
    if row.starts:
        return _("from %(starts)s on") % {"starts": words.moment(row.starts, within=True)}
    return _("counted from the approval") if row.lasts else ""


# How far it has come


def _line(seen: VisibleRequest, standings: Sequence[BackendProgress]) -> Iterable[dict[str, str]]:
    """Asked, decided, given, there: each with its mark, as one line."""
    row = seen.request
    yield _station("done", _("Requested"), words.moment(row.asked_at, within=True))
    parts = [part for part in seen.parts if part.state not in ("needless",)]
    decided = sum(part.state not in WAITING for part in parts)
    if row.open:
        yield _station(
            "now",
            _("Decided"),
            _("%(decided)s of %(parts)s")
            % {"decided": words.number(decided), "parts": words.number(len(parts))},
        )
        yield _station("", _("Granted"), "")
        return
    if row.state not in GRANTED:
        yield _station(
            "ended", str(requests_rows.state_of(row).word), words.moment(row.moved_at, within=True)
        )
        return
    yield _station("done", str(requests_rows.state_of(row).word), words.moment(row.moved_at, within=True))
    yield _given_station(seen)
    if any(want.given_at for want in seen.wants):
        yield from (_there(standing) for standing in standings)


def _given_station(seen: VisibleRequest) -> dict[str, str]:
    given = [want for want in seen.wants if want.given_at]
    if not given:
        due = min((want.due for want in seen.wants if want.due), default=None)
        return _station("now", _("Granted"), words.on(due) if due else "")
    moment = max(want.given_at for want in given if want.given_at)
    return _station("done", _("Granted"), words.moment(moment, within=True))


def _there(backend_progress: BackendProgress) -> dict[str, str]:
    system = backend_progress.backend.get_kind_display()
    name = {
        "proved": _("Arrived in %(system)s") % {"system": system},
        "stuck": _("Stuck on the way to %(system)s") % {"system": system},
    }.get(backend_progress.state, _("On its way to %(system)s") % {"system": system})
    mark = {"proved": "done", "stuck": "stuck"}.get(backend_progress.state, "now")
    return _station(
        mark, name, words.ago(backend_progress.since) if backend_progress.state == "proved" else ""
    )


def _station(mark: str, name: str, note: str) -> dict[str, str]:
    labels = {"done": _("Done"), "now": _("Now"), "ended": _("Ended"), "stuck": _("Stuck")}.get(
        mark, _("Upcoming")
    )
    return {"mark": mark, "name": name, "note": note, "said": labels}


def _standing(backend_progress: BackendProgress) -> dict[str, Any]:
    kind, word = {
        "proved": ("ok", _("Arrived: read back")),
        "stuck": ("failed", _("Stuck")),
    }.get(backend_progress.state, ("behind", _("On its way")))
    return {"name": str(backend_progress.backend), "state": State(kind, word), "text": backend_progress.text}


# What was decided, what was given


def decisions(seen: VisibleRequest) -> list[Decision]:
    """Every decision, with who is to make those that are open."""
    law = requests_rows.law_of(seen.request)
    return [_decision(part, seen, law) for part in seen.parts]


def _decision(part: RequestPart, seen: VisibleRequest, law: str) -> Decision:
    word = _(str(part.get_state_display()))
    state = State(requests_rows.KINDS.get(part.state, "unknown"), word[:1].upper() + word[1:])
    who, when = _decided(part) if part.decided_at else (_awaited(part, seen), "")
    told_when = part.escalates_at and part.state == "asked" and who != str(NOT_TOLD)
    later = words.moment(part.escalates_at) if told_when and part.escalates_at else ""
    return Decision(
        part.number,
        requests_rows.part_words(part, law),
        state,
        who,
        when,
        f"{_less(part, law)}{part.note}",
        _("then the next level is asked, %(later)s") % {"later": later} if later else "",
        part.number in seen.may_decide,
    )


def _decided(part: RequestPart) -> tuple[str, str]:
    who = part.decided_by.label if part.decided_by else ""
    if part.decided_for:
        names = {"label": who or _("Someone"), "other": part.decided_for.label}
        who = _("%(label)s, for %(other)s") % names
    return who, words.moment(part.decided_at) if part.decided_at else ""


def _less(part: RequestPart, law: str) -> str:
    """What was given of it, where that is less than was asked."""
    if part.state != "approved_less":
        return ""
    labels = [terms.lower(terms.right(code, part.type, law)) for code in part.given]
    much = (
        _("only %(labels)s") % {"labels": words.listed(labels)}
        if set(part.given) != set(part.privileges)
        else ""
    )
    long = _("for %(lasts)s") % {"lasts": requests_rows.lasting_words(part.lasts)} if part.lasts else ""
    until = _("until %(until)s") % {"until": words.moment(part.until, within=True)} if part.until else ""
    summary = ", ".join(filter(None, (much, long, until)))
    return f"{summary[:1].upper()}{summary[1:]}. " if summary else ""


def _awaited(part: RequestPart, seen: VisibleRequest) -> str:
    if part.state not in WAITING:
        return ""
    approvers = seen.deciders(part)
    if approvers is None:
        return str(NOT_TOLD)
    names = [item.principal.label for item in approvers]
    if not names:
        return _("Nobody can decide it yet")
    more = [_("%(number)s more") % {"number": words.number(len(names) - NAMED)}] if len(names) > NAMED else []
    return either([*names[:NAMED], *more])


def _one_given(want: RequestWant, seen: VisibleRequest) -> GivenRow:
    came = outcomes.standing(want, seen.parts)
    ended = seen.request.state in ("withdrawn", "lapsed")
    kind, word = {
        outcomes.GIVEN: ("ok", _("Granted")),
        outcomes.COMING: (
            "behind",
            _("Comes %(when)s") % {"when": words.moment(want.due, within=True)} if want.due else _("Comes"),
        ),
        outcomes.FAILED: ("failed", _("Not granted")),
    }.get(came, ("unknown", _("Not granted")) if ended else ("behind", _("Not decided yet")))
    what = _("%(verbs)s %(names)s") % {
        "verbs": requests_rows.verb(want.action, want.type),
        "names": requests_rows.short(want.name),
    }
    window = terms.window_chip(want.valid_from, want.valid_until) if want.given_at else None
    return GivenRow(requests_rows.as_heading(what, [want]), State(kind, word), window, want.name)


def _timeline(seen: VisibleRequest) -> Timeline:
    law = requests_rows.law_of(seen.request)
    parts = {part.number: requests_rows.part_words(part, law) for part in seen.parts}
    return Timeline(tuple(_moment(step, parts) for step in reversed(seen.steps)))


def _moment(step: RequestStep, parts: dict[int, str]) -> Moment:
    who = step.by.label if step.by else _("Someone")
    if step.on_behalf_of:
        who = _("%(actor)s, on behalf of %(other)s") % {"actor": who, "other": step.on_behalf_of.label}
    what = f": {parts[step.part]}" if step.part is not None and step.part in parts else ""
    text = f"{str(SAID.get(step.move, step.move)) % {'who': who}}{what}"
    url = f"{reverse('console:history')}?revision={step.revision}"
    return Moment(text, words.moment(step.at), MARKS.get(step.move, ""), step.text, url)

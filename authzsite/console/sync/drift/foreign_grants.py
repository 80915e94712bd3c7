"""Deciding about a foreign grant: adopt it, have it revoked in the backend, accept it until a date."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any

from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_date

from authzsite.console.kit.auth import signed_in
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Diff, DiffLine, Note
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.kit.refusal import refused
from authzsite.console.objects.access import Place, visit
from authzsite.console.roles.views import nonce_in
from authzsite.console.sync.backend_state import rights_of
from catalog.nodes import node
from policies.authority import Actor
from policies.errors import Invalid, NotFound, PolicyError
from policies.sync import foreign_rights
from policies.sync.foreign_rights import Foreign

LONGEST = timedelta(days=366)


@dataclass(frozen=True)
class Deed:
    """One thing that can be done about a foreign grant, and how it is told."""

    heading: str
    button: str
    done: str
    look: str
    diff: Callable[[Foreign, Actor], tuple[DiffLine, ...]]
    needs_reason: bool = False


def _what(about: Foreign) -> str:
    return words.listed([terms.lower(word) for word in rights_of(about.rows, about.first.type)])


def _on(about: Foreign) -> str:
    return about.first.place or about.backend.place


def _adopting(about: Foreign, by: Actor) -> tuple[DiffLine, ...]:
    name, system = about.first.holder, about.backend.get_kind_display()
    rights = [terms.lower(terms.right(code, about.node.type, about.node.kind)) for code in about.privileges]
    lines = []
    if about.holder is None:
        lines.append(DiffLine("gain", name, f"becomes a member of {about.node.realm}"))
    gain = f"keeps {words.listed(rights)} on {about.node.name}; it is decided here from now on"
    note = f"In {system} a role of ours takes the place of what {about.first.grantor or 'somebody'} gave."
    lines.append(DiffLine("same", name, gain, f"{note} Nobody is cut off in between."))
    for gift in foreign_rights.way(about, by):
        told = terms.lower(terms.right(gift.privilege, gift.node.type, gift.node.kind))
        why = f"Without it {name} could not reach {about.node.name}."
        lines.append(DiffLine("gain", name, f"is also given {told} on {gift.node.name}", why))
    passed_on = any(right.endswith(foreign_rights.OPTION) for right in about.covered)
    if passed_on:
        lines.append(DiffLine("lose", name, "may no longer pass it on to others"))
    if about.left:
        kept = f"{words.listed(about.left)} stays foreign"
        lines.append(DiffLine("stop", name, kept, "No right here says exactly this and nothing more."))
    return tuple(lines)


def _revoking(about: Foreign, by: Actor) -> tuple[DiffLine, ...]:
    system = about.backend.get_kind_display()
    given = f"Given by {about.first.grantor} in {system}. " if about.first.grantor else ""
    note = f"{given}What roles and other givers give stays."
    return (DiffLine("lose", about.first.holder, f"loses {_what(about)} on {_on(about)}", note),)


def _accepting(about: Foreign, by: Actor) -> tuple[DiffLine, ...]:
    return (
        DiffLine(
            "same",
            about.first.holder,
            f"keeps {_what(about)} on {_on(about)}",
            "Nothing changes in the backend. After the date it waits for a decision again.",
        ),
    )


def _reopening(about: Foreign, by: Actor) -> tuple[DiffLine, ...]:
    text = "waits for a decision again"
    return (DiffLine("change", about.first.holder, text, "Nothing changes in the backend."),)


def _retrying(about: Foreign, by: Actor) -> tuple[DiffLine, ...]:
    goes = (
        "is taken"
        if not any(one.replaced for one in foreign_rights.ordered(about.rows).values())
        else "is replaced"
    )
    text = f"what was decided is tried again: {_what(about)} on {_on(about)} {goes}"
    return (DiffLine("change", about.first.holder, text, "Nothing else changes."),)


def _dropping(about: Foreign, by: Actor) -> tuple[DiffLine, ...]:
    name, system = about.first.holder, about.backend.get_kind_display()
    giver = about.first.grantor or "others"
    keeps = f"keeps {_what(about)} on {_on(about)}, as {giver} gave it in {system}"
    lines = [DiffLine("same", name, keeps, "It is foreign again and waits for a decision.")]
    for grant in foreign_rights.adopted_with(about):
        place = node(grant.securable_id) if grant.securable_id else None
        if place is not None:
            told = terms.lower(terms.right(grant.privilege, place.type, place.kind))
            text = f"is no longer given {told} on {place.name} here"
            lines.append(DiffLine("lose", name, text, "The adoption gave it."))
    return tuple(lines)


DEEDS = {
    "retry": Deed("Try {what} of {who} on {on} again?", "Try again", "tried again", "primary", _retrying),
    "drop": Deed(
        "Leave {what} of {who} on {on} as it was?",
        "Leave it as it was",
        "left as it was",
        "primary",
        _dropping,
    ),
    "adopt": Deed("Adopt {what} of {who} on {on}?", "Adopt {what} of {who}", "adopted", "primary", _adopting),
    "revoke": Deed(
        "Revoke {what} on {on} from {who}?",
        "Revoke {what} from {who}",
        "revoked",
        "danger primary",
        _revoking,
    ),
    "accept": Deed(
        "Accept that {who} may {what} {on}?",
        "Accept it",
        "accepted",
        "primary",
        _accepting,
        needs_reason=True,
    ),
    "reopen": Deed(
        "No longer accept that {who} may {what} {on}?",
        "No longer accept",
        "open again",
        "primary",
        _reopening,
    ),
}


@reads_and_writes
@signed_in
def deed(request: Request, id: int, code: str) -> HttpResponse:
    """What it would do; then it is decided, and the sync carries it out."""
    if code not in DEEDS:
        raise Http404
    try:
        about = foreign_rights.foreign(id)
        place = visit(request, about.node.id)
    except NotFound as gone:
        raise Http404 from gone
    if not place.may_grant:
        return refused(request, place, "grant")
    if request.method == "POST":
        return _posted(request, place, about, code)
    return _show(request, place, about, code, QueryDict(), [])


def _posted(request: Request, place: Place, about: Foreign, code: str) -> HttpResponse:
    form, actor = request.POST, Actor(place.asker, "console", request_id=nonce_in(request))
    if done_before(actor) is None:
        try:
            _do(code, about, form, actor)
        except PolicyError as problem:
            note = Note("bad", "Not decided.", str(problem))
            return _show(request, place, about, code, form, [note], status=422)
    what = _what(about)
    say(request, f"{what[:1].upper()}{what[1:]} of {about.first.holder} on {_on(about)}: {DEEDS[code].done}")
    return redirect("console:sync")


def _do(code: str, about: Foreign, form: QueryDict, actor: Actor) -> None:
    reason = form.get("reason", "").strip()[:2000].replace("\0", "")
    pk = about.first.pk
    if code == "adopt":
        foreign_rights.adopt(pk, by=actor, reason=reason)
    elif code == "revoke":
        foreign_rights.revoke(pk, by=actor, reason=reason)
    elif code == "retry":
        foreign_rights.try_again(pk, by=actor)
    elif code == "drop":
        foreign_rights.give_up(pk, by=actor, reason=reason)
    elif code == "accept":
        foreign_rights.accept(pk, _end_of_day(form.get("until", "")), by=actor, reason=reason)
    else:
        foreign_rights.reopen(pk, by=actor, reason=reason)


def _end_of_day(text: str) -> datetime:
    """The last moment of a day in the reader's zone; a year from now at most.  Raises Invalid."""
    try:
        day = parse_date(text)
    except ValueError:
        day = None
    latest = timezone.localdate() + LONGEST
    if day is None or not timezone.localdate() <= day <= latest:
        raise Invalid(f"Give a day from today to {words.day(_moment(latest))}.")
    return _moment(day)


def _moment(day: Any) -> datetime:
    return timezone.make_aware(datetime.combine(day, time(23, 59, 59)))


def _show(
    request: Request,
    place: Place,
    about: Foreign,
    code: str,
    form: QueryDict,
    notes: list[Note],
    *,
    status: int = 200,
) -> HttpResponse:
    told, names = DEEDS[code], {"what": _what(about), "who": about.first.holder, "on": _on(about)}
    actor = Actor(place.asker, "console")
    problem = foreign_rights.hindrance(about, code, actor)
    if problem:
        notes = [*notes, Note("warn", f"This cannot be {DEEDS[code].done}.", problem)]
    seen = words.said(words.day(about.first.first_seen))
    context = {
        "notes": notes,
        "heading": told.heading.format(**names),
        "place": f"Found in {about.backend}, first seen {seen}",
        "nothing": bool(problem),
        "diff": Diff(told.diff(about, actor)),
        "nonce": nonce_in(request),
        "reason": form.get("reason", ""),
        "needs_reason": told.needs_reason,
        "asks_until": code == "accept",
        "until": form.get("until", (timezone.localdate() + timedelta(days=30)).isoformat()),
        "zone": words.zone(),
        "button": told.button.format(**names),
        "look": told.look,
        "back": reverse("console:sync"),
    }
    return page(
        request,
        "console/sync/foreign_grant.html",
        context,
        room="sync",
        realm=place.node.realm,
        revision=place.slice.revision,
        status=status,
    )

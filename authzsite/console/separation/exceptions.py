"""Letting somebody have both sides of a rule until an end, and ending that."""

from __future__ import annotations

import secrets
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from accounts.models import Principal
from authzsite.console.history.views import somebody
from authzsite.console.kit.auth import signed_in
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Diff, DiffLine, Note
from authzsite.console.kit.http import Request
from authzsite.console.kit.inputs.dates import Skipped, local_moment
from authzsite.console.kit.inputs.principal_picker import Among
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import say
from authzsite.console.roles.views import nonce_in
from authzsite.console.separation.context import Desk, candidates, refused, rule_at, side_words
from authzsite.console.separation.rule import only
from authzsite.console.settings.realm import show
from policies.authority import Actor
from policies.errors import PolicyError
from policies.models import SeparationRule
from policies.separation.sides import sides_of
from policies.services import separation
from policies.services.grants import revision_now


@reads_and_writes
@signed_in
def let(request: Request, id: int) -> HttpResponse:
    """Who, who answers for it, until when, why; then the exception holds."""
    desk, rule = rule_at(request, id)
    if not desk.writes:
        return refused(request, desk, "make exceptions from rules of separation")
    data = request.POST if request.method == "POST" else request.GET
    asked = Among(data, search=lambda text: candidates(request, text), at_most=1)
    if request.method != "POST" or not asked.saving:
        asked.tell_nobody()
        return _form(request, desk, rule, asked, [])
    owner, until = _owner(asked), _until(asked)
    if not asked.check_who() or asked.problems or owner is None or until is None:
        return _form(request, desk, rule, asked, [])
    actor = Actor(desk.ward.asker, "console", request_id=asked.nonce)
    [person] = asked.chosen
    try:
        if done_before(actor) is None:
            separation.let(
                rule, desk.ward.root, person, owner=owner, until=until, reason=asked.reason, by=actor
            )
    except PolicyError as problem:
        note = Note("bad", "Not saved.", f"{problem} Your form is kept.")
        return _form(request, desk, rule, asked, [note])
    say(
        request,
        f"{person.label} may have both until {words.said(words.moment(until))}",
        undo=done_before(actor),
    )
    return redirect("console:separation_rule", id=rule.pk)


def _owner(asked: Among) -> Principal | None:
    named = asked.data.get("owner", "").strip()[:300]
    found = somebody(named) if named else None
    if found is None or found.kind != Principal.Kind.USER:
        asked.problems["owner"] = f"Nobody is called {named}." if named else "Say who answers for it."
        return None
    return found


def _until(asked: Among) -> Any:
    try:
        moment = local_moment(asked.data.get("date", ""))
    except Skipped as problem:
        asked.problems["date"] = str(problem)
        return None
    if moment is None:
        asked.problems["date"] = "Give a date and a time that are still to come."
    return moment


def _form(
    request: Request, desk: Desk, rule: SeparationRule, asked: Among, notes: list[Note]
) -> HttpResponse:
    book = only(desk, rule)
    seen = desk.seen(book)
    one, other = (side_words(side, seen) for side in sides_of(rule))
    if rule.closed is not None:
        notes = [Note("", "This rule has ended; it stops nobody any more.")]
    context = {
        "heading": "Let somebody have both",
        "place": f"{rule.name}: {one}; {terms.lower(other)}",
        "notes": notes,
        "here": request.path,
        "back": reverse("console:separation_rule", args=[rule.pk]),
        "nonce": asked.nonce,
        **asked.fields(),
        "owner": asked.data.get("owner", "")[:300],
        "date": asked.data.get("date", "")[:40],
        "zone": words.zone(),
        "reason": asked.reason,
        "problems": asked.problems,
    }
    wrong = notes or (asked.problems and asked.data.get("step") == "save")
    return show(
        request, "console/separation/exception.html", desk.ward, context, status=422 if wrong else 200
    )


@reads_and_writes
@signed_in
def end(request: Request, id: int) -> HttpResponse:
    """What its end means, then it ends."""
    desk, rule = rule_at(request, id)
    if not desk.writes:
        return refused(request, desk, "end exceptions from rules of separation")
    person = somebody(request.GET.get("who", ""))
    if person is None:
        raise Http404
    back = reverse("console:separation_rule", args=[rule.pk])
    if request.method == "POST":
        actor = Actor(desk.ward.asker, "console", request_id=nonce_in(request))
        try:
            ended = separation.end_exception(rule, desk.ward.root, person, by=actor)
        except PolicyError:
            ended = False
        told = f"{person.label} is let no longer"
        again = done_before(actor) if ended else None
        say(request, told if ended else "Nothing changed: it had ended before", undo=again)
        return redirect(back)
    there = (rule.pk, person.pk) in desk.book.exceptions
    context = {
        "heading": f"End the exception of {person.label}?",
        "place": f"From the rule {rule.name}",
        "notes": [] if there else [Note("", f"{person.label} has no exception from this rule.")],
        "nothing": not there,
        "diff": Diff(
            (DiffLine("change", person.label, "keeps what there is, as a conflict that is listed"),)
        ),
        "seen": revision_now(),
        "nonce": secrets.token_hex(12),
        "reason": "",
        "problems": {},
        "button": "End the exception",
        "back": back,
    }
    return show(request, "console/access/revoke.html", desk.ward, context)

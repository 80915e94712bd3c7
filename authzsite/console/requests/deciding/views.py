"""Deciding a request: what speaks for and against it; yes, yes to less, no, or a question."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display.parts import Action, Crumbs, Note, Verdict
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.requests import rows as requests_rows
from authzsite.console.requests.deciding import considerations
from authzsite.console.requests.deciding.form import Choice
from authzsite.console.requests.request import decisions, facts, seen_by
from policies.authority import Actor
from policies.errors import Conflict, Invalid, NotFound, PolicyError, Refused
from policies.requests import decision_context, parties, visibility
from policies.requests import decisions as requests_decisions
from policies.requests.visibility import VisibleRequest
from policies.services.grants import revision_now

DONE = {"approve": "approved", "refuse": "refused", "ask": "asked back"}


@reads_and_writes
@login_required
def decide_form(request: Request, id: int) -> HttpResponse:
    """The form with all that a decider wants to know; decided, it leads back to the request."""
    seen = seen_by(request, id)
    if not seen.mandates:
        return _not_yours(request, seen)
    choice = Choice(seen, request.POST if request.method == "POST" else request.GET)
    if request.method != "POST" or choice.step not in DONE:
        return _show(request, seen, choice, [])
    if not choice.check():
        return _show(request, seen, choice, [])
    try:
        _decide(seen, choice)
    except (NotFound, Refused):
        raise Http404 from None
    except Conflict as problem:
        return _too_late(request, id, choice, problem)
    except Invalid as problem:
        return _show(request, seen, choice, [_not_saved(problem)])
    say(request, f"Request {id}: {choice.said()} {DONE[choice.step]}")
    return redirect("console:request", id=id)


def _decide(seen: VisibleRequest, choice: Choice) -> None:
    number, by, parts = seen.request.pk, Actor(seen.viewer, "console"), choice.parts
    if choice.step == "refuse":
        requests_decisions.refuse(number, choice.text, by=by, parts=parts)
    elif choice.step == "ask":
        requests_decisions.ask_back(number, choice.text, by=by, parts=parts)
    else:
        requests_decisions.approve(
            number,
            by=by,
            parts=parts,
            give=choice.give,
            lasts=choice.lasts,
            until=choice.until,
            role=choice.role,
            note=choice.text,
        )


def _too_late(request: Request, id: int, choice: Choice, problem: Conflict) -> HttpResponse:
    """Somebody else was first: how it stands now, with what was typed kept where it can still be used."""
    seen = visibility.get(id, choice.seen.viewer)
    note = Note("bad", "Not decided.", str(problem))
    if not seen.mandates:
        from authzsite.console.requests.request import shown

        return shown(request, seen, [note], status=409)
    return _show(request, seen, Choice(seen, request.POST), [note], status=409)


def _not_saved(problem: PolicyError) -> Note:
    return Note("bad", "Not decided.", f"{problem} Your form is kept.")


def _not_yours(request: Request, seen: VisibleRequest) -> HttpResponse:
    row = seen.request
    own = seen.viewer.pk in parties.of(row)
    text = parties.OWN if own else "Others decide it, or it was decided already."
    context = {
        "verdict": Verdict("no", f"You cannot decide request {row.pk}", text, level=1),
        "actions": (Action("See the request", requests_rows.url_of(row)),),
    }
    return page(
        request, "errors/refused.html", context, section="requests", revision=revision_now(), status=403
    )


def _show(
    request: Request, seen: VisibleRequest, choice: Choice, notes: list[Note], *, status: int = 0
) -> HttpResponse:
    row = seen.request
    weighed = considerations.weighed(decision_context.consider(seen), seen)
    wants, lasts = requests_rows.wants_words(seen.wants), requests_rows.lasts_words(row)
    asks = f"asks to {wants}{requests_rows.for_words(row)} {lasts}"
    context: dict[str, Any] = {
        "crumbs": Crumbs(
            (("Requests", reverse("console:requests")), (f"Request {row.pk}", requests_rows.url_of(row)))
        ),
        "heading": f"{row.asker.label} {asks}",
        "kind": "",
        "lead": "",
        "notes": [*notes, *weighed.notes],
        "here": reverse("console:request_decide", args=[row.pk]),
        "back": reverse("console:requests"),
        "reason": row.reason,
        "facts": facts(seen),
        "weighed": weighed,
        "others": [decision for decision in decisions(seen) if not decision.mine],
        **choice.fields(weighed.roles),
        **_next(seen),
    }
    failed = bool(choice.problems) or bool(notes)
    return page(
        request,
        "console/requests/decide.html",
        context,
        section="requests",
        realm=row.realm_name,
        revision=revision_now(),
        status=status or (422 if failed else 200),
    )


def _next(seen: VisibleRequest) -> dict[str, str]:
    """The requests before and after this one among those that wait, for j and k."""
    waiting = visibility.waiting_for(seen.viewer)
    after = waiting.filter(pk__gt=seen.request.pk).order_by("pk").values_list("pk", flat=True).first()
    before = waiting.filter(pk__lt=seen.request.pk).order_by("-pk").values_list("pk", flat=True).first()
    return {
        "next": reverse("console:request_decide", args=[after]) if after else "",
        "previous": reverse("console:request_decide", args=[before]) if before else "",
    }

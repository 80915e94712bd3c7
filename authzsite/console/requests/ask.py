"""Asking for access: what, for whom, how long and why, with everything that it takes and who decides it."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Note
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.methods import reads_and_writes, writes
from authzsite.console.kit.page import page, say
from authzsite.console.requests import preview as requests_preview
from authzsite.console.requests.form import Form
from policies.authority import Actor
from policies.decisions.lookups.visible_objects import realms_of
from policies.errors import Conflict, Invalid, Refused
from policies.requests import submission
from policies.requests.submission import Foresight
from policies.services.grants import revision_now

NOT_SENT = "Nothing was sent. Your form is kept."


def _form(request: Request) -> Form:
    asker = asker_of(request)
    kinds = {item.name: item.kind for item in realms_of(asker)}
    data = request.POST if request.method == "POST" else request.GET
    return Form(data, asker, submission.holders(asker), kinds)


@reads_and_writes
@login_required
def ask_form(request: Request) -> HttpResponse:
    """The form, filled from an address or from itself; sent, it becomes a request."""
    form = _form(request)
    if request.method != "POST" or not form.sending:
        return _show(request, form, [])
    if not form.check():
        return _show(request, form, [])
    try:
        made = submission.ask(form.asking, by=Actor(form.asker, "console"))
    except Invalid as problem:
        return _refused(request, form, problem)
    except (Conflict, Refused) as problem:
        return _show(request, form, [Note("bad", f"{problem}", NOT_SENT)])
    say(request, f"Request {made.pk} is sent; you will be notified of each decision")
    return redirect("console:request", id=made.pk)


def _refused(request: Request, form: Form, problem: Invalid) -> HttpResponse:
    """Put it beside the field that it is about."""
    told, seen = str(problem), _foresee(form)[0]
    if seen is not None and told.startswith("Say why"):
        form.problems["reason"] = told
    elif seen is not None and "ticket" in told:
        form.problems["ticket"] = told
    else:
        return _show(request, form, [Note("bad", "Not sent.", f"{told} Your form is kept.")], bad=True)
    return _show(request, form, [])


def _foresee(form: Form) -> tuple[Foresight | None, str]:
    """What it would come to, or why it cannot be asked for."""
    if not form.complete:
        return None, ""
    try:
        return submission.foresee(form.asking, form.asker), ""
    except Invalid as problem:
        return None, str(problem)


def _show(request: Request, form: Form, notes: list[Note], *, bad: bool = False) -> HttpResponse:
    seen, problem = _foresee(form)
    rules = seen.rules if seen else None
    realm = form.things[0].name.partition("/")[0] if form.things else ""
    with_tables = [name for name, kind in form.kinds.items() if kind == "gravitino"]
    context: dict[str, Any] = {
        "adding": request.method == "POST" and not form.sending,
        "heading": _heading(form),
        "lead": "Every approver is asked at once, and you see each answer.",
        "notes": notes,
        "here": reverse("console:request_new"),
        "back": reverse("console:requests"),
        "preview_url": reverse("console:request_foresee"),
        "example": f"{min(with_tables, default='demo')}/shop.sales.orders",
        "button": "Send the request",
        "ticket_form": rules.ticket if rules else "",
        "reason_help": _reason_help(rules.min_reason if rules else 10),
        **form.fields(),
        **requests_preview.shown(form, seen, problem),
    }
    failed = bad or bool(notes) or (bool(form.problems) and form.sending)
    return page(
        request,
        "console/requests/ask.html",
        context,
        section="requests",
        realm=realm if realm in form.kinds else "",
        revision=revision_now(),
        status=422 if failed else 200,
    )


def _heading(form: Form) -> str:
    if len(form.things) == 1:
        return f"Ask for access to {form.things[0].short}"
    if form.things:
        return f"Ask for access to {words.count(len(form.things), 'object')}"
    return "Ask for access"


def _reason_help(least: int) -> str:
    return f"What is it for? At least {max(least, 3)} characters."


@writes
@login_required
def foresee(request: Request) -> HttpResponse:
    """What the form would come to as it stands, for a script."""
    form = _form(request)
    return render(request, "console/requests/preview.html", requests_preview.shown(form, *_foresee(form)))


__all__ = ["ask_form", "foresee"]

"""How they want to be told of each kind of thing, and where mail goes."""

from __future__ import annotations

from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display.parts import Action
from authzsite.console.kit.http import Request, account_of, asker_of
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from policies.errors import Invalid
from policies.models.notices import How
from policies.notices import KINDS, inbox
from policies.notices.mail import DIGEST_AT


@dataclass(frozen=True)
class NoticeSetting:
    code: str
    heading: str
    how: str
    usual: bool


@reads_and_writes
@login_required
def notice_settings(request: Request) -> HttpResponse:
    """One choice for each kind; saved together."""
    if request.method != "POST":
        return _show(request, account_of(request).email)
    address = request.POST.get("address", account_of(request).email).strip()
    problem = _wrong(address)
    try:
        if not problem:
            inbox.choose(
                asker_of(request),
                {code: request.POST[f"how-{code}"] for code in KINDS if f"how-{code}" in request.POST},
            )
    except Invalid as refusal:
        problem = str(refusal)
    if problem:
        return _show(request, address, problem, status=422)
    account = account_of(request)
    account.email = address
    account.save(update_fields=["email"])
    say(request, "Saved: notices now reach you this way")
    return redirect("console:inbox_settings")


def _wrong(address: str) -> str:
    try:
        if address:
            validate_email(address)
    except ValidationError:
        return "This is not an address that mail can go to."
    return ""


def _show(request: Request, address: str, problem: str = "", *, status: int = 200) -> HttpResponse:
    account = account_of(request)
    lines = [
        NoticeSetting(kind.code, kind.heading, request.POST.get(f"how-{kind.code}", how), how == kind.how)
        for kind, how in inbox.choices_of(asker_of(request))
    ]
    context = {
        "heading": "Notification settings",
        "lead": "Urgent notices, such as emergency access, always come at once.",
        "actions": [Action("Your inbox", reverse("console:inbox"))],
        "lines": lines,
        "ways": How.choices,
        "address": address,
        "problem": problem,
        "digest": f"The mail once a day goes at {DIGEST_AT:02}:00 in your time zone, {account.time_zone}.",
    }
    return page(request, "console/inbox/settings.html", context, section="inbox", status=status)

"""What is one's own: the theme, the time zone, the keys, and the tokens for programs that act as oneself."""

from __future__ import annotations

import zoneinfo
from dataclasses import dataclass, field
from functools import cache

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache

from accounts.models import Token
from accounts.models.tokens import SCOPES
from authzsite.console import words
from authzsite.console.door import signed_in
from authzsite.console.methods import reads_and_writes
from authzsite.console.parts import Action, Chip, Note, State
from authzsite.console.requests import Request, account_of, asker_of
from authzsite.console.shell import page, say
from policies.authority import Actor
from policies.errors import NotFound, PolicyError
from policies.services import own_tokens

DAYS = (("7", "7 days"), ("30", "30 days"), ("90", "90 days"), ("365", "A year"))
TOLD = {
    "check": "ask what somebody may do",
    "report": "report what was used",
    "request": "ask for access",
    "manage": "change access, as you may",
    "audit": "read the history, as you may",
}


@dataclass(frozen=True)
class Line:
    """One token: recognised by how it begins."""

    id: int
    prefix: str
    may: str
    made: str
    used: str
    ends: Chip | None
    state: State | None


@dataclass
class Form:
    """What was filled in to make a token."""

    days: str = "30"
    scopes: tuple[str, ...] = ("check",)
    problems: dict[str, str] = field(default_factory=dict)


@never_cache
@reads_and_writes
@signed_in
def room(request: Request) -> HttpResponse:
    """The page; each of its forms comes back to it."""
    if request.method != "POST":
        return _show(request, Form())
    done = {"token": _make, "revoke": _revoke, "zone": _zone}.get(request.POST.get("do", ""))
    return done(request) if done else redirect("console:profile")


def _make(request: Request) -> HttpResponse:
    form = Form(request.POST.get("days", ""), tuple(dict.fromkeys(request.POST.getlist("scope"))))
    if form.days not in dict(DAYS):
        form.problems["days"] = "Choose how long it lasts."
    if not form.scopes:
        form.problems["scope"] = "Choose at least one thing it may do."
    asker = asker_of(request)
    if form.problems:
        return _show(request, form)
    try:
        text = own_tokens.make(asker, days=int(form.days), scopes=form.scopes, by=Actor(asker, "console"))
    except PolicyError as problem:
        form.problems["scope"] = str(problem)
        return _show(request, form)
    return _show(request, Form(), text)


def _revoke(request: Request) -> HttpResponse:
    number, asker = request.POST.get("token", ""), asker_of(request)
    try:
        known = number.isdecimal() and len(number) < 18
        ended = known and own_tokens.revoke(asker, int(number), by=Actor(asker, "console"))
        say(request, "The token is revoked; it opens nothing any more" if ended else "It was revoked before")
    except NotFound as problem:
        say(request, str(problem))
    return redirect("console:profile")


def _zone(request: Request) -> HttpResponse:
    asked = request.POST.get("zone", "")
    if asked in _zones():
        account = account_of(request)
        account.time_zone = asked
        account.save(update_fields=["time_zone"])
        say(request, f"Times are shown in {asked}")
    return redirect("console:profile")


@cache
def _zones() -> tuple[str, ...]:
    known = zoneinfo.available_timezones()
    return ("UTC", *sorted(one for one in known if "/" in one and not one.startswith(("Etc/", "SystemV/"))))


def _show(request: Request, form: Form, new: str = "") -> HttpResponse:
    account, asker = account_of(request), asker_of(request)
    context = {
        "heading": "Your settings",
        "lead": f"{asker.label}, {asker}.",
        "actions": [Action("All your access", reverse("console:person", args=[asker.pk]))],
        "zone": account.time_zone,
        "zones": _zones(),
        "form": form,
        "new": new,
        "note": _shown_once(new),
        "days": DAYS,
        "scopes": [(code, TOLD[code], code in form.scopes) for code in SCOPES],
        "rows": _lines(asker.pk),
        "problems": form.problems,
    }
    return page(request, "console/profile.html", context, status=422 if form.problems else 200)


def _shown_once(new: str) -> Note | None:
    return Note("warn", "Copy the token now.", "It is shown this once and kept nowhere.") if new else None


def _lines(holder: int) -> list[Line]:
    rows = Token.objects.filter(principal=holder, run="").order_by("revoked", "-created")
    return [_line(row) for row in rows[:100]]


def _line(row: Token) -> Line:
    over = row.expires is not None and row.expires <= timezone.now()
    state = (
        State("paused", "Revoked") if row.revoked else State("unknown", "Ended by itself") if over else None
    )
    return Line(
        row.pk,
        row.prefix,
        words.listed(row.scopes) or "all that you may",
        words.day(row.created),
        words.ago(row.last_used) if row.last_used else "Never",
        Chip("ends", words.moment(row.expires), hidden="until") if row.expires and not state else None,
        state,
    )

"""A person's own page: formats, keys, sessions, tokens, and the service accounts they answer for."""

from __future__ import annotations

import zoneinfo
from dataclasses import dataclass
from functools import cache
from typing import Any

from django import forms
from django.contrib.auth import authenticate, update_session_auth_hash
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from accounts import languages, sessions
from accounts.models import Keeping, Membership, Principal, SignIn, User
from authzsite.console.accounts import tokens
from authzsite.console.accounts.tokens import RotateForm, TokenForm
from authzsite.console.kit import form_resume, step_up
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import formats, terms, words
from authzsite.console.kit.display.parts import Action, Who
from authzsite.console.kit.forms import ConsoleForm
from authzsite.console.kit.http import Request, account_of, asker_of, number_in
from authzsite.console.kit.languages import speak
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.kit.sign_in import providers
from policies.authority import Actor
from policies.errors import Invalid
from policies.services import accounts, external_accounts


@dataclass(frozen=True)
class SignedInBrowser:
    """One browser in which one is signed in."""

    id: int
    browser: str
    address: str
    seen: str
    begun: str
    this: bool


@never_cache
@sensitive_post_parameters("old", "password", "again")
@reads_and_writes
@login_required
def profile_page(request: Request) -> HttpResponse:
    """The page; each of its forms comes back to it."""
    if request.method != "POST":
        kept = form_resume.take(request)
        resumed = kept if kept and kept.get("do") == "token" else None
        rotation = RotateForm.sent(kept) if kept and kept.get("do") == "rotate" else None
        form = TokenForm(resumed)
        return _show(request, form, rotation=rotation or RotateForm.asked(request.GET))
    answers = {
        "token": _make,
        "rotate": _rotate,
        "revoke": _revoke,
        "zone": _zone,
        "formats": _formats,
        "language": _language,
        "sign_out_others": _sign_out_others,
        "sign_out_one": _sign_out_one,
        "password": _password,
        "disconnect": _disconnect,
    }
    done = answers.get(request.POST.get("do", ""))
    return done(request) if done else redirect("console:profile")


def _make(request: Request) -> HttpResponse:
    if answer := step_up.asked(request):
        return answer
    asker = asker_of(request)
    form = TokenForm(request.POST)
    made = form.make(asker, by=Actor(asker, "console"))
    return _show(request, TokenForm(made=made) if made else form, status=200 if made else 422)


def _rotate(request: Request) -> HttpResponse:
    if answer := step_up.asked(request):
        return answer
    asker, rotation = asker_of(request), RotateForm.sent(request.POST)
    made, wrong = rotation.rotate(asker, by=Actor(asker, "console"))
    if wrong:
        say(request, wrong)
        return redirect("console:profile")
    return _show(request, TokenForm(made=made))


def _revoke(request: Request) -> HttpResponse:
    asker = asker_of(request)
    say(request, tokens.revoke(request.POST, asker, by=Actor(asker, "console")))
    return redirect("console:profile")


# Dates and numbers


@cache
def _zones() -> tuple[str, ...]:
    names = zoneinfo.available_timezones()
    return (
        "UTC",
        *sorted(item for item in names if "/" in item and not item.startswith(("Etc/", "SystemV/"))),
    )


def _zone_choices() -> list[tuple[str, str]]:
    return [(zone, zone) for zone in _zones()]


class ZoneForm(ConsoleForm):
    """In which zone times are shown."""

    zone = forms.ChoiceField(choices=_zone_choices)


class FormatsForm(ConsoleForm):
    """How dates and numbers are written."""

    formats = forms.ChoiceField(
        choices=[("", ""), *((language.code, language.name) for language in formats.KNOWN)], required=False
    )


def _zone(request: Request) -> HttpResponse:
    form, account = ZoneForm(request.POST), account_of(request)
    if form.is_valid():
        account.time_zone = form.cleaned_data["zone"]
        account.save(update_fields=["time_zone"])
        say(request, _("Times are shown in %(time_zone)s") % {"time_zone": account.time_zone})
    return redirect("console:profile")


def _formats(request: Request) -> HttpResponse:
    form, account = FormatsForm(request.POST), account_of(request)
    if form.is_valid():
        account.formats = form.cleaned_data["formats"]
        account.save(update_fields=["formats"])
        say(
            request,
            _("Dates and numbers are written like %(name)s") % {"name": formats.known(account.formats).name},
        )
    return redirect("console:profile")


class LanguageForm(ConsoleForm):
    """In which language the console speaks to them; none of them: that of the browser."""

    language = forms.ChoiceField(required=False, choices=languages.offered)


def _language(request: Request) -> HttpResponse:
    form, account = LanguageForm(request.POST), account_of(request)
    if form.is_valid():
        account.language = form.cleaned_data["language"]
        account.save(update_fields=["language"])
        speak(request, account)
        say(request, _("Pages and mails are in this language now"))
    return redirect("console:profile")


# Where one is signed in


def _sign_out_others(request: Request) -> HttpResponse:
    ended = sessions.end_others(account_of(request), request)
    message = _("Signed out in %(ended)s") % {"ended": words.count(ended, "other browser")}
    say(request, message if ended else _("You are not signed in anywhere else"))
    return redirect("console:profile")


def _sign_out_one(request: Request) -> HttpResponse:
    number = number_in(request.POST.get("place", ""))
    this = request.session.session_key or ""
    ended = number is not None and sessions.end_one(account_of(request), number, but=this)
    say(request, _("Signed out there") if ended else _("That session has already ended"))
    return redirect("console:profile")


def _place(row: SignIn, this: str) -> SignedInBrowser:
    seen, begun = words.ago(row.seen), words.moment(row.begun)
    return SignedInBrowser(row.pk, browser(row.agent), row.address, seen, begun, row.key == this)


def browser(agent: str) -> str:
    """Firefox on Linux; what a browser says of itself, as far as that can be told."""
    names = (("Edg/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"))
    systems = (
        ("Android", "Android"),
        ("iPhone", _("an iPhone")),
        ("iPad", _("an iPad")),
        ("Windows", "Windows"),
    )
    more = ((_("Mac OS"), _("a Mac")), ("Linux", "Linux"))
    name = next((word for mark, word in (*names, ("Safari/", "Safari")) if mark in agent), _("A browser"))
    system = next((word for mark, word in (*systems, *more) if mark in agent), "")
    return _("%(name)s on %(system)s") % {"name": name, "system": system} if system else name


# The identity providers


def _disconnect(request: Request) -> HttpResponse:
    if answer := step_up.asked(request):
        return answer
    number = number_in(request.POST.get("way", ""))
    by = Actor(asker_of(request), "console")
    try:
        ended = number is not None and external_accounts.disconnect(account_of(request), number, by=by)
    except Invalid as refusal:
        say(request, _("Nothing was changed. %(refusal)s") % {"refusal": refusal})
    else:
        say(request, _("Disconnected") if ended else _("It was already disconnected"))
    return redirect("console:profile")


# The password


class PasswordForm(ConsoleForm):
    """The password now and a new one, twice; nothing is trimmed from any."""

    old = forms.CharField(required=False, strip=False)
    password = forms.CharField(required=False, strip=False)
    again = forms.CharField(required=False, strip=False)

    def __init__(self, data: Any = None, *, account: User, request: Request, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.account, self.request = account, request

    def clean(self) -> dict[str, Any]:
        typed = self.cleaned_data
        # counted as at the door, so that a session that was left open is no place to guess at
        user = authenticate(self.request, username=self.account.username, password=typed.get("old", ""))
        if user is None or user.pk != self.account.pk:
            raise ValidationError(_("This is not your current password."))
        if typed.get("password", "") != typed.get("again", ""):
            raise ValidationError(_("The two new passwords differ."))
        return typed


def _password(request: Request) -> HttpResponse:
    account, asker = account_of(request), asker_of(request)
    form = PasswordForm(request.POST, account=account, request=request)
    if form.is_valid():
        try:
            accounts.set_password(account, form.cleaned_data["password"], by=Actor(asker, "console"))
        except Invalid as refusal:
            form.add_error(None, str(refusal))
    if form.errors:
        wrong = str(next(iter(form.errors.values()))[0])
        return _show(request, TokenForm(), wrong, status=422)
    update_session_auth_hash(request, account)
    request.session.pop(sessions.NOTED, None)  # it goes on under another key
    say(request, _("Your password is changed; other browsers are signed out"))
    return redirect("console:profile")


# The page


def _show(
    request: Request,
    form: TokenForm,
    wrong: str = "",
    *,
    status: int = 200,
    rotation: RotateForm | None = None,
) -> HttpResponse:
    account, asker, this = account_of(request), asker_of(request), request.session.session_key or ""
    places = [_place(row, this) for row in sessions.of(account)]
    joined = list(account.external_sign_ins.order_by("joined")) if providers() else []
    context = {
        "heading": _("Your settings"),
        "lead": f"{asker.label}, {asker}.",
        "actions": [Action(_("All your access"), reverse("console:person", args=[asker.pk]))],
        "zone": account.time_zone,
        "zones": _zones(),
        "written": account.formats,
        "ways": formats.KNOWN,
        "languages": languages.offered(),
        "language": languages.chosen_by(account),
        "places": places,
        "elsewhere": any(not place.this for place in places),
        "kept": _kept(asker),
        "joined": joined,
        "more_providers": [item for item in providers() if item.issuer not in {row.issuer for row in joined}],
        "has_password": account.has_usable_password(),
        "wrong": wrong,
        **tokens.shown(asker, form, who=_("you"), rotation=rotation),
    }
    return page(request, "console/accounts/profile.html", context, status=status)


def _kept(asker: Principal) -> list[Who]:
    """The service accounts that they answer for, directly or through a group.  One query."""
    groups = Membership.objects.open().within(timezone.now()).filter(member=asker).values("group")
    mine = Keeping.objects.open().filter(keeper=asker) | Keeping.objects.open().filter(keeper__in=groups)
    rows = mine.select_related("service", "keeper").order_by("service__name")
    return [
        terms.who(
            row.service,
            _("you are responsible for it")
            if row.keeper_id == asker.pk
            else _("%(label)s is responsible for it") % {"label": row.keeper.label},
            reverse("console:service", args=[row.service_id]),
        )
        for row in rows
    ]

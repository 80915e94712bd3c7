"""Signing in by an identity provider, and connecting an account to one."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth import login
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from accounts.backends import OIDC
from accounts.identities import Identity, Subject
from accounts.models import ExternalSignIn, User
from accounts.people import BadName, checked_name
from accounts.text import holdable
from authzsite.console.accounts.oidc_client import Client, NotProved
from authzsite.console.kit import form_resume, proofs, step_up
from authzsite.console.kit.error_pages import show
from authzsite.console.kit.http import Request, account_of, asker_of
from authzsite.console.kit.methods import reads, writes
from authzsite.console.kit.page import say, surroundings
from authzsite.console.kit.sign_in import SignInForm, asked_next, sign_in_page
from authzsite.runtime.configuration.single_sign_on import Provider
from policies.authority import Actor
from policies.errors import Invalid
from policies.services import external_accounts

log = logging.getLogger(__name__)
LONGEST_SUBJECT = 255
FRESH = 120
"""Seconds within which the provider asked who somebody is, where they are to prove it again."""


def _provider(name: str) -> Provider:
    on = settings.LAKEWARDEN_OIDC if "oidc" in settings.LAKEWARDEN_AUTHENTICATORS else ()
    provider = next((item for item in on if item.name == name), None)
    if provider is None:
        raise Http404
    return provider


@never_cache
@writes
def begin(request: Request, name: str) -> HttpResponse:
    """On to the provider; what one wanted to do here waits until they are back."""
    provider = _provider(name)
    account = request.user.pk if isinstance(request.user, User) else None
    again = account is not None and bool(request.POST.get("again"))
    if account is not None and not again and (page := step_up.asked(request)):
        return page
    data = {
        "next": asked_next(request),
        "kept": form_resume.earlier(request),
        "account": account,
        "again": again,
    }
    try:
        address = Client(request, provider).begin(data, secrets.token_urlsafe(32), again=again)
    except NotProved as problem:
        return _refused(request, provider, data, problem)
    # a form may lead to this site alone; going on from a page is no part of the form
    context = {"shell": surroundings(request), "title": provider.title, "address": address}
    answer = render(request, "console/accounts/going_on.html", context)
    answer.headers["Refresh"] = f"0; url={address}"
    return answer


@never_cache
@reads
def callback(request: Request, name: str) -> HttpResponse:
    """Back from the provider: in, or the reason why not."""
    provider = _provider(name)
    data: Mapping[str, Any] = {"next": "", "kept": "", "account": None}
    try:
        data, claims = Client(request, provider).finish()
        subject, identity = _subject(provider, claims), _identity(provider, claims)
        if data["again"]:
            return _prove(request, data, subject, claims)
        if data["account"] is not None:
            return _connect(request, data["account"], subject)
        account = external_accounts.admit_subject(subject, identity, joins=provider.joins)
    except (NotProved, BadName, Invalid) as problem:
        return _refused(request, provider, data, problem)
    login(request, account, backend=OIDC)
    proofs.note(request, at=_asked_at(claims))
    return redirect(form_resume.restore(request, data["kept"]) or data["next"] or reverse("console:home"))


def _connect(request: Request, number: int, subject: Subject) -> HttpResponse:
    """Join who is signed in here to whom the provider knows.  Raises Invalid."""
    account = account_of(request) if isinstance(request.user, User) else None
    if account is None or account.pk != number:
        raise Invalid(_("You are no longer signed in as you were when you began."))
    by = Actor(asker_of(request), "console")
    if external_accounts.connect(account, subject, by=by):
        say(request, _("You can now sign in with %(provider)s") % {"provider": subject.provider})
    else:
        say(request, _("%(provider)s was connected before") % {"provider": subject.provider})
    return redirect("console:profile")


def _prove(
    request: Request, data: Mapping[str, Any], subject: Subject, claims: Mapping[str, Any]
) -> HttpResponse:
    """Note that who is signed in just proved it to the provider again.  Raises NotProved, Invalid."""
    account = account_of(request) if isinstance(request.user, User) else None
    sign_in = ExternalSignIn.objects.filter(issuer=subject.issuer, subject=subject.id).first()
    if account is None or sign_in is None or not account.pk == sign_in.account_id == data["account"]:
        raise Invalid(_("You are no longer signed in as you were when you began."))
    proved = _asked_at(claims)
    if proved is None or time.time() - proved > FRESH:
        raise NotProved(_("it did not ask them again who they are"))
    proofs.note(request)
    return redirect(form_resume.restore(request, data["kept"]) or data["next"])


def _refused(
    request: Request, provider: Provider, data: Mapping[str, Any], problem: Exception
) -> HttpResponse:
    log.warning("sign-in by %s was refused: %s", provider.name, problem)
    text = (
        _("%(title)s did not confirm who you are. Try again.") % {"title": provider.title}
        if isinstance(problem, NotProved)
        else str(problem)
    )
    if isinstance(request.user, User):
        return show(
            request, 403, heading=_("Not connected"), text=_("%(text)s Nothing was changed.") % {"text": text}
        )
    return sign_in_page(
        request, SignInForm(), next_=data["next"], packed=data["kept"], refusal=text, status=403
    )


# What the provider says


def _subject(provider: Provider, claims: Mapping[str, Any]) -> Subject:
    subject = claims["sub"]
    if not isinstance(subject, str) or not 0 < len(subject) <= LONGEST_SUBJECT or not holdable(subject):
        raise NotProved(_("its subject is not a text of 1 to 255 characters"))
    return Subject(provider.title, provider.issuer, subject)


def _identity(provider: Provider, claims: Mapping[str, Any]) -> Identity:
    """Who they are here by the claims that the settings name.  Raises BadName, Invalid."""
    mail = _confirmed_mail(claims)
    if provider.domains and mail.rpartition("@")[2].lower() not in provider.domains:
        raise Invalid(
            _("%(title)s only admits people with a confirmed address at %(domains)s.")
            % {"title": provider.title, "domains": ", ".join(provider.domains)}
        )
    name = claims.get(provider.user_claim)
    if provider.user_claim == "email":
        name = mail
    if not isinstance(name, str) or not name:
        raise Invalid(
            _("%(title)s does not send your name (%(user_claim)s). Contact the operator.")
            % {"title": provider.title, "user_claim": provider.user_claim}
        )
    shown = claims.get("name", "")
    return Identity(
        checked_name(name),
        display_name=shown if isinstance(shown, str) else "",
        mail=mail,
        groups=_groups(provider, claims),
    )


def _asked_at(claims: Mapping[str, Any]) -> int | None:
    """When the provider asked who they are, which may be long before they came here; None where it is mum."""
    auth_time = claims.get("auth_time")
    return auth_time if isinstance(auth_time, int) else None


def _confirmed_mail(claims: Mapping[str, Any]) -> str:
    mail = claims.get("email")
    return mail if isinstance(mail, str) and claims.get("email_verified") is True else ""


def _groups(provider: Provider, claims: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Their groups; None where the settings name no claim for them.  Raises Invalid."""
    if not provider.groups_claim:
        return None
    groups = claims.get(provider.groups_claim, [])
    if not isinstance(groups, list) or not all(isinstance(item, str) and holdable(item) for item in groups):
        raise Invalid(
            _("%(title)s does not send your groups as a list of names. Contact the operator.")
            % {"title": provider.title}
        )
    return tuple(dict.fromkeys(filter(None, (group.removeprefix("/") for group in groups))))

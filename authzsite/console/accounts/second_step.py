"""After the password: the second factor, for those who have one and those who must."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import urlencode

from allauth.mfa.webauthn.internal import auth as webauthn
from axes.handlers.proxy import AxesProxyHandler
from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.signals import user_login_failed
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from accounts.models import User
from authzsite.console.accounts.factor_forms import FactorForm, credential_of
from authzsite.console.kit import form_resume, proofs
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import surroundings
from authzsite.console.kit.sign_in import SignInForm, sign_in_page
from policies.authority import Actor
from policies.decisions import duties
from policies.decisions.facts import is_service_admin
from policies.services import second_factors

PENDING = "second_step"
SECONDS = 600
BACKEND = "django.contrib.auth.backends.ModelBackend"
TOO_MANY = gettext_lazy("Too many wrong codes. Sign-in is locked for a while.")
WRONG = gettext_lazy("This code is wrong or was already used. Wait for the next one.")


def after_password(request: Request, account: User, *, next_: str, kept: str = "") -> HttpResponse:
    """Let in who needs no second factor; others wait for it, signed in nowhere."""
    if not second_factors.held(account) and not is_required(account):
        return _enter(request, account, next_, kept)
    request.session[PENDING] = {
        "account": account.pk,
        "hash": account.get_session_auth_hash(),
        "at": time.time(),
        "next": next_,
        "kept": kept,
    }
    return redirect("console:second_step")


def is_required(account: User) -> bool:
    """Whether the settings want a second factor of whoever signs in to this account by password."""
    wanted, principal = settings.LAKEWARDEN_SECOND_FACTOR, account.principal
    if principal is None or not wanted:
        return False
    if wanted == "everybody" or is_service_admin(principal):
        return True
    return any(duties.held(principal, duty) for duty in duties.DUTIES)


def _enter(request: Request, account: User, next_: str, kept: str) -> HttpResponse:
    login(request, account, backend=BACKEND)
    proofs.note(request)
    return redirect(form_resume.restore(request, kept) or next_)


@never_cache
@sensitive_post_parameters("code")
@reads_and_writes
def second_step(request: Request) -> HttpResponse:
    """A code, a passkey, or a factor to set up; then they are in."""
    if request.user.is_authenticated:
        return redirect("console:home")
    waiting = request.session.get(PENDING) or {}
    account = _account_of(waiting)
    if account is None:
        request.session.pop(PENDING, None)
        return sign_in_page(request, SignInForm(), next_="", refusal=_("Sign in again."), status=403)
    factors = second_factors.held(account)
    form = FactorForm(request, account, sets_up=not factors)
    if request.method != "POST":
        return _show(request, form)
    problem = form.add(Actor(account.principal, "console")) if not factors else prove(request, account)
    if problem:
        return _show(request, form, problem, status=429 if problem == str(TOO_MANY) else 422)
    del request.session[PENDING]
    next_ = waiting["next"]
    if not factors:
        proofs.show_codes(request)
        # who never sees the codes is locked out once their device is lost
        next_ = f"{reverse('console:second_factor')}?{urlencode({'next': next_})}"
    return _enter(request, account, next_, waiting["kept"])


def prove(request: Request, account: User) -> str:
    """Why what was sent proves nothing; empty when it does.  Wrong codes count like wrong passwords."""
    if not AxesProxyHandler.is_allowed(request, {"username": account.username}):
        return str(TOO_MANY)
    if _proves(request, account):
        return ""
    user_login_failed.send(__name__, credentials={"username": account.username}, request=request)
    return str(WRONG)


def _proves(request: Request, account: User) -> bool:
    credential = credential_of(request)
    if credential is None:
        return second_factors.takes(account, request.POST.get("code", ""))
    try:
        parsed = webauthn.parse_authentication_response(credential)
        passkey = webauthn.complete_authentication(account, credential)
    except (ValidationError, ValueError, KeyError, TypeError):
        return False
    return second_factors.takes_passkey(account, passkey.pk, parsed.response.authenticator_data.counter)


def _account_of(waiting: dict[str, Any]) -> User | None:
    """Who gave their password a moment ago, and could still come in by it."""
    if time.time() - waiting.get("at", 0) > SECONDS:
        return None
    row = User.objects.select_related("principal").filter(pk=waiting["account"], is_active=True).first()
    return row if row is not None and row.get_session_auth_hash() == waiting["hash"] else None


def _show(request: Request, form: FactorForm, problem: str = "", *, status: int = 200) -> HttpResponse:
    context = {"shell": surroundings(request), "form": form, "problem": problem}
    return render(request, "console/accounts/second_step.html", context, status=status)

"""Signing in and out, and the small choices a person makes for themselves."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth import authenticate, logout
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from accounts.backends import PROXY, began_by
from authzsite.console.accounts.second_step import after_password
from authzsite.console.kit import form_resume
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.http import Request, account_of
from authzsite.console.kit.methods import reads, reads_and_writes, writes
from authzsite.console.kit.page import KEYS_OFF, page
from authzsite.console.kit.sign_in import SignInForm, asked_next, sign_in_page


@never_cache
@sensitive_post_parameters("password")
@reads_and_writes
def sign_in(request: Request) -> HttpResponse:
    """A password, and back to where one wanted to go, with the form one had begun."""
    next_ = asked_next(request)
    if request.method == "GET":
        return (
            redirect(next_)
            if request.user.is_authenticated
            else sign_in_page(request, SignInForm(), next_=next_)
        )
    form = SignInForm(request.POST)
    user = authenticate(request, **form.cleaned_data) if form.is_valid() else None
    if user is None:
        problem = _("Name and password do not match. Check both and try again.")
        return sign_in_page(
            request, form, next_=next_, packed=form_resume.earlier(request), problem=problem, status=200
        )
    return after_password(request, user, next_=next_, kept=request.POST.get("kept", ""))


def locked_out(
    request: Request, response: HttpResponse | None, credentials: dict[str, Any] | None
) -> HttpResponse:
    """Too many wrong passwords: say so, for how long, and keep the form."""
    minutes = round(float(settings.AXES_COOLOFF_TIME or 0) * 60)
    problem = _(
        "Too many wrong passwords for this name or from this address. Sign-in is locked for %(minutes)s "
        "minutes; your work is kept."
    ) % {"minutes": minutes}
    return sign_in_page(
        request,
        SignInForm(request.POST),
        next_=asked_next(request),
        packed=form_resume.earlier(request),
        problem=problem,
        status=429,
    )


@writes
def sign_out(request: Request) -> HttpResponse:
    by_proxy = began_by(request, PROXY)
    logout(request)
    if by_proxy and settings.LAKEWARDEN_PROXY_SIGN_OUT:
        return redirect(settings.LAKEWARDEN_PROXY_SIGN_OUT)  # else its next page would sign them in again
    return redirect(f"{reverse('console:sign_in')}?{urlencode({'out': 1})}")


@writes
@login_required
def resume(request: Request) -> HttpResponse:
    """Show a kept form again to who is signed in."""
    return redirect(form_resume.restore(request, request.POST.get("kept", "")) or reverse("console:home"))


@writes
@login_required
def preferences(request: Request) -> HttpResponse:
    """Theme and single-letter keys, each sent by a form of its own."""
    theme = request.POST.get("theme")
    if theme is not None:
        account = account_of(request)
        account.theme = theme if theme in ("light", "dark") else "system"
        account.save(update_fields=["theme"])
    if "keys" in request.POST:
        request.session[KEYS_OFF] = request.POST["keys"] == "off"
    back = request.POST.get("next", "")
    return HttpResponseRedirect(back if form_resume.is_own(request, back) else reverse("console:home"))


@reads
@login_required
def keys(request: Request) -> HttpResponse:
    """What the keyboard does, and the words this console uses."""
    return page(request, "console/help/keys.html")

"""Signing in and out, and the small choices a person makes for himself."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.contrib.auth import authenticate, login, logout
from django.contrib.auth.models import AnonymousUser
from django.http import HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from accounts.models import User
from authzsite.console import kept
from authzsite.console.requests import Request, account_of
from authzsite.console.shell import KEYS_OFF, page, surroundings

View = Callable[..., HttpResponseBase]


class SignIn(forms.Form):
    """A name and a password; nothing is trimmed from either."""

    username = forms.CharField(max_length=150, strip=False)
    password = forms.CharField(max_length=1000, strip=False)


def signed_in(view: View) -> View:
    """Let in who is signed in and bound to a principal; keep the form of anybody whose session ended."""

    @wraps(view)
    def guarded(request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        user: User | AnonymousUser = request.user
        if not isinstance(user, User):
            return _at_the_door(request)
        if user.principal_id is None:
            return page(request, "errors/unbound.html", status=403)
        with timezone.override(_zone(user.time_zone)):
            return view(request, *args, **kwargs)

    return guarded


def _zone(name: str) -> Any:
    import zoneinfo

    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return timezone.get_default_timezone()


def _at_the_door(request: Request) -> HttpResponse:
    if request.htmx:
        return render(request, "errors/part_signed_out.html", status=401)
    if request.method == "POST":
        return _door(request, SignIn(), next_=request.get_full_path(), packed=kept.pack(request), status=401)
    return redirect(f"{reverse('console:sign_in')}?{urlencode({'next': request.get_full_path()})}")


def _door(
    request: Request, form: SignIn, *, next_: str, packed: str = "", problem: str = "", status: int = 200
) -> HttpResponse:
    context = {
        "shell": surroundings(request),
        "form": form,
        "next": next_,
        "kept": packed,
        "problem": problem,
        "demo": getattr(settings, "LAKEWARDEN_DEMO_SIGN_INS", ()),
        "contact": getattr(settings, "LAKEWARDEN_ADMIN_CONTACT", ""),
    }
    response = render(request, "console/sign_in.html", context, status=status)
    if status == 401:
        response["WWW-Authenticate"] = 'Session realm="lakewarden"'
    return response


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
def sign_in(request: Request) -> HttpResponse:
    """The door: a password, and back to where one wanted to go, with the form one had begun."""
    next_ = _next(request)
    if request.method == "GET":
        return redirect(next_) if request.user.is_authenticated else _door(request, SignIn(), next_=next_)
    form = SignIn(request.POST)
    user = authenticate(request, **form.cleaned_data) if form.is_valid() else None
    if user is None:
        problem = "Name and password do not match. Check both and try again."
        return _door(request, form, next_=next_, packed=kept.pack(request), problem=problem, status=200)
    login(request, user)
    return redirect(kept.restore(request, request.POST.get("kept", "")) or next_)


def _next(request: Request) -> str:
    asked = request.POST.get("next") or request.GET.get("next") or ""
    own = asked and kept.is_own(request, asked) and not asked.startswith(reverse("console:sign_in"))
    return asked if own else reverse("console:home")


def locked_out(
    request: Request, response: HttpResponse | None, credentials: dict[str, Any] | None
) -> HttpResponse:
    """Too many wrong passwords: say so, for how long, and keep the form."""
    minutes = round(float(settings.AXES_COOLOFF_TIME or 0) * 60)
    problem = (
        f"Too many wrong passwords for this name. Sign-in is closed to it for {minutes} minutes; "
        "what you began is kept."
    )
    return _door(
        request,
        SignIn(request.POST),
        next_=_next(request),
        packed=kept.pack(request),
        problem=problem,
        status=429,
    )


@require_POST
def sign_out(request: Request) -> HttpResponse:
    logout(request)
    return redirect(f"{reverse('console:sign_in')}?{urlencode({'out': 1})}")


@require_POST
@signed_in
def resume(request: Request) -> HttpResponse:
    """Show a kept form again to who is signed in."""
    return redirect(kept.restore(request, request.POST.get("kept", "")) or reverse("console:home"))


@require_POST
@signed_in
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
    return HttpResponseRedirect(back if kept.is_own(request, back) else reverse("console:home"))


@signed_in
def keys(request: Request) -> HttpResponse:
    """What the keyboard does, and the words this console uses."""
    return page(request, "console/keys.html")

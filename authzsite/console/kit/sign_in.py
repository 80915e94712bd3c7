"""The page that asks for a name and a password."""

from __future__ import annotations

from django import forms
from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import mark_safe

from accounts.entering import any_password
from authzsite.console.kit import form_resume
from authzsite.console.kit.http import Request
from authzsite.console.kit.page import surroundings
from authzsite.runtime.configuration import single_sign_on
from policies.sentences import either


class SignInForm(forms.Form):
    """A name and a password; nothing is trimmed from either."""

    username = forms.CharField(max_length=150, strip=False)
    password = forms.CharField(max_length=1000, strip=False)


def providers() -> tuple[single_sign_on.Provider, ...]:
    """The identity providers that people can sign in by."""
    on = "oidc" in settings.LAKEWARDEN_AUTHENTICATORS
    return tuple(settings.LAKEWARDEN_OIDC) if on else ()


def asked_next(request: Request) -> str:
    """Where they wanted to go, as far as that is a page of this site."""
    target = request.POST.get("next") or request.GET.get("next") or ""
    own = target and form_resume.is_own(request, target) and not target.startswith(reverse("console:sign_in"))
    return target if own else reverse("console:home")


def sign_in_page(
    request: Request,
    form: SignInForm,
    *,
    next_: str,
    packed: str = "",
    problem: str = "",
    refusal: str = "",
    status: int = 200,
) -> HttpResponse:
    """The page; `problem` is said beside the password, `refusal` of another way in above the form."""
    demo = getattr(settings, "LAKEWARDEN_DEMO_SIGN_INS", ())
    names = [format_html("<code>{}</code>", name) for name in demo]
    context = {
        "shell": surroundings(request),
        "form": form,
        "next": next_,
        "kept": packed,
        "problem": problem,
        "refusal": refusal,
        "providers": providers(),
        "demo": demo,
        "demo_names": mark_safe(either(names)),  # noqa: S308  each is escaped
        "empty_site": not any_password(),
        "contact": getattr(settings, "LAKEWARDEN_ADMIN_CONTACT", ""),
    }
    response = form_resume.in_place_of_the_page(
        request, render(request, "console/accounts/sign_in.html", context, status=status)
    )
    if status == 401:
        response["WWW-Authenticate"] = 'Session realm="lakewarden"'
    return response

"""The page that asks for a name and a password."""

from __future__ import annotations

from django import forms
from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render

from accounts.entering import any_password
from authzsite.console.kit import form_resume
from authzsite.console.kit.http import Request
from authzsite.console.kit.page import surroundings


class SignInForm(forms.Form):
    """A name and a password; nothing is trimmed from either."""

    username = forms.CharField(max_length=150, strip=False)
    password = forms.CharField(max_length=1000, strip=False)


def sign_in_page(
    request: Request, form: SignInForm, *, next_: str, packed: str = "", problem: str = "", status: int = 200
) -> HttpResponse:
    context = {
        "shell": surroundings(request),
        "form": form,
        "next": next_,
        "kept": packed,
        "problem": problem,
        "demo": getattr(settings, "LAKEWARDEN_DEMO_SIGN_INS", ()),
        "empty_site": not any_password(),
        "contact": getattr(settings, "LAKEWARDEN_ADMIN_CONTACT", ""),
    }
    response = form_resume.in_place_of_the_page(
        request, render(request, "console/accounts/sign_in.html", context, status=status)
    )
    if status == 401:
        response["WWW-Authenticate"] = 'Session realm="lakewarden"'
    return response

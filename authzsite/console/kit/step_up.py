"""Asking again who somebody is, before what a session that was left open must not do."""

from __future__ import annotations

import json
from urllib.parse import urlencode

from allauth.mfa.webauthn.internal import auth as webauthn
from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from accounts.backends import PROXY, began_by
from authzsite.console.kit import form_resume, proofs
from authzsite.console.kit.http import Request, account_of
from authzsite.console.kit.page import surroundings
from authzsite.console.kit.sign_in import providers
from policies.services import second_factors


def is_due(request: Request) -> bool:
    """Whether the last proof of this session is too old for what it must not do when it was left open.

    Whom a proxy names has nothing to prove here: it names them on every request.
    """
    minutes = settings.LAKEWARDEN_STEP_UP
    return bool(minutes) and proofs.age(request) > minutes * 60 and not began_by(request, PROXY)


def asked(request: Request) -> HttpResponse | None:
    """The page that asks for a proof, with the form kept; None where the last proof is young enough."""
    if not is_due(request):
        return None
    if request.method != "POST":
        return redirect(f"{reverse('console:again')}?{urlencode({'next': request.get_full_path()})}")
    answer = page(request, next_=request.path, packed=form_resume.pack(request), status=403)
    if request.htmx:  # in the place of the whole page, a dialog's form too
        answer["HX-Retarget"], answer["HX-Reswap"] = "body", "innerHTML"
    return answer


def page(
    request: Request, *, next_: str, packed: str = "", problem: str = "", status: int = 200
) -> HttpResponse:
    """The page; who has a second factor proves that one, others their password or who they are elsewhere."""
    account = account_of(request)
    factors = {row.type for row in second_factors.held(account)}
    joined = set(account.external_sign_ins.values_list("issuer", flat=True))
    context = {
        "shell": surroundings(request),
        "next": next_,
        "kept": packed,
        "problem": problem,
        "asks_code": bool(factors),
        "asks_password": not factors and account.has_usable_password(),
        "passkey": json.dumps(webauthn.begin_authentication(account))
        if second_factors.PASSKEY in factors
        else "",
        "providers": [item for item in providers() if item.issuer in joined],
    }
    return render(request, "console/accounts/again.html", context, status=status)

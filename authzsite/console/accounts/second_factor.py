"""A person's second factors: added, removed, and new codes for when they are lost."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from authzsite.console.accounts.factor_forms import FactorForm
from authzsite.console.accounts.second_step import is_required
from authzsite.console.kit import form_resume, proofs, step_up
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import words
from authzsite.console.kit.http import Request, account_of, asker_of, number_in
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from policies.authority import Actor
from policies.services import second_factors

NAMES = {
    second_factors.APP: gettext_lazy("Authenticator app"),
    second_factors.PASSKEY: gettext_lazy("Passkey"),
}


@dataclass(frozen=True)
class HeldFactor:
    """One of their factors, as the page shows it."""

    id: int
    name: str
    added: str
    used: str


@never_cache
@sensitive_post_parameters("code")
@reads_and_writes
@login_required
def second_factor(request: Request) -> HttpResponse:
    """The page; each of its forms comes back to it."""
    if answer := step_up.asked(request):
        return answer
    if request.method != "POST":
        return _show(request)
    answers = {"add": _add, "remove": _remove, "codes": _codes}
    done = answers.get(request.POST.get("do", ""))
    return done(request) if done else redirect("console:second_factor")


def _add(request: Request) -> HttpResponse:
    account = account_of(request)
    first = not second_factors.held(account)
    problem = FactorForm(request, account, sets_up=True).add(Actor(asker_of(request), "console"))
    if problem:
        return _show(request, problem, status=422)
    if first:
        proofs.show_codes(request)
    say(request, _("The second factor is added; you are asked for it when you sign in with a password"))
    return redirect("console:second_factor")


def _remove(request: Request) -> HttpResponse:
    account, number = account_of(request), number_in(request.POST.get("factor", ""))
    if is_required(account) and len(second_factors.held(account)) == 1:
        return _show(
            request, _("You must have a second factor; add another before you remove this one."), status=422
        )
    by = Actor(asker_of(request), "console")
    removed = number is not None and second_factors.remove(account, number, by=by)
    say(request, _("Removed") if removed else _("It was already removed"))
    return redirect("console:second_factor")


def _codes(request: Request) -> HttpResponse:
    account = account_of(request)
    if second_factors.held(account):
        second_factors.new_codes(account)
        proofs.show_codes(request)
    return redirect("console:second_factor")


def _show(request: Request, problem: str = "", *, status: int = 200) -> HttpResponse:
    account = account_of(request)
    rows = second_factors.held(account)
    then = request.GET.get("next", "")
    shows = request.method == "GET" and bool(request.session.pop(proofs.CODES, False)) and bool(rows)
    context = {
        "heading": _("Second factor"),
        "lead": _("Required after your password, so that the password alone is not enough."),
        "held": [
            HeldFactor(
                row.pk,
                row.wrap().name if row.type == second_factors.PASSKEY else str(NAMES[row.type]),
                words.moment(row.created_at),
                words.ago(row.last_used_at) if row.last_used_at else _("never"),
            )
            for row in rows
        ],
        "codes": second_factors.new_codes(account) if shows else (),
        "then": then if form_resume.is_own(request, then) else "",
        "form": FactorForm(request, account, sets_up=True),
        "problem": problem,
    }
    return page(request, "console/accounts/second_factor.html", context, status=status)

"""Proving again who one is, and back to what one was about to do."""

from __future__ import annotations

from django.contrib.auth import authenticate
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from accounts.models import User
from authzsite.console.accounts import second_step
from authzsite.console.kit import form_resume, proofs, step_up
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.http import Request, account_of
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.sign_in import asked_next
from policies.services import second_factors

WRONG = gettext_lazy("This is not your password.")


@never_cache
@sensitive_post_parameters("password", "code")
@reads_and_writes
@login_required
def again(request: Request) -> HttpResponse:
    """The page, or back with the form that was begun."""
    next_, packed = asked_next(request), form_resume.earlier(request)
    if request.method != "POST":
        return step_up.page(request, next_=next_)
    account = account_of(request)
    if problem := _problem(request, account):
        return step_up.page(request, next_=next_, packed=packed, problem=problem, status=422)
    proofs.note(request)
    return redirect(form_resume.restore(request, packed) or next_)


def _problem(request: Request, account: User) -> str:
    """Why what was sent proves nothing; wrong answers count as at the door."""
    if second_factors.held(account):
        return second_step.prove(request, account)
    user = authenticate(request, username=account.username, password=request.POST.get("password", ""))
    return "" if user is not None and user.pk == account.pk else str(WRONG)

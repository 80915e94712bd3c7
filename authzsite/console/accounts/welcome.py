"""The link by which somebody sets a password for a new account."""

from __future__ import annotations

from django.contrib.auth.tokens import default_token_generator
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.encoding import force_str
from django.utils.http import urlsafe_base64_decode
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from accounts.models import User
from authzsite.console.accounts.second_step import after_password
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import say, surroundings
from policies.authority import Actor
from policies.errors import Invalid
from policies.services import accounts


@never_cache
@sensitive_post_parameters("password", "again")
@reads_and_writes
def welcome(request: Request, who: str, token: str) -> HttpResponse:
    """A password, twice; then one is signed in.  A link that was used or is old says so."""
    account = _account(who)
    if account is None or not account.is_active or not default_token_generator.check_token(account, token):
        return _show(request, None, "", status=404)
    if request.method != "POST":
        return _show(request, account, "")
    password = request.POST.get("password", "")
    if password != request.POST.get("again", ""):
        return _show(request, account, _("The two passwords differ."), status=422)
    try:
        accounts.set_password(account, password, by=Actor(account.principal, "console"))
    except Invalid as problem:
        return _show(request, account, str(problem), status=422)
    say(request, _("Your password is set"))
    return after_password(request, account, next_=reverse("console:home"))


def _account(who: str) -> User | None:
    try:
        number = number_in(force_str(urlsafe_base64_decode(who)))
    except ValueError:
        return None
    if number is None:
        return None
    return User.objects.select_related("principal").filter(pk=number).first()


def _show(request: Request, account: User | None, problem: str, *, status: int = 200) -> HttpResponse:
    context = {"shell": surroundings(request), "account": account, "problem": problem}
    return render(request, "console/accounts/welcome.html", context, status=status)

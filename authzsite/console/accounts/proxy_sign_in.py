"""Signing in on pages by the word of a trusted proxy: nobody is asked for a password."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.contrib.auth import login, logout
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from accounts import proxy
from accounts.backends import PROXY, began_by
from accounts.identities import Identity
from accounts.people import BadName
from accounts.session_limits import NO_SESSION
from authzsite.console.kit.error_pages import show
from policies.errors import Invalid
from policies.services import external_accounts

SESSION_KEY = "proxy_said"


class ProxySignIn:
    """Signs in whom the proxy names, and out whom it names no more or another in whose place."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: Any, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        if "proxy" not in settings.LAKEWARDEN_AUTHENTICATORS or request.path.startswith(NO_SESSION):
            return None
        pages = request.resolver_match.app_name == "console"
        try:
            identity = proxy.identity_of(request)
            if identity is None:
                if began_by(request, PROXY):
                    logout(request)
            elif pages:
                _enter(request, identity)
        except (BadName, Invalid) as problem:
            logout(request)
            # programs are refused where they call, in the form of what they call
            return show(request, 403, heading=_("You cannot sign in"), text=str(problem)) if pages else None
        return None


def _enter(request: HttpRequest, identity: Identity) -> None:
    """Let them in, and look at what the proxy says only where it says something else than before."""
    values = {**asdict(identity), "groups": None if identity.groups is None else list(identity.groups)}
    if (
        began_by(request, PROXY)
        and request.user.is_authenticated
        and request.session.get(SESSION_KEY) == values
    ):
        return
    account = external_accounts.admit(identity)
    if request.user != account or not began_by(request, PROXY):
        logout(request)
        login(request, account, backend=PROXY)
    request.session[SESSION_KEY] = values

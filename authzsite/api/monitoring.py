"""Who may see how the site does: this machine, the networks of `LAKEWARDEN_MONITOR_ADDRESSES`, monitors and
site admins by their tokens.
"""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from rest_framework.exceptions import APIException
from rest_framework.request import Request

from accounts.addresses import address_of, is_near, is_within
from accounts.models import Principal
from authzsite.api.authentication import Caller, TokenAuthentication
from policies.decisions import site_permissions

SCOPE = "audit"


def comes_from_a_monitor(request: HttpRequest) -> bool:
    """By the address alone, without the database."""
    if is_within(address_of(request), settings.LAKEWARDEN_MONITOR_ADDRESSES):
        return True
    return is_near(request)


def has_a_token(request: HttpRequest) -> bool:
    """By a token of a monitor or a site admin, if it lets its holder read the record."""
    if "HTTP_AUTHORIZATION" not in request.META:
        return False
    try:
        authenticated = TokenAuthentication().authenticate(Request(request))
    except APIException:
        return False
    return authenticated is not None and authenticated[1] == "token" and _may(authenticated[0])


def _may(caller: Caller) -> bool:
    """Whoever has an account makes themselves a token of any scope, so that alone says nothing of people.

    Service accounts are made by site admins; a monitor's token names its scope, as others' need not.
    """
    if caller.principal.kind == Principal.Kind.SERVICE:
        return SCOPE in caller.scopes
    return caller.covers(SCOPE) and bool(site_permissions.ask_admin(caller.principal))

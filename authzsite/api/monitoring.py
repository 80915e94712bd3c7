"""Who may see how the site does: this machine, the networks of `LAKEWARDEN_MONITOR_ADDRESSES`, and tokens."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from rest_framework.exceptions import APIException
from rest_framework.request import Request

from accounts.addresses import address_of, is_near, is_within
from authzsite.api.authentication import TokenAuthentication

SCOPE = "audit"


def comes_from_a_monitor(request: HttpRequest) -> bool:
    """By the address alone, without the database."""
    if is_within(address_of(request), settings.LAKEWARDEN_MONITOR_ADDRESSES):
        return True
    return is_near(request)


def has_a_token(request: HttpRequest) -> bool:
    """By a token whose scopes let its holder read the record."""
    if "HTTP_AUTHORIZATION" not in request.META:
        return False
    try:
        found = TokenAuthentication().authenticate(Request(request))
    except APIException:
        return False
    return found is not None and found[1] == "token" and found[0].covers(SCOPE)

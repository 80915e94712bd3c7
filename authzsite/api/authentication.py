"""Who calls: the bearer of a token, or the browser's session.  Passwords are for the sign-in page only."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import cast

from django.conf import settings
from django.db.models import Q
from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.authentication import SessionAuthentication as DrfSession
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from accounts import people, proxy, sessions, tokens
from accounts.addresses import address_of, is_near
from accounts.models import Principal, User
from accounts.text import holdable
from authzsite.api import credentials
from authzsite.api.credentials import Credentials
from policies.authority import Actor
from policies.errors import Invalid
from policies.services import external_accounts

LONGEST_TOKEN = 512
ONLY_ASKS = "a run may only ask and report"
ONLY_READS = "this token may only read its view"
NOT_ACCEPTED = "these credentials are not accepted"


@dataclass(frozen=True)
class Caller:
    """A principal and what this credential allows; no scopes at all means everything the principal may do."""

    principal: Principal
    via: str
    scopes: frozenset[str] = frozenset()
    run: tokens.Run | None = None
    reading: tokens.Reading | None = None

    def covers(self, scope: str) -> bool:
        return not self.scopes or scope in self.scopes

    def actor(self, request_id: str = "") -> Actor:
        return Actor(self.principal, self.via, request_id)


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer <token>`, or Basic with the name of the token's principal and the token.

    Where `simple` is on, Basic with a mere name too; its password is not looked at.
    """

    takes_runs = False
    takes_readings = False

    def authenticate(self, request: Request) -> tuple[Caller, str] | None:
        header = request.META.get("HTTP_AUTHORIZATION")
        if header is None:
            return None
        # a caller with credentials is judged by them alone, and never falls back to a session
        given = credentials.read(header)
        bearer = (
            _bearer(given, address_of(request._request))
            if "token" in settings.LAKEWARDEN_AUTHENTICATORS
            else None
        )
        if bearer is None:
            scheme, _, rest = header.partition(" ")
            return by_mere_name(_simple_name(scheme.lower(), rest.strip()), request._request)
        if bearer.run is not None and not self.takes_runs:
            raise PermissionDenied(ONLY_ASKS)
        if bearer.reading is not None and not self.takes_readings:
            raise PermissionDenied(ONLY_READS)
        return Caller(bearer.principal, "token", bearer.scopes, bearer.run, bearer.reading), "token"

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class RunAuthentication(TokenAuthentication):
    """The same where running jobs may come too: they ask and report, and do nothing else."""

    takes_runs = True


class ReadingAuthentication(TokenAuthentication):
    """The same where a view is read in parts, which executors do with a token for that alone."""

    takes_readings = True


class SessionAuthentication(DrfSession):
    """The browser's session, or whom a trusted proxy names; what changes anything needs the CSRF token."""

    def authenticate(self, request: Request) -> tuple[Caller, str] | None:
        if (caller := by_proxy(request._request)) is not None:
            if _is_of_a_browser(request._request):
                self.enforce_csrf(cast("Request", request._request))
            return caller, "proxy"
        if "session" not in settings.LAKEWARDEN_AUTHENTICATORS:
            return None
        user = getattr(request._request, "user", None)
        if user is None or not user.is_active or user.principal_id is None:
            return None
        # the wrapped request would look for the CSRF token with our parsers
        self.enforce_csrf(cast("Request", request._request))
        sessions.seen(request._request, user)
        return Caller(user.principal, "session"), "session"


def by_proxy(request: HttpRequest) -> Caller | None:
    """Whom a trusted proxy names, if it does.  Raises AuthenticationFailed."""
    try:
        identity = proxy.identity_of(request)
        account = external_accounts.admit(identity) if identity is not None else None
    except (people.BadName, Invalid) as problem:
        raise AuthenticationFailed(str(problem)) from None
    return Caller(account.principal, "proxy") if account and account.principal else None


def _is_of_a_browser(request: HttpRequest) -> bool:
    """Whether another site's page could be behind a request: browsers say so where they change something."""
    return any(map(request.headers.get, ("Origin", "Referer", "Sec-Fetch-Site", "Cookie")))


def by_mere_name(name: str, request: HttpRequest) -> tuple[Caller, str]:
    """The principal of this name where `simple` is on; nobody whose account is disabled.

    From another machine nobody is let in so, whatever host they say they mean, unless LAKEWARDEN_INSECURE
    says that it is meant.  Raises AuthenticationFailed.
    """
    if not name or is_closed(name) or not (settings.LAKEWARDEN_INSECURE or is_near(request)):
        raise AuthenticationFailed(NOT_ACCEPTED)
    try:
        return Caller(people.ensure(Principal.Kind.USER, name), "simple"), "simple"
    except people.BadName:
        raise AuthenticationFailed("this is not a name") from None


def is_closed(name: str) -> bool:
    """Whether the account of a user of that name, or that signs in by it, is disabled."""
    of_name = Q(principal__kind=Principal.Kind.USER, principal__name=name) | Q(username=name)
    return holdable(name) and User.objects.filter(of_name, is_active=False).exists()


def _simple_name(scheme: str, encoded: str) -> str:
    """The name in Basic credentials whose password nobody checks; empty where that is not on."""
    if "simple" not in settings.LAKEWARDEN_AUTHENTICATORS or scheme != "basic":
        return ""
    try:
        return base64.b64decode(encoded, validate=True).decode().partition(":")[0]
    except (binascii.Error, ValueError):
        return ""


def _bearer(given: Credentials, address: str) -> tokens.Bearer | None:
    if given.scheme not in ("bearer", "basic"):
        return None
    # digests are made of what a token can look like, never of megabytes or of half characters
    if not given.secret or len(given.secret) > LONGEST_TOKEN or not given.secret.isascii():
        return None
    bearer = tokens.recognise(given.secret, address)
    if bearer is not None and given.scheme == "basic" and bearer.principal.name != given.name:
        return None
    return bearer

"""Where accounts are signed in: noted on every surface, shown to them, ended by them."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.sessions.models import Session
from django.http import HttpRequest
from django.utils import timezone

from accounts.addresses import address_of
from accounts.models import SignIn, User
from accounts.text import recordable

NOTED_AGAIN = timedelta(minutes=10)
NOTED = "noted"


def seen(request: HttpRequest, account: User) -> None:
    """Keep where the account is in use, for its owner to see and end; now and then, not at each request."""
    now, key = timezone.now(), request.session.session_key
    if key is None or now.timestamp() - request.session.get(NOTED, 0) < NOTED_AGAIN.total_seconds():
        return
    agent, address = request.META.get("HTTP_USER_AGENT", ""), address_of(request)
    note(account, key, agent=recordable(agent, 200), address=recordable(address, 45), now=now)
    request.session[NOTED] = now.timestamp()


def note(account: User, key: str, *, agent: str, address: str, now: datetime | None = None) -> None:
    """Keep that this browser is in use by the account.  One query."""
    values = {
        "account": account,
        "seen": now or timezone.now(),
        "agent": agent[:200],
        "address": address[:45],
    }
    SignIn.objects.update_or_create(key=key, defaults=values)


def of(account: User) -> Sequence[SignIn]:
    """Those that are still good, the last used first.  Two queries."""
    rows = list(SignIn.objects.filter(account=account).order_by("-seen"))
    good = Session.objects.filter(session_key__in=[row.key for row in rows], expire_date__gt=timezone.now())
    keys = set(good.values_list("session_key", flat=True))
    return [row for row in rows if row.key in keys]


def end(account: User) -> int:
    """End every session of the account, noted or not; answers how many of those noted were good until now."""
    account.session_salt = secrets.token_hex(16)
    User.objects.filter(pk=account.pk).update(session_salt=account.session_salt)
    return _delete([row.key for row in SignIn.objects.filter(account=account)])


def end_others(account: User, request: HttpRequest) -> int:
    """End every session of the account but the one of this request."""
    this = request.session.session_key or ""
    account.session_salt = secrets.token_hex(16)
    User.objects.filter(pk=account.pk).update(session_salt=account.session_salt)
    request.session[HASH_SESSION_KEY] = account.get_session_auth_hash()
    return _delete([row.key for row in SignIn.objects.filter(account=account).exclude(key=this)])


def end_one(account: User, number: int, *, but: str) -> bool:
    """End a session by its number; whether it was good until now.  The one with the key `but` stays."""
    rows = SignIn.objects.filter(account=account, pk=number).exclude(key=but)
    return bool(_delete([row.key for row in rows]))


def _delete(keys: Sequence[str]) -> int:
    ended = Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now()).count()
    Session.objects.filter(session_key__in=keys).delete()
    SignIn.objects.filter(key__in=keys).delete()
    return ended

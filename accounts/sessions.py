"""Where accounts are signed in: noted as they come, shown to them, ended by them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.contrib.sessions.models import Session
from django.utils import timezone

from accounts.models import SignIn, User

NOTED_AGAIN = timedelta(minutes=10)


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


def end(account: User, *, but: str = "", number: int | None = None) -> int:
    """End the account's sessions, all but one or only one; answers how many were good until now."""
    rows = SignIn.objects.filter(account=account).exclude(key=but)
    rows = rows.filter(pk=number) if number is not None else rows
    keys = list(rows.values_list("key", flat=True))
    ended = Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now()).count()
    Session.objects.filter(session_key__in=keys).delete()
    SignIn.objects.filter(key__in=keys).delete()
    return ended

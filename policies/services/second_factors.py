"""Second factors: an authenticator app, passkeys, and codes for when both are lost; each on the record."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal import auth as totp
from allauth.mfa.utils import decrypt
from allauth.mfa.webauthn.internal.auth import WebAuthn
from django.db import transaction
from django.utils.translation import gettext

from accounts.models import User
from policies.authority import Actor, Authority, of_system
from policies.errors import AlreadyExists
from policies.events import FACTOR_ADDED, FACTOR_REMOVED
from policies.record.change import ChangeInProgress, change
from policies.record.event_drafts import make_event

log = logging.getLogger("lakewarden.security")
APP, CODES, PASSKEY = (
    str(Authenticator.Type.TOTP),
    str(Authenticator.Type.RECOVERY_CODES),
    str(Authenticator.Type.WEBAUTHN),
)
WORDS = {APP: "an authenticator app", CODES: "recovery codes", PASSKEY: "a passkey"}
LONGEST_NAME = 60
OWN = "own second factor"


def held(account: User) -> list[Authenticator]:
    """Their second factors, the oldest first, without the codes for when these are lost.  One query."""
    return list(Authenticator.objects.filter(user=account, type__in=(APP, PASSKEY)).order_by("pk"))


def add_app(account: User, secret: str, *, by: Actor) -> None:
    """Raises AlreadyExists."""
    with change(FACTOR_ADDED, realm=None, by=by) as current:
        if Authenticator.objects.filter(user=account, type=APP).exists():
            raise AlreadyExists(gettext("You have an authenticator app already; remove it first."))
        totp.TOTP.activate(account, secret)
        _added(current, account, APP)


def add_passkey(account: User, name: str, credential: Mapping[str, Any], *, by: Actor) -> None:
    """Keep a credential that the browser made and that was checked."""
    with change(FACTOR_ADDED, realm=None, by=by) as current:
        WebAuthn.add(account, name.strip()[:LONGEST_NAME] or "Passkey", dict(credential))
        _added(current, account, PASSKEY)


def _added(current: ChangeInProgress, account: User, kind: str) -> None:
    RecoveryCodes.activate(account)
    _say(current, FACTOR_ADDED, account, kind, of_system(OWN))


def remove(account: User, number: int, *, by: Actor) -> bool:
    """Remove one; with the last the codes go too.  False when it was not there."""
    with change(FACTOR_REMOVED, realm=None, by=by) as current:
        row = next((row for row in held(account) if row.pk == number), None)
        if row is None:
            return False
        row.delete()
        if not held(account):
            Authenticator.objects.filter(user=account).delete()
        _say(current, FACTOR_REMOVED, account, row.type, of_system(OWN))
    return True


def forget(account: User, *, by: Actor, authority: Authority) -> int:
    """Remove all of somebody who lost them; answers how many."""
    with change(FACTOR_REMOVED, realm=None, by=by) as current:
        rows = held(account)
        Authenticator.objects.filter(user=account).delete()
        for row in rows:
            _say(current, FACTOR_REMOVED, account, row.type, authority)
    return len(rows)


def _say(current: ChangeInProgress, kind: str, account: User, factor: str, authority: Authority) -> None:
    concerned = [account.principal] if account.principal else []
    current.say(make_event(kind, None, *concerned, factor=WORDS[factor]), by=authority)


def new_codes(account: User) -> Sequence[str]:
    """Ten codes in the place of those there were; each is good once."""
    with transaction.atomic():
        Authenticator.objects.select_for_update().filter(user=account, type=CODES).delete()
        codes: Sequence[str] = RecoveryCodes.activate(account).generate_codes()
    return codes


def takes(account: User, code: str) -> bool:
    """Whether this is a code of their app, or one of their recovery codes; each is good once."""
    code = "".join(code.split())
    with transaction.atomic():
        row = Authenticator.objects.select_for_update().filter(user=account, type=APP).first()
        if row is not None and _is_of_app(row, code):
            row.record_usage()
            return True
        row = Authenticator.objects.select_for_update().filter(user=account, type=CODES).first()
        return row is not None and bool(RecoveryCodes(row).validate_code(code))


def takes_passkey(account: User, number: int, count: int) -> bool:
    """Whether a passkey that proved itself is the only one of its kind, by how often it says it was used.

    Each of two copies counts for itself, so one of them says sooner or later what was said before.  Many
    passkeys never count, and say 0.
    """
    with transaction.atomic():
        row = Authenticator.objects.select_for_update().get(user=account, pk=number)
        before = row.data.get("count", 0)
        if max(before, count) and count <= before:
            log.warning("a passkey of %s was refused: it counts like a copy", account.username)
            return False
        row.data["count"] = count
        row.save(update_fields=["data"])
        row.record_usage()
    return True


def _is_of_app(row: Authenticator, code: str) -> bool:
    secret = decrypt(row.data["secret"])
    for counter in totp.yield_hotp_counters_from_time():
        expected = totp.format_hotp_value(totp.hotp_value(secret, counter))
        # a code that was used once, or one before it, is no proof any more
        if counter > row.data.get("last", 0) and compare_user_code(actual=code, expected=expected):
            row.data["last"] = counter
            row.save(update_fields=["data"])
            return True
    return False

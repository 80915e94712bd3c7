"""Who came in, left or was refused, as lines of the log: what a security team's collector reads."""

from __future__ import annotations

import logging
from typing import Any

from django.http import HttpRequest

from accounts.addresses import address_of
from accounts.models import User

log = logging.getLogger("lakewarden.security")


def note_entry(sender: object, request: HttpRequest | None, user: User, **_: Any) -> None:
    """Whoever signed in, by whichever way."""
    log.info("signed in: %s from %s", user.get_username(), _place(request))


def note_leaving(sender: object, request: HttpRequest | None, user: User | None, **_: Any) -> None:
    """Whoever signed out."""
    if user is not None:
        log.info("signed out: %s from %s", user.get_username(), _place(request))


def note_refusal(
    sender: object, credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any
) -> None:
    """A wrong password or code.  A name that nobody has is left out: it may be a password, put amiss."""
    name = str(credentials.get("username", ""))
    exists = User.objects.filter(username=name).exists()
    log.warning("sign-in refused: %s from %s", name if exists else "an unknown name", _place(request))


def _place(request: HttpRequest | None) -> str:
    return address_of(request) if request is not None else "this machine"

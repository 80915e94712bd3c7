"""How many passwords are looked at in a minute: from an address, for a name, and on the whole site.

Counted in Redis for all processes together, before any password is looked at, so that guessing costs no
computing.  While Redis does not answer no password is looked at: nobody knows how many were tried.
"""

from __future__ import annotations

import hashlib
import logging
import time
from functools import cache

import redis
from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from accounts.addresses import address_of

log = logging.getLogger(__name__)
WINDOW = 60
REDIS_WITHIN = 0.5
"""Seconds for Redis to answer."""
OF_ADDRESS, OF_NAME = 5, 20
"""The parts of all tries that may come from one address, and be of one name: a fifth, a twentieth."""


class NotNow(Exception):
    """No password is looked at now; `seconds` until it can be tried again."""

    def __init__(self, text: str | Promise, status: int, seconds: int) -> None:
        super().__init__(text)
        self.text, self.status, self.seconds = text, status, seconds


def admit(request: HttpRequest, name: str) -> None:
    """Count a try.  Raises NotNow where there were too many, or nobody can count."""
    most = settings.LAKEWARDEN_SIGN_INS_A_MINUTE
    if not most:
        return
    now = time.time()
    window, rest = int(now) // WINDOW, WINDOW - int(now) % WINDOW
    # in this order: who is stopped by the address uses up nothing of the name or of the site
    limits = (
        (f"address:{_digest(address_of(request))}", max(most // OF_ADDRESS, 1)),
        (f"name:{_digest(name.casefold())}", max(most // OF_NAME, 1)),
        ("site", most),
    )
    for key, limit in limits:
        if _count(f"lakewarden:sign-ins:{window}:{key}") > limit:
            raise NotNow(gettext_lazy("Too many people tried to sign in. Try again in a minute."), 429, rest)


def _count(key: str) -> int:
    try:
        with _server(settings.REDIS_URL).pipeline(transaction=True) as pipe:
            pipe.incr(key)
            pipe.expire(key, 2 * WINDOW)
            return int(pipe.execute()[0])
    except (redis.RedisError, OSError) as problem:
        log.error("no password is looked at: Redis does not answer: %s", type(problem).__name__)
        text = gettext_lazy(
            "Signing in with a password is not possible now. Nothing was changed. Try again in a moment."
        )
        raise NotNow(text, 503, 5) from None


def _digest(text: str) -> str:
    """Redis learns no names and no addresses."""
    digest = hashlib.blake2b(text.encode(errors="replace"), key=settings.SECRET_KEY.encode()[:64])
    return digest.hexdigest()[:32]


@cache
def _server(url: str) -> redis.Redis:
    return redis.Redis.from_url(url, socket_timeout=REDIS_WITHIN, socket_connect_timeout=REDIS_WITHIN)

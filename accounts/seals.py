"""Seals: what the writer puts on a row, and everybody who decides on the row checks.

A seal is a keyed digest over all that a row states.  The key comes from LAKEWARDEN_SECRET_KEYS, which the
database does not hold, so whoever writes into the database past the console cannot make one.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from functools import cache

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from accounts.fact_content import content_of
from accounts.record import Fact

NAMED = 4
"""Bytes at the beginning of a seal that say which key made it."""
LENGTH = 32


def seal(content: bytes) -> bytes:
    """The seal of a text by the newest of the keys."""
    name, key = next(iter(_keys(_given()).items()))
    return name + _digest(content, key)


def is_sealed(content: bytes, held: bytes | memoryview | None) -> bool:
    """Whether one of the keys made that seal for that text."""
    if held is None:
        return False
    held = bytes(held)
    key = _keys(_given()).get(held[:NAMED])
    return key is not None and hmac.compare_digest(held[NAMED:], _digest(content, key))


def is_newest(held: bytes | memoryview | None) -> bool:
    """Whether the newest key made a seal; one by an older key has to be made anew before that key goes."""
    return held is not None and bytes(held)[:NAMED] == next(iter(_keys(_given())))


def seal_fact(fact: Fact) -> None:
    """Put on a fact the seal of what it states now; the writer's alone to call."""
    fact.seal = seal(content_of(fact))


def is_fact_sealed(fact: Fact) -> bool:
    """Whether a fact is as the writer left it."""
    return is_sealed(content_of(fact), fact.seal)


def _digest(content: bytes, key: bytes) -> bytes:
    return hashlib.blake2b(content, key=key, digest_size=LENGTH).digest()


def _given() -> tuple[str, ...]:
    return tuple(settings.LAKEWARDEN_SECRET_KEYS)


@cache
def _keys(given: tuple[str, ...]) -> Mapping[bytes, bytes]:
    """The keys of seals by their names, newest first: derived, so that none of them opens a connection."""
    derived = (_derived(text, b"lakewarden facts") for text in given)
    return {hashlib.sha256(b"name" + key).digest()[:NAMED]: key for key in derived}


def _derived(text: str, purpose: bytes) -> bytes:
    return HKDF(hashes.SHA256(), LENGTH, salt=None, info=purpose).derive(text.encode())

"""The site's signature: one Ed25519 key signs checkpoints and evidence; its public part is for everybody."""

from __future__ import annotations

import base64
import hashlib
from functools import cache

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings

from lakewarden.record.notes import PublicKey


def new_key() -> str:
    """A new private key as text: 32 random bytes, base64."""
    made = Ed25519PrivateKey.generate().private_bytes_raw()
    return base64.b64encode(made).decode()


def sign(message: bytes) -> bytes:
    """The signature by the newest of the site's keys, 64 bytes."""
    return _private(_keys()[0]).sign(message)


def public_key() -> PublicKey:
    """What signatures made now are checked with."""
    return _public(_keys()[0])


def public_keys() -> tuple[PublicKey, ...]:
    """The same for every key that was in use, newest first."""
    return tuple(map(_public, _keys()))


def public_pem() -> str:
    """The newest public key in the form that other programs read."""
    public = _private(_keys()[0]).public_key()
    return public.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    ).decode()


def _keys() -> tuple[str, ...]:
    return tuple(settings.LAKEWARDEN_SIGNING_KEYS)


@cache
def _private(text: str) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(base64.b64decode(text))


@cache
def _public(text: str) -> PublicKey:
    raw = _private(text).public_key().public_bytes_raw()
    return PublicKey(f"lakewarden/{hashlib.sha256(raw).hexdigest()[:8]}", raw)

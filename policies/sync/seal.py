"""Secrets of connections: encrypted at rest, opened only to connect."""

from __future__ import annotations

from urllib.parse import urlsplit

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

from policies.sync.errors import Misconfigured


def seal(text: str) -> str:
    """Encrypt under the newest key."""
    return _keys().encrypt(text.encode()).decode()


def unseal(sealed: str) -> str:
    """Decrypt under any of the keys.  Raises Misconfigured when none fits."""
    try:
        return _keys().decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise Misconfigured("no key in LAKEWARDEN_SECRET_KEYS opens this connection's secret") from None


def place_of(url: str) -> str:
    """Where a URL leads, without who and with what password: host, port and database."""
    parts = urlsplit(url)
    host = parts.hostname or "local socket"
    port = f":{parts.port}" if parts.port else ""
    return f"{host}{port}/{parts.path.lstrip('/')}"


def _keys() -> MultiFernet:
    return MultiFernet([Fernet(key) for key in settings.LAKEWARDEN_SECRET_KEYS])

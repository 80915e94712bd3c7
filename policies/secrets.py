"""Secrets of connections: encrypted at rest, opened only to connect."""

from __future__ import annotations

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

from lakewarden.backends.errors import Misconfigured
from lakewarden.backends.kinds import Kind


def encrypt(text: str) -> str:
    """Encrypt under the newest key."""
    return _keys().encrypt(text.encode()).decode()


def decrypt(encrypted: str) -> str:
    """Decrypt under any of the keys.  Raises Misconfigured when none fits."""
    try:
        return _keys().decrypt(encrypted.encode()).decode()
    except InvalidToken:
        raise Misconfigured("no key in LAKEWARDEN_SECRET_KEYS opens this connection's secret") from None


def place_of(kind: Kind, url: str) -> str:
    """Where a URL leads, without user and password: host, port, database.  Raises Misconfigured."""
    parts = kind.parts(url)
    if "folder" in parts:
        return parts["folder"]
    host = parts.get("host") or parts.get("hostaddr") or ""
    if not host or host.startswith("/"):
        return f"local socket/{parts.get('dbname', '')}".rstrip("/")
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"{host}{port}/{parts.get('dbname', '')}".rstrip("/")


def _keys() -> MultiFernet:
    return MultiFernet([Fernet(key) for key in settings.LAKEWARDEN_SECRET_KEYS])

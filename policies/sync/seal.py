"""Secrets of connections: encrypted at rest, opened only to connect."""

from __future__ import annotations

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from lakewarden.backends.errors import Misconfigured
from policies.sync.backends.mariadb_session import Address


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
    """Where a URL leads, without user and password: host, port, database.  Raises Misconfigured."""
    parts = parts_of(url)
    host = parts.get("host") or parts.get("hostaddr") or ""
    if not host or host.startswith("/"):
        return f"local socket/{parts.get('dbname', '')}".rstrip("/")
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"{host}{port}/{parts.get('dbname', '')}".rstrip("/")


def parts_of(url: str) -> dict[str, str]:
    """What the driver reads in a URL, as no other parser splits it in the same way.  Raises Misconfigured."""
    if url.startswith("mariadb://"):
        at = Address.read(url)
        host = "/" if at.socket else at.host
        return {"host": host, "port": str(at.port), "dbname": ""}
    # the driver's own words may hold the password, so they are not passed on
    if not url.startswith(("postgresql://", "postgres://")):
        raise _no_url()
    try:
        parts = {name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None}
    except (ProgrammingError, UnicodeError):
        raise _no_url() from None
    if not all(map(_is_port, filter(None, parts.get("port", "").split(",")))):
        raise _no_url()
    return parts


def _is_port(text: str) -> bool:
    return text.isdecimal() and len(text) <= 5 and 0 < int(text) < 65536


def _no_url() -> Misconfigured:
    return Misconfigured("the URL must look like postgresql://user:password@host:port/database")


def _keys() -> MultiFernet:
    return MultiFernet([Fernet(key) for key in settings.LAKEWARDEN_SECRET_KEYS])

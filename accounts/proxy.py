"""Whom a proxy in front names, in headers that count from its own addresses alone."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest

from accounts.addresses import is_trusted
from accounts.identities import Identity
from accounts.people import BadName, checked_name


def identity_of(request: HttpRequest) -> Identity | None:
    """Whom the proxy names; None where it names nobody, or where the other end is no proxy that is trusted.

    Asked is the other end of the connection itself, whatever any header says of it.  Raises BadName.
    """
    if "proxy" not in settings.LAKEWARDEN_AUTHENTICATORS:
        return None
    name = _header(request, "user")
    if not name or not is_trusted(str(request.META.get("REMOTE_ADDR", ""))):
        return None
    if "," in name:  # what a server makes of a header that came twice
        raise BadName("The proxy sends more than one name.")
    return Identity(
        checked_name(name),
        display_name=_header(request, "display_name"),
        mail=_header(request, "mail"),
        groups=_groups(request),
    )


def _groups(request: HttpRequest) -> tuple[str, ...] | None:
    if not settings.LAKEWARDEN_PROXY_HEADERS["groups"]:
        return None
    parts = (part.strip() for part in _header(request, "groups").split(","))
    return tuple(dict.fromkeys(filter(None, parts)))


def _header(request: HttpRequest, what: str) -> str:
    """The text of a header; empty where the settings name none.  Raises BadName."""
    header = settings.LAKEWARDEN_PROXY_HEADERS[what]
    text = request.headers.get(header, "") if header else ""
    try:
        return str(text).encode("latin-1").decode().strip()
    except UnicodeError:
        raise BadName(f"The proxy's header {header} is no text in UTF-8.") from None

"""What leaves the site: by which mail server, in whose name, to which chat systems, under which address."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from email.utils import parseaddr
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

TIMEOUT = 20  # seconds
BACKENDS = "django.core.mail.backends"
SCHEMES = ("smtp", "smtps", "smtp+tls")
_HOOK = re.compile(r"^(https://[^\s]+|http://(localhost|127\.0\.0\.1)[:/][^\s]*)$")
_SITE = re.compile(r"^https?://[^\s/?#@]+$")


def mail_of(url: str, var: Path) -> dict[str, Any]:
    """Django's settings for a mail server: `smtp://user:password@host:25`, `smtp+tls://…`, `smtps://…`,
    `file:/path`, `console:`; empty is a folder below `var`.  Raises ValueError without a secret in it.
    """
    if url in ("", "file:"):
        return _files(var / "mail")
    if url == "console:":
        return {"EMAIL_BACKEND": f"{BACKENDS}.console.EmailBackend"}
    if url.startswith("file:/"):
        return _files(Path(url.removeprefix("file:")))
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES or not parts.hostname or parts.path not in ("", "/") or parts.query:
        raise ValueError("not the address of a mail server")
    inside, begun = parts.scheme == "smtps", parts.scheme == "smtp+tls"
    return {
        "EMAIL_BACKEND": f"{BACKENDS}.smtp.EmailBackend",
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": parts.port or (465 if inside else 587 if begun else 25),
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_SSL": inside,
        "EMAIL_USE_TLS": begun,
        "EMAIL_TIMEOUT": TIMEOUT,
    }


def _files(folder: Path) -> dict[str, Any]:
    return {"EMAIL_BACKEND": f"{BACKENDS}.filebased.EmailBackend", "EMAIL_FILE_PATH": str(folder)}


def is_sender(text: str) -> bool:
    """Whether mail can come from it: `lake@example.org` or `Lakewarden <lake@example.org>`."""
    address = parseaddr(text)[1]
    return text.isprintable() and bool(re.fullmatch(r"[^@\s]+@[^@\s]+", address))


def is_hook(text: str) -> bool:
    return bool(_HOOK.match(text))


def is_site(text: str) -> bool:
    """Whether links can begin with it: `https://lake.example.org`, without a path."""
    return bool(_SITE.match(text))


def site_of(given: str, hosts: Sequence[str], environ: Mapping[str, str], *, public: bool) -> str:
    """What links in letters begin with: what was given, else the first host that is served."""
    if given:
        return given
    named = [host.lstrip(".") for host in hosts if host != "*"]
    if public and named:
        return f"https://{named[0]}"
    return f"http://127.0.0.1:{environ.get('PORT', '') or '8000'}"

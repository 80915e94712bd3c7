"""Styles and scripts as browsers get them: one file each, compressed, named by its content, kept for ever.

Sources stay apart in `static/`; there is no collecting step, so they are joined in memory when asked for.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles import finders
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.utils.cache import patch_vary_headers

STYLES = tuple(
    f"css/{name}.css"
    for name in (
        *("tokens", "base", "shell", "parts", "tables", "forms"),
        *("rooms", "asking", "reviews", "measures", "catalog", "print"),
    )
)
LIBRARY = "django_htmx/htmx-2.min.js"
SCRIPTS = tuple(
    f"js/{name}.js"
    for name in (
        *("console", "wait", "tree", "palette", "combo", "dates"),
        *("grid", "passkey", "review", "ticks", "walk"),
    )
)
TYPES = {
    "console.css": "text/css; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "icons.svg": "image/svg+xml",
    "favicon.svg": "image/svg+xml",
}
"""The files that every page loads, each with its type."""
NAMED = re.compile(r"(?P<stem>[a-z]+)\.(?P<digest>[0-9a-f]{12})\.(?P<kind>[a-z]+)")
FOR_EVER = "max-age=315360000, public, immutable"


@dataclass(frozen=True)
class Bundle:
    """One file: its content, the same compressed, and what its address bears."""

    content: bytes
    compressed: bytes
    digest: str


def _read(name: str) -> bytes:
    path = finders.find(name)
    if not isinstance(path, str):
        raise FileNotFoundError(name)
    return Path(path).read_bytes()


def _content(name: str) -> bytes:
    if name == "console.css":
        return b"\n".join(_read(sheet) for sheet in STYLES)
    if name == "console.js":
        # one scope for ours, as the files share helpers; the library is known to the page
        ours = b"\n".join(_read(script) for script in SCRIPTS)
        return _read(LIBRARY) + b"\n(() => {\n" + ours + b"\n})();\n"
    return _read(name)


def _made(name: str) -> Bundle:
    content = _content(name)
    digest = hashlib.sha256(content).hexdigest()[:12]
    return Bundle(content, gzip.compress(content, 9, mtime=0), digest)


_kept = cache(_made)


def bundle(name: str) -> Bundle:
    """One of TYPES; while developing it is made anew each time."""
    return (_made if settings.DEBUG else _kept)(name)


def name_of(name: str) -> str:
    """The name that browsers ask for: `console.css` becomes `console.<digest>.css`."""
    stem, _, kind = name.rpartition(".")
    return f"{stem}.{bundle(name).digest}.{kind}"


def serve_bundles(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Answer for the files of TYPES, before anything else looks at the call."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        path = request.path_info
        match = NAMED.fullmatch(path.removeprefix(settings.STATIC_URL)) if path != "/" else None
        name = f"{match['stem']}.{match['kind']}" if match else ""
        if match is None or name not in TYPES or request.method not in ("GET", "HEAD"):
            return get_response(request)
        # the file as it is now, also under the name of another release, which is then not kept
        file = bundle(name)
        zipped = "gzip" in request.headers.get("Accept-Encoding", "")
        response = HttpResponse(file.compressed if zipped else file.content, content_type=TYPES[name])
        response["Cache-Control"] = FOR_EVER if match["digest"] == file.digest else "no-store"
        if zipped:
            response["Content-Encoding"] = "gzip"
        patch_vary_headers(response, ("Accept-Encoding",))
        return response

    return answer


class CompressedPages(GZipMiddleware):
    """Pages go compressed, with bytes by chance that hide their length; other answers as they are."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if response.streaming or not response.headers.get("Content-Type", "").startswith("text/html"):
            return response
        return super().process_response(request, response)

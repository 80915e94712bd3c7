"""Addresses of static files that change with their content, without a collecting step before the start."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import StaticFilesStorage

from authzsite.runtime.static_files import bundles


def _digest(name: str) -> str | None:
    path = finders.find(name)
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12] if path else None


_remembered_digest = cache(_digest)


class VersionedStatic(StaticFilesStorage):
    """What each page loads is named by its content; another file bears its digest: `/static/one.js?v=…`."""

    def url(self, name: str | None) -> str:
        if name in bundles.TYPES:
            return super().url(bundles.name_of(name))
        address = super().url(name)
        digest = (_digest if settings.DEBUG else _remembered_digest)(name) if name else None
        return f"{address}?v={digest}" if digest else address

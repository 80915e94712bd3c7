"""What `manage.py check` says of settings that would let strangers in."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error

from authzsite.environment import dangers


def no_dangers(**_: Any) -> list[CheckMessage]:
    """The settings as they are, wherever they came from, judged as the environment is at the start."""
    if settings.LAKEWARDEN_INSECURE:
        return []
    found = dangers(settings.LAKEWARDEN_AUTHENTICATORS, settings.ALLOWED_HOSTS, debug=settings.DEBUG)
    return [Error(text, id="lakewarden.E001") for text in found]

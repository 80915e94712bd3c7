"""Where this site lets its connections lead: what the operator named, as backends are handed it."""

from __future__ import annotations

from django.conf import settings

from lakewarden.backends.network import Network


def network() -> Network:
    """What LAKEWARDEN_CONNECT_ALLOW lets this site reach."""
    return Network(tuple(settings.LAKEWARDEN_CONNECT_ALLOW), tuple(settings.LAKEWARDEN_CONNECT_SOCKETS))

"""`manage.py runserver`: the development server, which keeps the path as it was sent.

Only the escaped path tells a slash in a name from one between names.
"""

from __future__ import annotations

from typing import Any

from django.core.servers.basehttp import WSGIRequestHandler, WSGIServer
from whitenoise.runserver_nostatic.management.commands import runserver as quiet  # type: ignore[import-untyped]


class RawPathHandler(WSGIRequestHandler):
    """Names the path as gunicorn does."""

    def get_environ(self) -> dict[str, Any]:
        return {**super().get_environ(), "RAW_URI": self.path}


class RawPathServer(WSGIServer):
    def __init__(self, address: Any, handler: Any = RawPathHandler, **options: Any) -> None:
        super().__init__(address, RawPathHandler, **options)


class Command(quiet.Command):  # type: ignore[misc]
    server_cls = RawPathServer

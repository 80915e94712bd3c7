"""The site lies below no path, whatever a header says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

SAYS = b"This site lies below no path: send no header SCRIPT_NAME.\n"


def at_root(site: WSGIApplication) -> Callable[[WSGIEnvironment, StartResponse], Iterable[bytes]]:
    """The site, without calls that say it lies below a path.

    Gunicorn takes one from a header of whoever comes from this machine, a proxy too, and cuts it from the
    address: so what a proxy forbids would be asked for as something else.
    """

    def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("SCRIPT_NAME"):
            start_response("400 Bad Request", [("Content-Type", "text/plain; charset=utf-8")])
            return [SAYS]
        return site(environ, start_response)

    return application

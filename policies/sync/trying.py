"""Trying a connection before it is kept: does it answer, and what should a person know about it."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection

from lakewarden.backends import kinds
from lakewarden.backends.base import Finding
from lakewarden.backends.errors import BackendError, Misconfigured
from lakewarden.backends.kinds import Kind
from policies.sync.connections import check_allowed

MARK = "trial"
"""No connection bears this mark, so nothing out there is taken for ours."""


def tried(code: str, url: str, *, realm: str) -> list[Finding]:
    """What a connection by this URL finds; nothing is changed out there.  Raises Misconfigured."""
    kind = kinds.get(code)
    check_allowed(kind, url)
    _refuse_own(kind, url)
    try:
        source = kind.open(url, realm=realm, mark=MARK, **({"places": {}} if kind.placed else {}))
        try:
            return list(source.check())
        finally:
            source.close()
    except BackendError as error:
        return [Finding(ok=False, text=str(error), blocks=True)]


def _refuse_own(kind: Kind, url: str) -> None:
    """Raise Misconfigured for the console's own database: who governs a catalog must not govern that."""
    own, there = connection.settings_dict, kind.parts(url)
    host, port = there.get("host", ""), there.get("port") or "5432"
    if (host, port) == (str(own["HOST"]), str(own["PORT"] or "5432")) and there.get("dbname") == own["NAME"]:
        raise Misconfigured("this is the console's own database")


def reached(found: Sequence[Finding]) -> bool:
    """Whether it answered at all."""
    return any(one.ok for one in found)

"""Trying a connection before it is kept: does it answer, and what should a person know about it."""

from __future__ import annotations

from collections.abc import Sequence

from policies.sync.backends.base import Finding
from policies.sync.connections import OPENERS, check_allowed
from policies.sync.errors import BackendError

MARK = "trial"
"""No connection bears this mark, so nothing out there is taken for ours."""


def tried(kind: str, url: str, *, realm: str) -> list[Finding]:
    """What a connection by this URL finds; nothing is changed out there.  Raises Misconfigured."""
    check_allowed(url)
    try:
        source = OPENERS[kind](url, realm=realm, mark=MARK)
        try:
            return list(source.check())
        finally:
            source.close()
    except BackendError as error:
        return [Finding(ok=False, text=str(error), blocks=True)]


def reached(found: Sequence[Finding]) -> bool:
    """Whether it answered at all."""
    return any(one.ok for one in found)

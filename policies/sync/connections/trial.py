"""Trying a connection before it is kept: does it answer, and what should a person know about it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

from lakewarden.backends import kinds
from lakewarden.backends.base import Finding, Source
from lakewarden.backends.errors import BackendError
from policies.sync.connections.needs import needed
from policies.sync.connections.opening import check_allowed
from policies.sync.connections.sources import refuse_own, source_of

MARK = "trial"
"""No connection bears this mark, so nothing in the backend is taken for ours."""


@dataclass(frozen=True)
class Trial:
    """What a try of a connection found, and which system it led to, if it came that far."""

    findings: list[Finding]
    source: Source | None = None

    @property
    def reached(self) -> bool:
        """Whether it answered at all."""
        return self.source is not None and any(finding.ok for finding in self.findings)


def tried(code: str, url: str, *, realm: str, beside_us: bool = False) -> Trial:
    """What a connection by this URL finds; nothing is changed in the backend.  Raises Misconfigured.

    `beside_us`: the site's operator lets what lies in the cluster of the console's database be connected.
    """
    kind = kinds.get(code)
    check_allowed(kind, url)
    try:
        there = kind.open(url, realm=realm, mark=MARK, **needed(kind, None, MARK))
    except BackendError as error:
        return _failed(error)
    with closing(there):
        try:
            source = source_of(kind, url, there)
        except BackendError as error:
            return _failed(error)
        refuse_own(source, cluster_too=not beside_us)
        try:
            return Trial(list(there.check()), source)
        except BackendError as error:
            return _failed(error)


def _failed(error: BackendError) -> Trial:
    return Trial([Finding(ok=False, text=str(error), blocks=True)])

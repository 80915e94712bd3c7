"""A log read from its beginning, held against what was signed of it."""

from __future__ import annotations

from lakewarden.record.merkle import Frontier

Roots = dict[int, set[str]]
"""Sizes at which a log was signed, with the roots that were signed there."""


class Misfit(ValueError):
    """The log is not the one that was signed."""


class SignedLog:
    """The tree over a log's digests; `what` one entry of it is called: revision, access record."""

    def __init__(self, roots: Roots, what: str) -> None:
        self.roots, self.what, self.tree = roots, what, Frontier()

    @property
    def size(self) -> int:
        return self.tree.size

    def append(self, digest: str) -> None:
        """Take the next entry.  Raises Misfit where so many were signed, and not these."""
        self.tree.append(bytes.fromhex(digest))
        if self.size in self.roots and self.roots[self.size] != {self.tree.root().hex()}:
            raise Misfit(f"{self.what}s up to {self.size} are not those that were signed")

    def end(self) -> None:
        """No entry follows.  Raises Misfit when more were signed."""
        last = max(self.roots, default=0)
        if last > self.size:
            raise Misfit(
                f"{self.what} {last} was signed, but the record ends at {self.size}: its end was cut off"
            )

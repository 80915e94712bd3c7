"""A Merkle tree over digests, hashed as RFC 6962, section 2.1, says; leaves and hashes are bytes.

A `Frontier` is all that is needed to go on: the roots of the complete trees that the leaves so far fall into.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


def leaf_hash(leaf: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


@dataclass
class Frontier:
    """The tree of the first `size` leaves, by its complete subtrees, largest first."""

    size: int = 0
    peaks: list[bytes] = field(default_factory=list)

    def append(self, leaf: bytes) -> None:
        joined, place = leaf_hash(leaf), self.size
        while place & 1:
            joined, place = node_hash(self.peaks.pop(), joined), place >> 1
        self.peaks.append(joined)
        self.size += 1

    def root(self) -> bytes:
        """The hash that stands for all leaves; of no leaves, the hash of nothing."""
        if not self.peaks:
            return hashlib.sha256().digest()
        joined = self.peaks[-1]
        for peak in reversed(self.peaks[:-1]):
            joined = node_hash(peak, joined)
        return joined


class ProofMaker:
    """Gathers, while all leaves stream by once, what proves that some of them are in the tree.

    `wanted` are places counted from 0.  Memory grows with the proofs and not with the tree.
    """

    def __init__(self, wanted: Iterable[int]):
        self.wanted = sorted(set(wanted))
        self.proofs: dict[int, list[bytes]] = {place: [] for place in self.wanted}
        self._peaks: list[tuple[int, int, bytes]] = []  # first leaf, leaves, hash
        self.size = 0

    def append(self, leaf: bytes) -> None:
        first, leaves, joined = self.size, 1, leaf_hash(leaf)
        while self._peaks and self._peaks[-1][1] == leaves:
            before = self._peaks.pop()
            joined = self._joined(before, (first, leaves, joined))
            first, leaves = before[0], leaves * 2
        self._peaks.append((first, leaves, joined))
        self.size += 1

    def finish(self) -> bytes:
        """Close the tree; the proofs are whole from now on.  Answers the root."""
        while len(self._peaks) > 1:
            right, left = self._peaks.pop(), self._peaks.pop()
            self._peaks.append((left[0], left[1] + right[1], self._joined(left, right)))
        return self._peaks[0][2] if self._peaks else hashlib.sha256().digest()

    def _joined(self, left: tuple[int, int, bytes], right: tuple[int, int, bytes]) -> bytes:
        for place in self._inside(left):
            self.proofs[place].append(right[2])
        for place in self._inside(right):
            self.proofs[place].append(left[2])
        return node_hash(left[2], right[2])

    def _inside(self, part: tuple[int, int, bytes]) -> Sequence[int]:
        return self.wanted[bisect_left(self.wanted, part[0]) : bisect_left(self.wanted, part[0] + part[1])]


def root_from_proof(leaf: bytes, place: int, size: int, proof: Sequence[bytes]) -> bytes | None:
    """The root that a leaf at `place` of `size` leads to; None when the proof is too short or too long."""
    if not 0 <= place < size:
        return None
    joined, index, last, rest = leaf_hash(leaf), place, size - 1, list(proof)
    while last:
        if index & 1:
            joined = node_hash(rest.pop(0), joined) if rest else b""
        elif index < last:
            joined = node_hash(joined, rest.pop(0)) if rest else b""
        if not joined:
            return None
        index, last = index >> 1, last >> 1
    return joined if not rest else None

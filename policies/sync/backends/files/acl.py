"""An access list as POSIX and HDFS have it, and how to change somebody's entry and nobody else's rights.

The mask is the trap: what is given to one user may need a wider mask, and a wider mask would bring back to
life what it held down in the entries of others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce

READ, WRITE, ENTER = 4, 2, 1
EVERYTHING = READ | WRITE | ENTER
WORDS = {READ: "READ", WRITE: "WRITE", ENTER: "ENTER"}
BITS = {word: bit for bit, word in WORDS.items()}

Name = tuple[str, str]
"""Whose entry it is: `("user", id)` or `("group", id)`; an id is a number as text, or a name in HDFS."""


@dataclass(frozen=True)
class Acl:
    """Bits (4 read, 2 write, 1 enter) of the owner, the owning group, everybody else, and of those named.

    `mask` is what the group and the named can have at most; without one nothing is held down.
    """

    owner: int
    group: int
    other: int
    mask: int | None = None
    named: Mapping[Name, int] = field(default_factory=dict)

    @property
    def limit(self) -> int:
        return EVERYTHING if self.mask is None else self.mask

    @property
    def group_has(self) -> int:
        """What the owning group can do."""
        return self.group & self.limit

    def has(self, name: Name) -> int:
        """What the entry of a name lets it do; nothing when it has none."""
        return self.named.get(name, 0) & self.limit


def changed(acl: Acl, entries: Mapping[Name, int | None]) -> Acl:
    """The list in which these have exactly these bits, None for no entry; all others can do what they could.

    The mask is widened only when it must be, and then what it held down in other entries is cut off; it is
    narrowed by what only these needed.
    """
    now = {name: bits for name, bits in entries.items() if bits is not None}
    rest = {name: bits for name, bits in acl.named.items() if name not in entries}
    needed, group, mask = union(now.values()), acl.group, acl.mask
    if mask is None:
        mask = group | needed
    elif needed & ~mask:
        rest = {name: bits & mask for name, bits in rest.items()}
        group, mask = group & mask, mask | needed
    if not now and not rest:
        return Acl(acl.owner, group & mask, acl.other)
    before = union(acl.named.get(name, 0) for name in entries)
    mask &= ~(before & ~union([needed, group, *rest.values()]))
    return Acl(acl.owner, group, acl.other, mask, {**rest, **now})


def inherited(acl: Acl) -> Acl:
    """What a folder without a list for new things would hand down: its own bits, nobody named."""
    return Acl(acl.owner, acl.group_has, acl.other)


def union(bits: Iterable[int]) -> int:
    return reduce(int.__or__, bits, 0)


def words(bits: int) -> list[str]:
    """The rights that bits stand for."""
    return [word for bit, word in WORDS.items() if bits & bit]

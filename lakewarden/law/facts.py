"""Every fact that can matter to one principal in one realm, at one revision: the slice that decisions read.

Times are seconds since 1970 (float, UTC); a window that is None on a side is open there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Optional

from lakewarden.law.patterns import Texts
from lakewarden.law.principals import Principal

OWNER = "OWNER"
Key = Hashable
"""What a slice knows an object by: its number in the console, its id text in a snapshot."""


Window = tuple[Optional[float], Optional[float]]
"""When something is true: from the one moment to the other, None where it is open."""


def contains(window: Window, now: float) -> bool:
    """Whether a moment lies in a window, the beginning included, the end not."""
    start, end = window
    return (start is None or start <= now) and (end is None or now < end)


class Level(NamedTuple):
    """One object on the way from the realm's root down to the object asked about.

    Its `name` counts where rules are about texts.
    """

    type: str
    key: Key
    name: str = ""


Lineage = tuple[Level, ...]
"""Root first, the object itself last."""


class Station(NamedTuple):
    """One station between the principal and what a rule gives: a group, a role, or the principal itself."""

    kind: str
    name: str
    key: Key = None


class Rule(NamedTuple):
    """One privilege, or ownership, that reaches the principal on one object, and by which path.

    `privilege` is the dialect's own code, or OWNER.  Where the law grants on texts, `object` is such a text,
    `dataset:ns1.*`, for all but OWNER.  `via` runs from the principal to the object:
    () is direct, (group, role) is through both.
    """

    object: Key
    privilege: str
    allow: bool = True
    via: tuple[Station, ...] = ()
    valid_from: float | None = None
    valid_until: float | None = None
    opened: int = 0
    fact: Key = None

    def holds_at(self, now: float) -> bool:
        started = self.valid_from is None or self.valid_from <= now
        return started and (self.valid_until is None or now < self.valid_until)


class Bits(NamedTuple):
    """What a slice holds on one object, as integers over the dialect's privileges."""

    allow: int = 0
    deny: int = 0
    owned: bool = False


NOTHING = Bits()


@dataclass(frozen=True)
class Slice:
    """The facts of one principal in one realm at one revision, ready to be asked.

    `bits` holds the dialect's numbers for each object with facts, true from `since` until `next_change_at`.
    `selves` are the keys (roles held, own groups, own user) for conditions on itself.  `texts` are the rules
    about texts, compiled.  Made by `lakewarden.law.engine.build`.
    """

    principal: Principal
    realm: str
    dialect: str
    revision: int
    bits: dict[Key, Bits]
    rules: tuple[Rule, ...] = ()
    member: bool = False
    service_admin: bool = False
    mode: str = "on"
    selves: frozenset[Key] = field(default_factory=frozenset)
    since: float = 0.0
    next_change_at: float | None = None
    texts: Texts | None = None
    followed: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """What was worked out from these facts before, by its name."""


def next_boundary(rules: Iterable[Rule], now: float) -> float | None:
    """The next moment after `now` at which one of the rules begins or ends."""
    edges = (edge for rule in rules for edge in (rule.valid_from, rule.valid_until))
    return min((edge for edge in edges if edge is not None and edge > now), default=None)

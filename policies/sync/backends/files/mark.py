"""The mark on a folder: which entries of its access list are ours, and what the others had before.

It is kept in an extended attribute of the folder itself, so it moves with it, and a restored tree brings the
mark that belongs to its entries.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from lakewarden.backends.errors import Rejected

Theirs = tuple["int | None", "int | None"]
"""Bits that somebody else had given to a user: of the access list, of the list for new things."""


@dataclass(frozen=True)
class Ours:
    """A user of ours: their name when it was given, and their bits."""

    name: str
    bits: int


@dataclass(frozen=True)
class Mark:
    """What we have to remember of one folder; of what is in it only `theirs` and `handed_down`.

    `ours` holds for everything in the folder.  `new` are those of them whose older entries were not yet
    looked for, so none of theirs is ours so far.  `ways` only pass through to another folder.  `inside` says
    that something in the folder carries a mark too.  `handed_down` says that new things got a list before us
    that named nobody, so that it is not taken for a remainder of ours.  `elsewhere` (of the root alone) are
    folders off the usual places that carry a mark.
    """

    ours: Mapping[str, Ours] = field(default_factory=dict)
    new: frozenset[str] = frozenset()
    ways: Mapping[str, str] = field(default_factory=dict)
    theirs: Mapping[str, Theirs] = field(default_factory=dict)
    inside: bool = False
    handed_down: bool = False
    elsewhere: frozenset[tuple[str, ...]] = frozenset()

    def bits(self, user: str) -> int:
        return self.ours[user].bits if user in self.ours else 0

    def settled(self) -> frozenset[str]:
        """Those whose entries are ours."""
        return frozenset(self.ours) - self.new

    def give(self, people: Mapping[str, Ours]) -> Mark:
        """With more bits of people; who was not here before is new."""
        ours = {user: Ours(more.name, more.bits | self.bits(user)) for user, more in sorted(people.items())}
        return replace(
            self, ours={**self.ours, **ours}, new=self.new | (frozenset(people) - self.ours.keys())
        )

    def take(self, people: Mapping[str, int]) -> Mark:
        """With fewer bits; a user with none left is no longer here, and keeps what others gave them."""
        left = {user: Ours(mine.name, mine.bits & ~people.get(user, 0)) for user, mine in self.ours.items()}
        emptied = {user for user, mine in left.items() if not mine.bits}
        theirs = {
            user: bits for user, bits in self.theirs.items() if user not in emptied or user in self.ways
        }
        return replace(
            self,
            ours={user: mine for user, mine in left.items() if user not in emptied},
            new=self.new - emptied,
            theirs=theirs,
        )

    def known(self, users: Iterable[str]) -> Mark:
        """These are new no longer: what others had given them is written down."""
        return replace(self, new=self.new - frozenset(users))


NOTHING = Mark()


def attribute(realm: str, mark: str) -> str:
    """The name of one connection's attribute in its name space; those of others are none of our business."""
    return f"lakewarden.{hashlib.sha256(f'{realm}/{mark}'.encode()).hexdigest()[:12]}"


def text_of(mark: Mark) -> str:
    """The mark as it is written; "" when there is nothing to remember."""
    if mark == NOTHING:
        return ""
    parts = {
        "ours": {user: [mine.name, mine.bits] for user, mine in sorted(mark.ours.items())},
        "new": sorted(mark.new),
        "ways": dict(sorted(mark.ways.items())),
        "theirs": dict(sorted(mark.theirs.items())),
        "inside": mark.inside,
        "handed_down": mark.handed_down,
        "elsewhere": sorted(mark.elsewhere),
    }
    return json.dumps(
        {"v": 1, **{key: value for key, value in parts.items() if value}}, separators=(",", ":")
    )


def mark_in(text: str) -> Mark:
    """The mark that was written so.  Raises Rejected for what we never wrote: nothing is touched there."""
    if not text:
        return NOTHING
    try:
        parts = json.loads(text)
        if parts["v"] != 1:
            raise ValueError
        return Mark(
            ours={
                str(user): Ours(str(name), int(bits)) for user, (name, bits) in parts.get("ours", {}).items()
            },
            new=frozenset(parts.get("new", ())),
            ways={str(user): str(name) for user, name in parts.get("ways", {}).items()},
            theirs={str(user): (pair[0], pair[1]) for user, pair in parts.get("theirs", {}).items()},
            inside=bool(parts.get("inside")),
            handed_down=bool(parts.get("handed_down")),
            elsewhere=frozenset(tuple(map(str, path)) for path in parts.get("elsewhere", ())),
        )
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        raise Rejected("the mark of this console cannot be read; nothing is changed there") from None

"""What the templates draw: small values without a request or a database behind them.

Each names the template that draws it, so a page says `{% part row.who %}`.  Texts are escaped when drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy
from django.utils.translation import gettext_noop as noop

StrOrPromise: TypeAlias = "str | Promise"
"""Plain words, also such as are translated when they are drawn."""
PARTS = gettext_lazy("Parts of this page")


@dataclass(frozen=True)
class Face:
    """Round a person, square a group or a thing, dashed a service, dotted a foreigner."""

    template: ClassVar[str] = "parts/face.html"
    kind: str
    text: str = ""

    @property
    def icon(self) -> str:
        return {"group": "group", "service": "service", "foreign": "alien", "thing": self.text}.get(
            self.kind, ""
        )


@dataclass(frozen=True)
class Who:
    """A person or a thing by name, with its face and one short note."""

    template: ClassVar[str] = "parts/who.html"
    name: str
    face: Face
    note: str = ""
    url: str = ""


@dataclass(frozen=True)
class Chip:
    """One station of a path: owner, direct, role, group, from, denied, begins, ends, foreign."""

    template: ClassVar[str] = "parts/chip.html"
    kind: str
    text: str
    url: str = ""
    hidden: str = ""

    @property
    def icon(self) -> str:
        return _CHIP_ICONS[self.kind]


_CHIP_ICONS = {
    "owner": "key",
    "direct": "dot",
    "role": "role",
    "group": "group",
    "from": "down",
    "denied": "deny",
    "ends": "clock",
    "begins": "clock",
    "foreign": "alien",
}


@dataclass(frozen=True)
class Path:
    """How access comes about, from the person to the object."""

    template: ClassVar[str] = "parts/path.html"
    chips: tuple[Chip, ...]


@dataclass(frozen=True)
class State:
    """A mark and a word: ok, behind, failed, paused, unknown."""

    template: ClassVar[str] = "parts/state.html"
    kind: str
    word: StrOrPromise
    note: StrOrPromise = ""

    @property
    def icon(self) -> str:
        return {"ok": "check", "behind": "behind", "failed": "fail", "paused": "pause"}.get(
            self.kind, "unknown"
        )


@dataclass(frozen=True)
class Fact:
    """One of the four to six values under a page's name; `term` is its word on the help page."""

    label: StrOrPromise
    text: StrOrPromise = ""
    url: str = ""
    note: StrOrPromise = ""
    state: State | None = None
    term: str = ""


@dataclass(frozen=True)
class Facts:
    template: ClassVar[str] = "parts/facts.html"
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Tab:
    label: StrOrPromise
    url: str
    current: bool = False
    count: str = ""


@dataclass(frozen=True)
class Tabs:
    """Parts of one page, each with its address; `inside` are those of the part that is open."""

    template: ClassVar[str] = "parts/tabs.html"
    tabs: tuple[Tab, ...]
    label: StrOrPromise = PARTS
    inside: tuple[Tab, ...] = ()


@dataclass(frozen=True)
class Station:
    """One level of an object's lineage and what it gives."""

    name: str
    type: str
    url: str = ""
    gives: str = ""
    lit: bool = False


@dataclass(frozen=True)
class Lineage:
    template: ClassVar[str] = "parts/lineage.html"
    stations: tuple[Station, ...]


@dataclass(frozen=True)
class Crumbs:
    """Names with addresses, the nearest last."""

    template: ClassVar[str] = "parts/crumbs.html"
    crumbs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Action:
    """Something one can do, or, with a `reason`, something one cannot and why.

    `look` holds the button's classes, `more` what a screen reader needs, `key` follows `g` on the keyboard.
    """

    template: ClassVar[str] = "parts/action.html"
    label: StrOrPromise
    url: str = ""
    look: str = ""
    icon: str = ""
    more: str = ""
    reason: StrOrPromise = ""
    opens: str = ""
    key: str = ""


@dataclass(frozen=True)
class Reason:
    """Why a control is disabled, and whom to ask; `id` ties it to the control."""

    template: ClassVar[str] = "parts/reason.html"
    id: str
    text: StrOrPromise
    url: str = ""
    ask: str = ""
    icon: str = "lock"


@dataclass(frozen=True)
class DiffLine:
    """One line of what a change does: gain, lose, same, stop (still denied), lack (not usable yet)."""

    kind: str
    subject: str
    text: str
    note: str = ""
    url: str = ""
    link: str = ""

    @property
    def sign(self) -> str:
        return _SIGNS[self.kind][0]

    @property
    def word(self) -> str:
        return gettext(_SIGNS[self.kind][1])


_SIGNS = {
    "gain": ("+", noop("Gains")),
    "lose": ("−", noop("Loses")),
    "same": ("=", noop("Unchanged")),
    "stop": ("⊘", noop("Stays denied")),
    "lack": ("!", noop("Not yet usable")),
    "change": ("~", noop("Changes")),
}


@dataclass(frozen=True)
class Diff:
    template: ClassVar[str] = "parts/diff.html"
    lines: tuple[DiffLine, ...]


@dataclass(frozen=True)
class Count:
    number: str
    words: str
    kind: str = ""


@dataclass(frozen=True)
class Tally:
    template: ClassVar[str] = "parts/tally.html"
    counts: tuple[Count, ...]


@dataclass(frozen=True)
class TreeNode:
    """One node of a decision; `mark` is yes, no, deny, na or unsure, `line` is lit, gap or empty."""

    mark: str
    text: str
    note: str = ""
    need: str = ""
    line: str = ""
    strong: bool = False
    path: Path | None = None
    children: tuple[TreeNode, ...] = ()

    @property
    def icon(self) -> str:
        return {"yes": "check", "no": "cross", "deny": "deny", "na": "minus"}.get(self.mark, "unknown")

    @property
    def word(self) -> str:
        return gettext(_MARKS[self.mark])


_MARKS = {
    "yes": noop("Holds"),
    "no": noop("Missing"),
    "deny": noop("Denied"),
    "na": noop("Not granted, not needed"),
    "unsure": noop("Unknown"),
}


@dataclass(frozen=True)
class DecisionTree:
    template: ClassVar[str] = "parts/decision.html"
    root: TreeNode


@dataclass(frozen=True)
class Verdict:
    template: ClassVar[str] = "parts/verdict.html"
    mark: str
    heading: StrOrPromise
    text: StrOrPromise
    level: int = 2

    @property
    def icon(self) -> str:
        return TreeNode(self.mark, "").icon

    @property
    def word(self) -> str:
        return gettext(_MARKS[self.mark])


@dataclass(frozen=True)
class Case:
    """One way out of a refusal; the narrowest has the lit edge.  `send`: an address for who can give it."""

    template: ClassVar[str] = "parts/case.html"
    id: str
    heading: str
    lines: tuple[DiffLine, ...]
    text: str
    best: bool = False
    actions: tuple[Action, ...] = ()
    send_to: str = ""
    send: str = ""


@dataclass(frozen=True)
class Moment:
    """What happened once: gain, lose, now or plain."""

    text: str
    when: str
    kind: str = ""
    reason: str = ""
    url: str = ""


@dataclass(frozen=True)
class Timeline:
    template: ClassVar[str] = "parts/timeline.html"
    moments: tuple[Moment, ...]


@dataclass(frozen=True)
class Note:
    """Something to know before reading on; plain, warn or bad.  At most one on a page."""

    template: ClassVar[str] = "parts/note.html"
    kind: str
    strong: StrOrPromise
    text: StrOrPromise = ""
    url: str = ""
    link: StrOrPromise = ""

    @property
    def icon(self) -> str:
        return {"warn": "warn", "bad": "fail"}.get(self.kind, "help")


@dataclass(frozen=True)
class Empty:
    """What is true, why, and the next step; not `drawn` where a list is only filtered to nothing."""

    template: ClassVar[str] = "parts/empty.html"
    heading: StrOrPromise
    text: StrOrPromise = ""
    drawn: bool = True
    actions: tuple[Action, ...] = ()
    level: int = 3

"""What the templates draw around lists: pages, filters, the catalog's tree, what waits, numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from authzsite.console.kit.display.parts import Action, Face, State, StrOrPromise


@dataclass(frozen=True)
class Pager:
    """Where in a list one is, and the addresses of what comes before and after."""

    template: ClassVar[str] = "parts/pager.html"
    text: str
    previous: str = ""
    next: str = ""
    csv: str = ""


@dataclass(frozen=True)
class Leaf:
    """One object in the catalog's tree; `children` are drawn when it is open."""

    id: str
    name: str
    icon: str
    url: str
    level: int
    place: int
    of: int
    count: str = ""
    opens: str = ""
    open: bool = False
    here: bool = False
    children: tuple[Leaf, ...] = ()
    more: str = ""
    more_words: str = ""


@dataclass(frozen=True)
class Nodes:
    """A level of the tree, with the address of what follows."""

    template: ClassVar[str] = "parts/nodes.html"
    leaves: tuple[Leaf, ...]
    level: int = 1
    more: str = ""
    more_words: str = ""


@dataclass(frozen=True)
class Toggle:
    """A filter that the address remembers."""

    label: StrOrPromise
    url: str
    current: bool = False
    count: str = ""


@dataclass(frozen=True)
class Letter:
    """How many names begin with a letter, as a bar; without an address where none does."""

    letter: str
    count: str
    url: str
    height: int
    top: int
    here: bool


@dataclass(frozen=True)
class Letters:
    """Where the names of a long list begin, to jump by."""

    template: ClassVar[str] = "parts/letters.html"
    letters: tuple[Letter, ...]


@dataclass(frozen=True)
class Item:
    """One line of the list of what waits."""

    template: ClassVar[str] = "parts/item.html"
    face: Face
    subject: str
    text: str
    note: str
    action: Action
    object: str = ""
    url: str = ""
    tail: str = ""


@dataclass(frozen=True)
class Spark:
    """A small line of numbers: the paths of its area and of its edge, and the same in words."""

    template: ClassVar[str] = "parts/spark.html"
    area: str
    line: str
    text: str


@dataclass(frozen=True)
class Tile:
    label: str
    number: str
    text: str = ""
    url: str = ""
    state: State | None = None
    spark: Spark | None = None

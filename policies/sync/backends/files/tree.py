"""A tree of files as the backends for files see it, wherever it is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from lakewarden.backends.base import Source
from lakewarden.backends.errors import BackendError, Gone
from policies.sync.backends.files.acl import Acl

Path = tuple[str, ...]
"""Names from the root of the tree downward."""

Troubled = Callable[[BackendError, Path], None]
"""Hears what could not be read or done, and where; the walk goes on beside it."""


@dataclass(frozen=True)
class Node:
    """A folder or file with its lists.  `handed_down` is what new things in a folder get.

    `shape` is equal for things that are alike in all of this, and cheap to compare.  `other_names`: the file
    lies somewhere else too, by a hard link.
    """

    path: Path
    folder: bool
    owner: str
    group: str
    access: Acl
    handed_down: Acl | None
    shape: Hashable
    other_names: bool = False
    handle: Any = None


@dataclass(frozen=True)
class Entry:
    """A file or folder in a folder: its own name, bytes, and seconds since 1970 when it was changed last."""

    name: str
    folder: bool
    size: int
    modified: float


@dataclass
class Troubles:
    """What went wrong on a walk; what is gone by now is no trouble."""

    first: BackendError | None = None
    left_out: list[str] = field(default_factory=list)

    def __call__(self, error: BackendError, path: Path) -> None:
        if not isinstance(error, Gone) and self.first is None:
            self.first = type(error)(f"{'/'.join(path) or 'the root'}: {error}")

    def leave_out(self, text: str) -> None:
        """Something that is not ours to walk, in words."""
        if len(self.left_out) < 20:
            self.left_out.append(text)


class Tree(Protocol):
    """What the machine's own file systems and HDFS have in common.  Everything raises BackendError.

    `everything` is the id of the account, and of its group, that nothing holds back anyway.
    """

    everything: str

    def close(self) -> None:
        """Let go of connections."""

    def source(self) -> Source:
        """Which tree this is, whatever leads to it."""

    def alone(self) -> AbstractContextManager[None]:
        """Keep other workers out meanwhile.  Raises Transient."""

    def top(self, path: Path) -> AbstractContextManager[Node]:
        """A folder by its path; no link is followed to it.  Raises Gone."""

    def id_of(self, node: Node) -> str:
        """What tells a folder from another that bore its name before, and survives a rename."""

    def folders(self, node: Node) -> Iterator[Node]:
        """The folders in a folder, each to be used before the next is asked for."""

    def entries(self, node: Node) -> Iterator[Entry]:
        """The files and folders in a folder; links and what is mounted there are left out."""

    def below(self, node: Node, skip: Collection[Path], troubles: Troubles) -> Iterator[Node]:
        """All files and folders in a folder, a folder before what it holds; in constant memory.

        Each is to be used before the next is asked for.  Folders in `skip` are left out.
        """

    def write(self, node: Node, access: Acl) -> None:
        """Replace the list at once."""

    def hand_down(self, node: Node, acl: Acl | None) -> None:
        """Replace the list that new things in a folder get at once; None takes it away."""

    def mark(self, node: Node) -> str:
        """The text of our mark; "" when there is none."""

    def set_mark(self, node: Node, text: str) -> None:
        """Replace the text at once; "" takes the mark away."""

    def user(self, name: str) -> str | None:
        """The id of the account of a person; None when they have none here."""

    def named(self, user: str) -> str | None:
        """Whose account an id is now; None when nobody's."""

    def group(self, group: str) -> tuple[str, frozenset[str]]:
        """The name of a group, and the people in it as far as that is known."""

    def group_id(self, name: str) -> str | None:
        """The id of a group."""

    def inside(self, location: str) -> Path | None:
        """Where in the tree a storage location is; None when it is outside."""

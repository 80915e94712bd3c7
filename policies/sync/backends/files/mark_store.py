"""Where marks are kept so that those whom they concern cannot forge them.

Anybody who may write in a folder may set its attributes of users, and could so pass a right of theirs for one
that others gave, to keep it when ours is taken.  Attributes of the name space `trusted` are only root's, or a
superuser's of HDFS.  Which of the two a tree has is written at its root, where nobody of ours may write.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from lakewarden.backends.errors import BackendError, Misconfigured, Rejected, Transient
from policies.sync.backends.files.tree import Node, Path

TRUSTED, USER = "trusted", "user"


class Attributes(Protocol):
    """A tree whose files and folders have attributes."""

    def top(self, path: Path) -> AbstractContextManager[Node]:
        """A folder by its path."""

    def attribute(self, node: Node, name: str) -> str:
        """The text of an attribute; "" when there is none, or when it may not be seen."""

    def set_attribute(self, node: Node, name: str, text: str) -> None:
        """Replace the text at once; "" takes the attribute away."""


class Kept:
    """The marks of one connection in a tree."""

    def __init__(self, tree: Attributes, name: str) -> None:
        self._tree, self.name, self._space = tree, name, ""

    def read(self, node: Node) -> str:
        """The text of the mark; "" when there is none."""
        space = self.space()
        return self._tree.attribute(node, f"{space}.{self.name}") if space else ""

    def write(self, node: Node, text: str) -> None:
        """Replace the text at once; "" takes the mark away."""
        self._tree.set_attribute(node, f"{self.space() or self._begin()}.{self.name}", text)

    def space(self) -> str:
        """The name space that was chosen; "" when there is no mark yet.  Raises Misconfigured.

        Who cannot see what others wrote there must not take it for absent.
        """
        if not self._space:
            with self._tree.top(()) as root:
                space = self._tree.attribute(root, f"{USER}.{self.name}.kept")
                seen = self._tree.attribute(root, f"{TRUSTED}.{self.name}.kept")
            if space not in ("", TRUSTED, USER) or (space == TRUSTED and not seen):
                raise Misconfigured(
                    "its marks are kept where only root, or a superuser of HDFS, can see them: come as that"
                )
            self._space = space
        return self._space

    def _begin(self) -> str:
        with self._tree.top(()) as root:
            try:
                self._tree.set_attribute(root, f"{TRUSTED}.{self.name}.kept", TRUSTED)
                space = TRUSTED
            except Transient:
                raise
            except (Misconfigured, Rejected):
                space = USER
            self._tree.set_attribute(root, f"{USER}.{self.name}.kept", space)
        self._space = space
        return space


def forgeable(kept: Kept) -> str:
    """What to tell of marks that people could forge; "" when they cannot."""
    try:
        if kept.space() != USER:
            return ""
    except BackendError as error:
        return str(error)
    return (
        "its marks can be forged by whoever may write in a folder, who could so keep a right that is taken: "
        "connect it as root with CAP_SYS_ADMIN, or as a superuser of HDFS, before anything is given"
    )

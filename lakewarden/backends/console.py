"""What the console hands to a kind of backend that says it needs it (`lakewarden.backends.kinds.NEEDS`).

Settings, secrets and tables stay on the console's side of these calls, so a kind needs no Django (adr 0016).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from lakewarden.backends.base import Right

PEOPLE = ("user", "service")
"""The kinds of principals that sign in somewhere."""


class Fact(NamedTuple):
    """A right that somebody holds in the backend themselves."""

    holder: str
    right: Right


class Record(Protocol):
    """What is ours in a system without marks: what was written down before it was written in the backend."""

    @property
    def mark(self) -> str:
        """The mark of the connection that the record is about."""

    def seen(self, present: Collection[Fact], *, complete: bool = True) -> Mapping[Fact, bool]:
        """What of all that is there is ours, and whether others gave it too.

        What is no longer there is struck out, so that it is not taken for ours when somebody else gives it.
        An incomplete look strikes out nothing.
        """

    def holders(self) -> Collection[str]:
        """Everybody who was given something."""

    def give(self, facts: Iterable[Fact], present: Collection[Fact]) -> None:
        """Write down what is about to be given; `present` is what is there already."""

    def given(self, facts: Iterable[Fact]) -> None:
        """It is there."""

    def take(self, facts: Iterable[Fact]) -> Sequence[Fact]:
        """Write down what is about to be taken; answers those that are ours to take in the backend."""

    def taken(self, facts: Iterable[Fact]) -> None:
        """It is gone."""

    def own(self, facts: Iterable[Fact]) -> Sequence[Fact]:
        """What others gave is adopted or revoked; answers those that are to go there."""


class Peers(Protocol):
    """Which other consoles this one carries its decisions into."""

    def own_site(self) -> str:
        """The number of this site."""

    def is_known(self, mark: str, source: str, target: str) -> bool:
        """Whether the other side of a connection was asked lately, and about the same two realms."""

    def remember(self, mark: str, *, site: str, source: str, target: str) -> None:
        """Keep what the other side answered: its site's number, "" when it is no console."""


class Holder(Protocol):
    """Somebody whom facts speak of: a user, a service, a group or a pattern of names."""

    @property
    def pk(self) -> int:
        """The number by which facts know them."""

    @property
    def kind(self) -> str:
        """user, service, group or pattern."""

    @property
    def name(self) -> str:
        """What they are called here."""


class Directory(Protocol):
    """Who has to do with the connected realm, read anew by each call."""

    def admitted(self, *kinds: str) -> Sequence[Holder]:
        """Whom the realm admits now, of these kinds, in the order of their numbers."""

    def holders(self) -> Sequence[Holder]:
        """People, services and patterns that something was given to, by themselves or by a group."""

    def settings(self) -> Mapping[str, Any]:
        """The realm's own settings, such as the generation of its law."""

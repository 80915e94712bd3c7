"""What states a thing goes through: one table; the moves are made from it and its page is drawn from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext

from policies.errors import Conflict


@dataclass(frozen=True)
class Move:
    """One step of a life: from any of the `sources` to the `target`; `says` tells who takes it and when."""

    name: str
    sources: tuple[str, ...]
    target: str
    says: str


@dataclass(frozen=True)
class States:
    """The life of one kind of thing: where it begins, what each state is called, what may happen to it.

    `name` is what such a thing is called in a sentence ("request"); `words` has every state, in order, with
    what people read for it.
    """

    name: str
    initial: str
    words: Mapping[str, str]
    moves: tuple[Move, ...]

    def __post_init__(self) -> None:
        named = {self.initial, *(state for move in self.moves for state in (*move.sources, move.target))}
        if named != set(self.words):
            raise ValueError(f"the states of a {self.name} and their words differ: {named ^ set(self.words)}")
        if len(self._by_name) != len(self.moves):
            raise ValueError(f"two moves of a {self.name} have one name")

    @cached_property
    def _by_name(self) -> dict[str, Move]:
        return {move.name: move for move in self.moves}

    @property
    def choices(self) -> list[tuple[str, str]]:
        """The states as the choices of a model's field."""
        return list(self.words.items())

    @property
    def ends(self) -> frozenset[str]:
        """The states that nothing leads out of."""
        left = {state for move in self.moves for state in move.sources}
        return frozenset(self.words.keys() - left)

    def get(self, name: str) -> Move:
        """The move of that name.  Raises KeyError."""
        return self._by_name[name]

    def can(self, state: str, name: str) -> bool:
        """Whether the move leads out of the state."""
        return state in self._by_name[name].sources

    def open_to(self, state: str) -> tuple[str, ...]:
        """The names of the moves that lead out of a state."""
        return tuple(move.name for move in self.moves if state in move.sources)

    def move(self, rows: QuerySet[Any], name: str, **values: Any) -> int:
        """Take the step with every row that stands where it begins, in one statement; answers how many.

        Of two who move the same row at once one wins.  Raises Conflict, saying how things stand, when no row
        was moved.
        """
        step = self._by_name[name]
        moved = rows.filter(state__in=step.sources).update(state=step.target, **values)
        if not moved:
            raise Conflict(self.too_late(rows.values_list("state", flat=True).first()))
        return moved

    def too_late(self, state: str | None) -> str:
        """What the loser of a race is told, and who comes when it is over."""
        if state is None:
            return gettext("This %(name)s no longer exists.") % {"name": gettext(self.name)}
        return gettext("This %(name)s is now %(state)s; check it again.") % {
            "name": gettext(self.name),
            "state": gettext(self.words[state]),
        }

    def drawn(self) -> str:
        """The life as a picture and a table, in markdown."""
        arrows = [
            f"    {source} --> {move.target}: {move.name}" for move in self.moves for source in move.sources
        ]
        picture = ["```mermaid", "stateDiagram-v2", f"    [*] --> {self.initial}", *arrows]
        picture += [f"    {state} --> [*]" for state in self.words if state in self.ends]
        rows = [self._row(move) for move in self.moves]
        return "\n".join([*picture, "```", "", *_table(("move", "from", "to", "what it means"), rows)]) + "\n"

    def _row(self, move: Move) -> tuple[str, ...]:
        sources = ", ".join(self.words[state] for state in move.sources)
        return f"`{move.name}`", sources, self.words[move.target], move.says


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows)]

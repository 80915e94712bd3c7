"""What a change does over several objects: who gains or loses by it, and its lines, losses first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from django.utils.translation import gettext

from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Count, DiffLine, Tally
from catalog.nodes import Node
from policies.previews.grants import Preview

MOST = 40
"""So many lines are shown besides the losses, which are never folded away."""


@dataclass(frozen=True)
class OverObjects:
    parts: Sequence[tuple[Node, Preview]]
    removal: bool = False

    @cached_property
    def lines(self) -> list[DiffLine]:
        raise NotImplementedError

    @cached_property
    def _several(self) -> set[str]:
        """The names that more than one of the objects has."""
        counted = Counter(node.name for node, _ in self.parts)
        return {name for name, many in counted.items() if many > 1}

    def called(self, node: Node) -> str:
        """Its name, or all of it where another one is called the same."""
        return node.ref.full_name if node.name in self._several else node.name

    def count(self, kind: str) -> int:
        """How many people lose, or gain, something on at least one of the objects."""
        every = (effect for _, preview in self.parts for effect in preview.effects)
        return len({effect.principal.pk for effect in every if effect.kind == kind})

    def tally(self) -> Tally:
        counts = ((kind, self.count(kind)) for kind in ("lose", "gain"))
        return Tally(
            tuple(Count(words.number(many), self.outcome(kind, many), kind) for kind, many in counts if many)
        )

    def outcome(self, kind: str, many: int) -> str:
        """What is said of so many people who lose, or gain."""
        every = (effect for _, preview in self.parts for effect in preview.effects if effect.kind == kind)
        return words.outcome(kind, many, services=any(item.principal.kind == "service" for item in every))

    def sum(self) -> str:
        """5 people gain rights, 1 person loses rights."""
        parts = [f"{count.number} {count.words}" for count in self.tally().counts]
        return f"{', '.join(parts)}." if parts else ""

    def folded(self) -> list[DiffLine]:
        losses = [line for line in self.lines if line.kind == "lose"]
        rest = [line for line in self.lines if line.kind != "lose"]
        more = len(rest) - MOST
        last = (
            [
                DiffLine(
                    "same",
                    gettext("%(more)s more lines") % {"more": words.number(more)},
                    gettext("are like these."),
                )
            ]
            if more > 0
            else []
        )
        return [*losses, *rest[:MOST], *last]

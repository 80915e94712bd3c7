"""What a change of a role does, over all its objects, as counted lines: losses first, never folded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from authzsite.console import words
from authzsite.console.effects import Shown
from authzsite.console.parts import Count, Diff, DiffLine, Tally
from catalog.nodes import Node
from policies.preview import Preview

ORDER = ("lose", "gain", "lack", "stop")
MOST = 40
"""More lines than this are only written for losses."""


@dataclass(frozen=True)
class Foretold:
    parts: Sequence[tuple[Node, Preview]]
    removal: bool = False

    @cached_property
    def lines(self) -> list[DiffLine]:
        shown = [Shown(preview, node, removal=self.removal).diff().lines for node, preview in self.parts]
        every = [line for lines in shown for line in lines if line.kind in ORDER]
        return sorted(every, key=lambda line: ORDER.index(line.kind))

    def count(self, kind: str) -> int:
        """How many people lose, or gain, something on at least one of the objects."""
        every = (effect for _, preview in self.parts for effect in preview.effects)
        return len({effect.principal.pk for effect in every if effect.kind == kind})

    def tally(self) -> Tally:
        told = []
        for kind, one, many in (("lose", "loses", "lose"), ("gain", "gains", "gain")):
            number = self.count(kind)
            if number:
                told.append(Count(words.number(number), f"{one if number == 1 else many} something", kind))
        return Tally(tuple(told))

    def diff(self) -> Diff:
        losses = [line for line in self.lines if line.kind == "lose"]
        rest = [line for line in self.lines if line.kind != "lose"]
        lines = [*losses, *rest[:MOST]]
        if len(rest) > MOST:
            lines.append(DiffLine("same", f"{words.number(len(rest) - MOST)} more lines", "are like these."))
        if not lines:
            lines.append(DiffLine("same", "Nobody", "gains or loses anything by it now."))
        return Diff(tuple(lines))

    def sum(self) -> str:
        """5 gain something, 1 loses something."""
        told = [f"{count.number} {count.words}" for count in self.tally().counts]
        return f"{', '.join(told)}." if told else ""

"""What a change does on many objects, told together: lines that say the same of several become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from authzsite.console import words
from authzsite.console.effects import Shown
from authzsite.console.foretold import MOST
from authzsite.console.parts import Count, Diff, DiffLine, Tally
from catalog.nodes import Node
from policies.preview import Preview

ORDER = ("lose", "gain", "lack", "same", "stop")
STAND_IN = "\N{OBJECT REPLACEMENT CHARACTER}"
NAMED = 3


@dataclass(frozen=True)
class Together:
    """The previews of several objects; losses first, and never folded away."""

    parts: Sequence[tuple[Node, Preview]]
    removal: bool = False

    @cached_property
    def lines(self) -> list[DiffLine]:
        alike: dict[DiffLine, list[str]] = {}
        for node, preview in self.parts:
            anyone = replace(node, names=(*node.names[:-1], STAND_IN))
            for line in Shown(preview, anyone, removal=self.removal).diff().lines:
                alike.setdefault(line, []).append(node.name)
        told = [self._line(line, names) for line, names in alike.items()]
        return sorted(told, key=lambda line: ORDER.index(line.kind))

    def _line(self, line: DiffLine, names: Sequence[str]) -> DiffLine:
        on = words.listed(names, NAMED)
        if STAND_IN in line.text:
            return replace(line, text=line.text.replace(STAND_IN, on), note=line.note.replace(STAND_IN, "it"))
        told = f"On {on}. " if len(self.parts) > 1 else ""
        return replace(line, note=told + line.note.replace(STAND_IN, on))

    def count(self, kind: str) -> int:
        """How many people lose, or gain, something on at least one of the objects."""
        every = (effect for _, preview in self.parts for effect in preview.effects)
        return len({effect.principal.pk for effect in every if effect.kind == kind})

    def tally(self) -> Tally:
        told = []
        for kind, one, many in (("lose", "loses", "lose"), ("gain", "gains", "gain")):
            number = self.count(kind)
            if number:
                told.append(Count(words.number(number), one if number == 1 else many, kind))
        return Tally(tuple(told))

    def diff(self) -> Diff:
        losses = [line for line in self.lines if line.kind == "lose"]
        rest = [line for line in self.lines if line.kind != "lose"]
        more = len(rest) - MOST
        folded = [DiffLine("same", f"{words.number(more)} more lines", "are like these.")] if more > 0 else []
        return Diff((*losses, *rest[:MOST], *folded))

    def sum(self) -> str:
        """5 gain, 1 loses."""
        told = [f"{count.number} {count.words}" for count in self.tally().counts]
        return f"{', '.join(told)}." if told else ""

"""What a change of a role does, over all its objects, as counted lines: losses first, never folded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from authzsite.console import words
from authzsite.console.effects import NAMES, SIGNS, Shown
from authzsite.console.parts import Count, Diff, DiffLine, Tally
from catalog.nodes import Node
from policies.preview import Preview
from policies.role_preview import RolePreview

ORDER = ("lose", "gain", "lack", "stop")
MOST = 40
"""From more lines than this there is one for each person, and more than this only for losses."""
PEOPLE = 150
TOLD = {
    "lose": "loses something on",
    "gain": "may do more on",
    "lacking": "cannot use yet what it gives on",
    "denied": "stays denied on",
}


@dataclass(frozen=True)
class Foretold:
    parts: Sequence[tuple[Node, Preview]]
    removal: bool = False
    left_out: int = 0

    @classmethod
    def of_role(cls, preview: RolePreview, *, removal: bool = False) -> Foretold:
        return cls(preview.parts, removal, preview.left_out)

    @cached_property
    def lines(self) -> list[DiffLine]:
        shown = [Shown(preview, node, removal=self.removal).diff().lines for node, preview in self.parts]
        every = [line for lines in shown for line in lines if line.kind in ORDER]
        if len(every) > MOST:
            every = list(self._by_person())
        return sorted(every, key=lambda line: ORDER.index(line.kind))

    def _by_person(self) -> Iterable[DiffLine]:
        """Of many objects a line for each person: what becomes of him, and on which."""
        found: dict[tuple[str, int], tuple[str, list[str]]] = {}
        for node, preview in self.parts:
            for effect in preview.effects:
                if effect.kind in TOLD:
                    key = (effect.kind, effect.principal.pk)
                    found.setdefault(key, (effect.principal.label, []))[1].append(node.ref.full_name)
        for at, ((kind, _), (label, names)) in enumerate(found.items()):
            if at < PEOPLE:
                text = f"{TOLD[kind]} {words.count(len(names), 'object')}"
                yield DiffLine(SIGNS[kind], label, text, words.listed(names, NAMES))
        if len(found) > PEOPLE:
            yield DiffLine("lose", words.number(len(found) - PEOPLE), "more people are concerned likewise.")

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
        if self.left_out:
            what = words.count(self.left_out, "more object")
            lines.append(DiffLine("lack", what, "are not foretold here", "They are changed all the same."))
        if not lines:
            lines.append(DiffLine("same", "Nobody", "gains or loses anything by it now."))
        return Diff(tuple(lines))

    def sum(self) -> str:
        """5 gain something, 1 loses something."""
        told = [f"{count.number} {count.words}" for count in self.tally().counts]
        return f"{', '.join(told)}." if told else ""

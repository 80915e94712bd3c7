"""What a change of a role does, over all its objects, as counted lines: losses first, never folded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from django.utils.translation import gettext, gettext_lazy

from authzsite.console.access.effects import NAMES, SIGNS, Shown
from authzsite.console.access.effects_over_objects import MOST, OverObjects
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Diff, DiffLine
from policies.previews.roles import RolePreview

ORDER = ("lose", "gain", "lack", "stop")
PEOPLE = 150
TOLD = {
    "lose": gettext_lazy("loses something on %(objects)s"),
    "gain": gettext_lazy("may do more on %(objects)s"),
    "lacking": gettext_lazy("cannot use it yet on %(objects)s"),
    "denied": gettext_lazy("stays denied on %(objects)s"),
}


@dataclass(frozen=True)
class Foretold(OverObjects):
    left_out: int = 0

    @classmethod
    def of_role(cls, preview: RolePreview, *, removal: bool = False) -> Foretold:
        return cls(preview.parts, removal, preview.left_out)

    @cached_property
    def lines(self) -> list[DiffLine]:
        shown = [
            Shown(preview, node, removal=self.removal, called=self.called(node))
            for node, preview in self.parts
        ]
        every = [line for item in shown for line in item.diff().lines if line.kind in ORDER]
        if len(every) > MOST:  # then a line for each person says it shorter
            every = list(self._by_person())
        return sorted(every, key=lambda line: ORDER.index(line.kind))

    def _by_person(self) -> Iterable[DiffLine]:
        """Of many objects a line for each person: what becomes of them, and on which."""
        changes: dict[tuple[str, int], tuple[str, list[str]]] = {}
        for node, preview in self.parts:
            for effect in preview.effects:
                if effect.kind in TOLD:
                    key = (effect.kind, effect.principal.pk)
                    changes.setdefault(key, (effect.principal.label, []))[1].append(node.ref.full_name)
        for at, ((kind, _), (label, names)) in enumerate(changes.items()):
            if at < PEOPLE:
                text = TOLD[kind] % {"objects": words.count(len(names), "object")}
                yield DiffLine(SIGNS[kind], label, text, words.listed(names, NAMES))
        if len(changes) > PEOPLE:
            yield DiffLine(
                "lose",
                words.number(len(changes) - PEOPLE),
                gettext("more people are affected in the same way."),
            )

    def diff(self) -> Diff:
        lines = self.folded()
        if self.left_out:
            what = words.count(self.left_out, "more object")
            lines.append(
                DiffLine(
                    "lack", what, gettext("are not in the preview"), gettext("They are changed as well.")
                )
            )
        if not lines:
            lines.append(DiffLine("same", gettext("Nobody"), gettext("gains or loses access now.")))
        return Diff(tuple(lines))

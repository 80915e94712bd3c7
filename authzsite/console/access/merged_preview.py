"""What a change does on many objects, told together: lines that say the same of several become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from django.utils.translation import gettext as _

from authzsite.console.access.effects import Shown
from authzsite.console.access.effects_over_objects import OverObjects
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Diff, DiffLine

ORDER = ("lose", "gain", "lack", "same", "stop")
STAND_IN = "\N{OBJECT REPLACEMENT CHARACTER}"
NAMED = 3


@dataclass(frozen=True)
class Together(OverObjects):
    """The previews of several objects."""

    @cached_property
    def lines(self) -> list[DiffLine]:
        alike: dict[DiffLine, list[str]] = {}
        for node, preview in self.parts:
            anyone = replace(node, names=(*node.names[:-1], STAND_IN))
            for line in Shown(preview, anyone, removal=self.removal).diff().lines:
                alike.setdefault(line, []).append(self.called(node))
        lines = [self._line(line, names) for line, names in alike.items()]
        return sorted(lines, key=lambda line: ORDER.index(line.kind))

    def _line(self, line: DiffLine, names: Sequence[str]) -> DiffLine:
        on = words.listed(names, NAMED)
        if STAND_IN in line.text:
            return replace(line, text=line.text.replace(STAND_IN, on), note=line.note.replace(STAND_IN, "it"))
        remark = _("On %(on)s.") % {"on": on} if len(self.parts) > 1 else ""
        note = " ".join(filter(None, (remark, line.note.replace(STAND_IN, on))))
        return replace(line, note=note)

    def diff(self) -> Diff:
        return Diff(tuple(self.folded()))

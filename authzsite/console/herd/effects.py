"""What turning entries would do, in words: losses first, never folded; what works only with the role."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.urls import reverse

from authzsite.console.herd.context import GRANTING, HerdContext
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Count, Diff, DiffLine, Tally
from lakewarden.law import engine
from lakewarden.law.dialects.herd.permissions import ON_NAMESPACE, PERMISSIONS
from policies.models import Grant
from policies.previews.entries import Outcome
from policies.services.entries import Turn

NAMES = 12
ORDER = ("lose", "gain", "lack", "same")


def labels(codes: Iterable[str]) -> str:
    """Read, Write and Grant, in Herd's own order."""
    held = set(codes)
    return words.listed([PERMISSIONS[code].label for code in ON_NAMESPACE if code in held])


@dataclass(frozen=True)
class EntryEffects:
    """The outcomes of some turns on one namespace."""

    desk: HerdContext
    turns: Sequence[Turn]
    outcomes: Sequence[Outcome]

    @cached_property
    def lines(self) -> list[DiffLine]:
        own = [line for one in self.outcomes if one.pattern is None for line in self._own(one)]
        every = [*own, *self._covered(), *self._nobody_left()]
        return sorted(every, key=lambda line: ORDER.index(line.kind))

    def diff(self) -> Diff:
        return Diff(tuple(self.lines))

    def tally(self) -> Tally:
        told = []
        for kind, one, many in (("lose", "loses", "lose"), ("gain", "gains", "gain")):
            number = self._count(kind)
            if number:
                told.append(Count(words.number(number), one if number == 1 else many, kind))
        return Tally(tuple(told))

    def _count(self, kind: str) -> int:
        found = (one.loses if kind == "lose" else one.gains for one in self.outcomes)
        return sum(map(bool, found))

    def sum(self) -> str:
        told = [f"{count.number} {count.words}" for count in self.tally().counts]
        return f"{', '.join(told)}." if told else ""

    # One holder

    def _own(self, one: Outcome) -> Iterable[DiffLine]:
        name, where = one.holder.label, f"on {self.desk.node.name}"
        if one.loses:
            yield DiffLine("lose", name, f"loses {labels(one.loses)} {where}", self._rest(one))
        if one.gains:
            yield DiffLine("gain", name, f"may {_verbs(one.gains)} {where}", self._rest(one))
        if one.keeps:
            yield DiffLine("same", name, f"keeps {labels(one.keeps)}, {_through(one)}")
        again = one.had_already - one.keeps
        if again:
            yield DiffLine("same", name, f"had {labels(again)} already, {_through(one)}")
        if "GRANT" in one.turn.gives and not self._usable(one):
            yield self._lacks_role(name)

    def _rest(self, one: Outcome) -> str:
        rest = one.has - one.gains
        return f"Keeps {labels(rest)}." if rest else "Nothing is left." if one.loses and not one.has else ""

    def _usable(self, one: Outcome) -> bool:
        if one.holder.kind == "pattern":
            return True  # each person it matches needs the role directly
        levels, moment = self.desk.node.levels, self.desk.place.now.timestamp()
        return bool(engine.decide(one.slice, GRANTING, levels, now=moment))

    def _lacks_role(self, name: str) -> DiffLine:
        text = "cannot use Grant yet: the role DATA_OWNER is missing"
        url = reverse("console:herd_roles", args=[self.desk.herd.id])
        who = self.desk.administrator
        note = f"{who.label} assigns it." if who else "The administrator assigns it."
        return DiffLine("lack", name, text, note, url, "See who holds it")

    # Those whom a pattern speaks of

    def _covered(self) -> Iterable[DiffLine]:
        for kind in ("lose", "gain"):
            by_pattern: dict[tuple[str, frozenset[str]], list[str]] = {}
            for one in self.outcomes:
                turned = one.loses if kind == "lose" else one.gains
                if one.pattern is not None and turned:
                    by_pattern.setdefault((one.pattern.name, turned), []).append(one.holder.label)
            for (pattern, codes), names in by_pattern.items():
                verb = f"lose {labels(codes)}" if kind == "lose" else f"gain {labels(codes)}"
                verb = verb if len(names) > 1 else verb.replace(" ", "s ", 1)
                yield DiffLine(
                    kind,
                    words.listed(names, NAMES),
                    f"{verb} on {self.desk.node.name}",
                    f"Through {pattern}.",
                )

    # Who may still grant

    def _nobody_left(self) -> Iterable[DiffLine]:
        takes = [one.holder.pk for one in self.turns if "GRANT" in one.takes]
        gives = any("GRANT" in one.gives for one in self.turns)
        if not takes or gives:
            return
        rows = Grant.objects.open().within(self.desk.place.now)
        rest = rows.filter(securable=self.desk.node.id, privilege="GRANT").exclude(holder__in=takes)
        if not rest.exists():
            name = self.desk.node.name
            text = "is left without a holder of Grant; only the administrator can give access then"
            yield DiffLine("lack", name, text)


def _verbs(codes: Iterable[str]) -> str:
    """read, write and grant"""
    held = set(codes)
    return words.listed([terms.lower(PERMISSIONS[code].label) for code in ON_NAMESPACE if code in held])


def _through(one: Outcome) -> str:
    return f"through {words.listed(one.ways)}" if one.ways else "all the same"

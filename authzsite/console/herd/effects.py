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
        own = [line for outcome in self.outcomes if outcome.pattern is None for line in self._own(outcome)]
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
        found = (outcome.loses if kind == "lose" else outcome.gains for outcome in self.outcomes)
        return sum(map(bool, found))

    def sum(self) -> str:
        told = [f"{count.number} {count.words}" for count in self.tally().counts]
        return f"{', '.join(told)}." if told else ""

    # One holder

    def _own(self, outcome: Outcome) -> Iterable[DiffLine]:
        name, where = outcome.holder.label, f"on {self.desk.node.name}"
        if outcome.loses:
            yield DiffLine("lose", name, f"loses {labels(outcome.loses)} {where}", self._rest(outcome))
        if outcome.gains:
            yield DiffLine("gain", name, f"may {_verbs(outcome.gains)} {where}", self._rest(outcome))
        if outcome.keeps:
            yield DiffLine("same", name, f"keeps {labels(outcome.keeps)}, {_through(outcome)}")
        again = outcome.had_already - outcome.keeps
        if again:
            yield DiffLine("same", name, f"had {labels(again)} already, {_through(outcome)}")
        if "GRANT" in outcome.turn.gives and not self._usable(outcome):
            yield self._lacks_role(name)

    def _rest(self, outcome: Outcome) -> str:
        rest = outcome.has - outcome.gains
        return (
            f"Keeps {labels(rest)}."
            if rest
            else "Nothing is left."
            if outcome.loses and not outcome.has
            else ""
        )

    def _usable(self, outcome: Outcome) -> bool:
        if outcome.holder.kind == "pattern":
            return True  # each person it matches needs the role directly
        levels, moment = self.desk.node.levels, self.desk.place.now.timestamp()
        return bool(engine.decide(outcome.slice, GRANTING, levels, now=moment))

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
            for outcome in self.outcomes:
                turned = outcome.loses if kind == "lose" else outcome.gains
                if outcome.pattern is not None and turned:
                    by_pattern.setdefault((outcome.pattern.name, turned), []).append(outcome.holder.label)
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
        takes = [turn.holder.pk for turn in self.turns if "GRANT" in turn.takes]
        gives = any("GRANT" in turn.gives for turn in self.turns)
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


def _through(outcome: Outcome) -> str:
    return f"through {words.listed(outcome.ways)}" if outcome.ways else "all the same"

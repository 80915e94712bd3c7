"""What turning entries would do, in words: losses first, never folded; what works only with the role."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext as _

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
    return words.listed([gettext(PERMISSIONS[code].label) for code in ON_NAMESPACE if code in held])


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
        counts = []
        for kind in ("lose", "gain"):
            changes = (outcome.loses if kind == "lose" else outcome.gains for outcome in self.outcomes)
            number = sum(map(bool, changes))
            if number:
                counts.append(Count(words.number(number), words.outcome(kind, number), kind))
        return Tally(tuple(counts))

    def sum(self) -> str:
        parts = [f"{count.number} {count.words}" for count in self.tally().counts]
        return f"{', '.join(parts)}." if parts else ""

    # One holder

    def _own(self, outcome: Outcome) -> Iterable[DiffLine]:
        name, where = outcome.holder.label, _("on %(name)s") % {"name": self.desk.node.name}
        if outcome.loses:
            yield DiffLine(
                "lose",
                name,
                _("loses %(loses)s %(where)s") % {"loses": labels(outcome.loses), "where": where},
                self._rest(outcome),
            )
        if outcome.gains:
            yield DiffLine(
                "gain",
                name,
                _("may %(gains)s %(where)s") % {"gains": _verbs(outcome.gains), "where": where},
                self._rest(outcome),
            )
        if outcome.keeps:
            yield DiffLine(
                "same",
                name,
                _("keeps %(keeps)s, %(outcome)s")
                % {"keeps": labels(outcome.keeps), "outcome": _through(outcome)},
            )
        again = outcome.had_already - outcome.keeps
        if again:
            yield DiffLine(
                "same",
                name,
                _("had %(again)s already, %(outcome)s")
                % {"again": labels(again), "outcome": _through(outcome)},
            )
        if "GRANT" in outcome.turn.gives and not self._usable(outcome):
            yield self._lacks_role(name)

    def _rest(self, outcome: Outcome) -> str:
        rest = outcome.has - outcome.gains
        return (
            _("Keeps %(rest)s.") % {"rest": labels(rest)}
            if rest
            else _("Nothing is left.")
            if outcome.loses and not outcome.has
            else ""
        )

    def _usable(self, outcome: Outcome) -> bool:
        if outcome.holder.kind == "pattern":
            return True  # each person it matches needs the role directly
        levels, moment = self.desk.node.levels, self.desk.place.now.timestamp()
        return bool(engine.decide(outcome.slice, GRANTING, levels, now=moment))

    def _lacks_role(self, name: str) -> DiffLine:
        text = _("cannot use Grant yet: the role DATA_OWNER is missing")
        url = reverse("console:herd_roles", args=[self.desk.herd.id])
        who = self.desk.administrator
        note = (
            _("%(label)s assigns it.") % {"label": who.label} if who else _("The administrator assigns it.")
        )
        return DiffLine("lack", name, text, note, url, _("See who holds it"))

    # Those whom a pattern speaks of

    def _covered(self) -> Iterable[DiffLine]:
        for kind in ("lose", "gain"):
            by_pattern: dict[tuple[str, frozenset[str]], list[str]] = {}
            for outcome in self.outcomes:
                turned = outcome.loses if kind == "lose" else outcome.gains
                if outcome.pattern is not None and turned:
                    by_pattern.setdefault((outcome.pattern.name, turned), []).append(outcome.holder.label)
            for (pattern, codes), names in by_pattern.items():
                text = (
                    ngettext("loses %(codes)s on %(name)s", "lose %(codes)s on %(name)s", len(names))
                    if kind == "lose"
                    else ngettext("gains %(codes)s on %(name)s", "gain %(codes)s on %(name)s", len(names))
                )
                yield DiffLine(
                    kind,
                    words.listed(names, NAMES),
                    text % {"codes": labels(codes), "name": self.desk.node.name},
                    _("Through %(pattern)s.") % {"pattern": pattern},
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
            text = _("is left without a holder of Grant; only the administrator can grant access then")
            yield DiffLine("lack", name, text)


def _verbs(codes: Iterable[str]) -> str:
    """read, write and grant"""
    held = set(codes)
    return words.listed(
        [terms.lower(gettext(PERMISSIONS[code].label)) for code in ON_NAMESPACE if code in held]
    )


def _through(outcome: Outcome) -> str:
    return _("through %(ways)s") % {"ways": words.listed(outcome.ways)} if outcome.ways else _("unchanged")

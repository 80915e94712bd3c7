"""What a change of rights on a name does, in counted lines: losses first, groups with the names inside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from authzsite.console.cdap.context import InstanceContext, noun_of
from authzsite.console.cdap.links import text_of
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Count, Diff, DiffLine, Tally
from lakewarden.law.dialects.cdap.authorizable import Authorizable
from policies.previews.patterns import Effect, Foretold

NAMED = 5
SIGNS = ("lose", "gain", "same")


@dataclass(frozen=True)
class PatternEffects:
    """A foretelling in words; `removal` for what is taken."""

    desk: InstanceContext
    target: Authorizable
    foretold: Foretold
    removal: bool = False

    @property
    def noun(self) -> str:
        return noun_of(self.target)

    def matches(self) -> str:
        """dataset:ns1.* matches 2 datasets now: ns1.orders and ns1.stock."""
        many = self.foretold.many
        if not many:
            if not self.target.is_pattern:
                return _("It does not exist yet. These rights will apply once it is created.")
            return _("No %(noun)s matches now. Later ones will.") % {"noun": self.noun}
        if not self.target.is_pattern:
            return _("It exists.")
        names = [text_of(entity).partition(":")[2] for entity in self.foretold.entities[:NAMED]]
        more = {"first": ", ".join(names), "more": words.number(many - len(names))}
        listed = _("%(first)s and %(more)s more") % more if many > len(names) else words.listed(names)
        return _("%(many)s now: %(listed)s. Also those created later.") % {
            "many": words.count(many, self.noun),
            "listed": listed,
        }

    def tally(self) -> Tally:
        counts = [(kind, self.foretold.count(kind)) for kind in ("lose", "gain", "same")]
        return Tally(
            tuple(
                Count(words.number(many), words.outcome(kind, many), kind if kind != "same" else "")
                for kind, many in counts
                if many
            )
        )

    def sum(self) -> str:
        parts = [f"{count.number} {count.words}" for count in self.tally().counts if count.kind]
        return f"{', '.join(parts)}." if parts else ""

    def diff(self) -> Diff:
        folds: dict[tuple[object, ...], list[Effect]] = {}
        for at, effect in enumerate(self.foretold.effects):
            key = (effect.via, effect.before, effect.after) if effect.via else (at,)
            folds.setdefault(key, []).append(effect)
        ordered = sorted(folds.values(), key=lambda some: SIGNS.index(some[0].kind))
        lines = [self._line(some) for some in ordered]
        if self.foretold.unseen:
            more = _("%(unseen)s more") % {"unseen": words.number(self.foretold.unseen)}
            lines.append(DiffLine("change", more, _("are not calculated here")))
        return Diff(tuple(lines))

    def _line(self, effects: Sequence[Effect]) -> DiffLine:
        first = effects[0]
        names = words.listed([effect.person.label for effect in effects], 12)
        role = first.via.removeprefix("role ")
        via = first.via if role == first.via else _("role %(name)s") % {"name": role}
        if first.via and len(effects) > 1:
            subject, note = (
                _("%(effects)s of %(via)s") % {"effects": words.number(len(effects)), "via": via},
                f"{names}.",
            )
        else:
            subject = (
                _("%(effects)s of %(via)s") % {"effects": terms.principal_name(first.person), "via": via}
                if first.via
                else terms.principal_name(first.person)
            )
            note = ""
        waits = first.kind == "same" and not self.removal and not self.foretold.entities
        return DiffLine("lack" if waits else first.kind, subject, self._outcome(first, len(effects)), note)

    def _outcome(self, effect: Effect, people: int) -> str:
        if effect.kind == "same":
            if not self.foretold.entities:
                return _("loses nothing that exists") if self.removal else _("gains what is created later")
            return (
                ngettext("keeps it by another name", "keep it by another name", people)
                if self.removal
                else _("can do that already")
            )
        text = (
            ngettext("gains %(changes)s", "gain %(changes)s", people)
            if effect.kind == "gain"
            else ngettext("loses %(changes)s", "lose %(changes)s", people)
        )
        return text % {"changes": words.listed(list(self._changes(effect)))}

    def _changes(self, effect: Effect) -> Iterable[str]:
        for code, before, after in zip(self.foretold.codes, effect.before, effect.after, strict=True):
            if before != after:
                label = terms.lower(self.desk.actions[code])
                many = abs(after - before)
                what = words.count(many, self.noun) if self.target.is_pattern else str(self.target)
                yield _("%(label)s on %(what)s") % {"label": label, "what": what}

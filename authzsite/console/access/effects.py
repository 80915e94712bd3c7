"""What a change does, as counted lines: losses first and never folded away, groups with the names inside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext, ngettext, pgettext_lazy

from accounts.models import Principal
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Count, Diff, DiffLine, Tally
from authzsite.console.sync.backend_state import BackendState
from catalog.nodes import Node
from lakewarden.law.evidence import Lack
from policies.decisions.personal_role_names import is_personal
from policies.previews.grants import Effect, Preview

NAMES = 12
COUNTED = {"lose": "lose", "gain": "gain", "lacking": "", "same": "", "denied": ""}
"""What becomes of people, in the order in which it is counted, and how its count looks."""
SIGNS = {"lose": "lose", "gain": "gain", "lacking": "lack", "same": "same", "denied": "stop"}
SAID = ("use", "read", "write", "grant")
ACTS = {"read": pgettext_lazy("to do", "read"), "write": pgettext_lazy("to do", "write")}


@dataclass(frozen=True)
class Shown:
    """A preview in words, for a grant or, with `removal`, for a revocation."""

    preview: Preview
    node: Node
    removal: bool = False
    called: str = ""
    """What the object is called in the lines, where its own name does not tell it apart."""

    @property
    def name(self) -> str:
        return self.called or self.node.name

    def tally(self) -> Tally:
        counts = [(kind, look, self.preview.count(kind)) for kind, look in COUNTED.items()]
        parts = [
            Count(words.number(many), self._word(kind, many), look) for kind, look, many in counts if many
        ]
        return Tally(tuple(parts))

    def _word(self, kind: str, many: int) -> str:
        if kind == "same" and self.removal:
            return gettext("keep it by another path") if many > 1 else gettext("keeps it by another path")
        some = (effect.principal.kind for effect in self.preview.effects if effect.kind == kind)
        return words.outcome(kind, many, services="service" in some)

    def sum(self) -> str:
        """5 people gain rights, 1 person loses rights."""
        parts = [f"{count.number} {count.words}" for count in self.tally().counts if count.kind]
        return f"{', '.join(parts)}." if parts else ""

    def diff(self) -> Diff:
        return Diff(tuple(self._lines()))

    def _lines(self) -> Iterable[DiffLine]:
        # people of one group with the same outcome are one line; each other person is one
        folds: dict[tuple[Any, ...], list[Effect]] = {}
        for at, effect in enumerate(self.preview.effects):
            group = (effect.kind, effect.via.pk, effect.gains, effect.loses) if effect.via else (at,)
            folds.setdefault(group, []).append(effect)
        folded = list(folds.values())
        for effects in folded:
            yield self._many(effects) if len(effects) > 1 else self._diff_line(effects[0])

    def _diff_line(self, effect: Effect) -> DiffLine:
        person = effect.principal.label
        subject = (
            gettext("%(person)s of %(label)s") % {"person": person, "label": effect.via.label}
            if effect.via
            else person
        )
        text, note = self._outcome(effect, 1)
        why = self._why(effect.principal) if effect.kind in ("denied", "lacking") else ""
        return DiffLine(SIGNS[effect.kind], subject, text, note, why, gettext("Why") if why else "")

    def _many(self, effects: Sequence[Effect]) -> DiffLine:
        first = effects[0]
        group = first.via.label if first.via else ""
        text, note = self._outcome(first, len(effects))
        names = words.listed([effect.principal.label for effect in effects], NAMES)
        return DiffLine(
            SIGNS[first.kind],
            gettext("%(effects)s of %(group)s") % {"effects": words.number(len(effects)), "group": group},
            text,
            f"{names}. {note}".strip(),
        )

    def _why(self, person: Principal) -> str:
        action = "use" if self.node.type in terms.CONTAINERS else "read"
        query = {"who": str(person), "action": action, "what": self.node.ref.id, "type": self.node.type}
        return f"{reverse('console:why')}?{urlencode(query)}"

    # One outcome

    def _outcome(self, effect: Effect, many: int) -> tuple[str, str]:
        words_of = {
            "lose": self._lose,
            "gain": self._gain,
            "lacking": self._lack,
            "same": self._same,
            "denied": self._deny,
        }
        return words_of[effect.kind](effect, many)

    def _gain(self, effect: Effect, many: int) -> tuple[str, str]:
        if not effect.gains:
            return gettext("may %(after)s longer") % {"after": self._acts(effect.after)}, self._windows(
                effect
            )
        text = gettext("may %(gains)s") % {"gains": self._acts(effect.gains)}
        also = [
            f"{terms.right(gift.privilege, gift.node.type, gift.node.kind)} {gift.node.name}"
            for gift in effect.also
        ]
        note = (
            gettext("Also gets %(also)s, needed to reach it.")
            % {"also": words.listed(list(dict.fromkeys(also)))}
            if also
            else ""
        )
        return text, note

    def _lose(self, effect: Effect, many: int) -> tuple[str, str]:
        if not effect.loses:
            return gettext("may %(after)s for a shorter time") % {
                "after": self._acts(effect.after)
            }, self._windows(effect)
        kept = effect.after & set(SAID)
        note = gettext("Can still %(kept)s, by another path.") % {"kept": self._acts(kept)} if kept else ""
        text = ngettext("loses %(rights)s", "lose %(rights)s", many) % {"rights": self._nouns(effect.loses)}
        return text, note

    def _windows(self, effect: Effect) -> str:
        return gettext("Ends %(ends_after)s instead of %(ends_before)s.") % {
            "ends_after": _when(effect.ends_after),
            "ends_before": _when(effect.ends_before),
        }

    def _same(self, effect: Effect, many: int) -> tuple[str, str]:
        if self.removal:
            keeps = ngettext("keeps %(acts)s", "keep %(acts)s", many) % {"acts": self._acts(effect.after)}
            text = keeps if effect.after & set(SAID) else gettext("had no effect before")
            return text, gettext("Through another path, which stays.")
        return (
            "",
            gettext("Can %(after)s already; this changes nothing.") % {"after": self._acts(effect.after)}
            if effect.after
            else gettext("This changes nothing."),
        )

    def _lack(self, effect: Effect, many: int) -> tuple[str, str]:
        lacking = words.listed([self._lack_words(lack) for lack in effect.lacks])
        text = gettext("stay without it") if many > 1 else gettext("stays without it")
        return (text if self.removal else gettext("cannot use it yet")), gettext(
            "Still lacking: %(lacking)s."
        ) % {"lacking": lacking}

    def _lack_words(self, lack: Lack) -> str:
        if lack.kind == "membership":
            return gettext("membership of %(realm)s") % {"realm": self.node.realm}
        return terms.rights_on([lack.privilege], lack.object_type, lack.name, self.node.kind)

    def _deny(self, effect: Effect, many: int) -> tuple[str, str]:
        denial = next(lack for lack in effect.lacks if lack.kind == "denied")
        roles = [
            station.name for station in denial.via if station.kind == "role" and not is_personal(station.name)
        ]
        by = gettext("Role %(roles)s denies") % {"roles": roles[-1]} if roles else gettext("A rule denies")
        act = terms.lower(terms.right(denial.privilege, self.node.type, self.node.kind))
        return (
            gettext("still cannot %(act)s") % {"act": act},
            gettext("%(by)s it on %(object_type)s %(name)s; a grant does not lift a denial.")
            % {"by": by, "object_type": terms.type_of(denial.object_type), "name": denial.name},
        )

    def _acts(self, actions: Iterable[str]) -> str:
        """read and write orders; use schema sales; create tables in sales."""
        name, granted = self.name, set(actions)
        if "read" in granted and "use" in granted and self.node.type in terms.CONTAINERS:
            granted.discard("read")
        plain = [str(word) for action, word in ACTS.items() if action in granted]
        values = {"verbs": words.listed(plain), "names": name}
        sentences = [gettext("%(verbs)s %(names)s") % values] if plain else []
        if "use" in granted and self.node.type in terms.CONTAINERS:
            sentences.append(
                gettext("use %(type)s %(name)s") % {"type": terms.type_of(self.node.type), "name": name}
            )
        sentences += [self._inside(action) for action in sorted(granted) if ":" in action]
        sentences += [
            gettext("%(action)s in %(name)s")
            % {"action": terms.lower(terms.action(action, self.node.type)), "name": name}
            for action in sorted(granted)
            if action.startswith("create_")
        ]
        if "grant" in granted:
            sentences.append(gettext("grant access to %(name)s") % {"name": name})
        if "drop" in granted:
            sentences.append(gettext("drop %(name)s") % {"name": name})
        return words.listed(sentences) or gettext("nothing on %(name)s") % {"name": name}

    def _nouns(self, actions: Iterable[str]) -> str:
        """read and write on orders; use of schema sales"""
        name, granted = self.name, set(actions)
        plain = [str(word) for action, word in ACTS.items() if action in granted and not self._container]
        sentences = (
            [gettext("%(plain)s on %(name)s") % {"plain": words.listed(plain), "name": name}] if plain else []
        )
        if "use" in granted and self._container:
            sentences.append(
                gettext("use of %(type)s %(name)s") % {"type": terms.type_of(self.node.type), "name": name}
            )
        sentences += [
            gettext("%(act)s on all %(types)s in %(name)s")
            % {"act": ACTS.get(act, act), "types": terms.several(type_), "name": name}
            for type_, act in map(_parted, sorted(granted))
            if type_
        ]
        if "grant" in granted:
            sentences.append(gettext("the right to grant access to %(name)s") % {"name": name})
        sentences += [
            terms.lower(terms.action(act, self.node.type))
            for act in sorted(granted)
            if act.startswith("create_")
        ]
        return words.listed(sentences) or gettext("nothing on %(name)s") % {"name": name}

    @property
    def _container(self) -> bool:
        return self.node.type in terms.CONTAINERS

    def _inside(self, action: str) -> str:
        type_, _, act = action.partition(":")
        return gettext("%(act)s all %(types)s in %(name)s") % {
            "act": ACTS.get(act, act),
            "types": terms.several(type_),
            "name": self.name,
        }


def _parted(action: str) -> tuple[str, str]:
    type_, _, act = action.rpartition(":")
    return type_, act


def _when(moment: float | None) -> str:
    when = terms.from_seconds(moment)
    return words.moment(when) if when else gettext("without end")


def out_there(there: BackendState | None, *, removal: bool = False) -> str:
    """What becomes of it in the backend."""
    if there is None:
        return ""
    if there.row.state in ("failed", "paused", "silent"):
        state = terms.lower(str(there.state().word))
        return gettext(
            "%(system)s is %(state)s. Decided here at once; applied there when it is back, revocations first."
        ) % {"system": there.system, "state": state}
    if there.row.restored:
        return gettext("Decided here at once; applied in %(system)s once its plan is reviewed.") % {
            "system": there.system
        }
    if there.row.does == "report":
        return gettext(
            "%(system)s only reports: this is decided here, and must be applied there by other means."
        ) % {"system": there.system}
    if removal:
        return gettext("In %(system)s within seconds.") % {"system": there.system}
    return gettext(
        "In %(system)s within seconds: added first, then removed, so nobody is cut off in between."
    ) % {"system": there.system}

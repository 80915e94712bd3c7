"""Somebody who can beside somebody who cannot: what the one has that the other lacks, or is denied."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import Principal
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import TreeNode
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals, unknown_words
from authzsite.console.objects.access import ObjectAccess
from authzsite.console.why.explanation import Words, group_labels
from lakewarden.law.evidence import Lack
from lakewarden.law.explain import Explanation
from lakewarden.law.facts import OWNER, Rule, Station
from policies.decisions import ask as decisions_ask
from policies.decisions.ask import Answer
from policies.decisions.facts import is_service_admin
from policies.decisions.lookups import peers
from policies.decisions.lookups.access import AccessMap
from policies.decisions.personal_role_names import is_personal


@dataclass(frozen=True)
class Mark:
    """Whether somebody has it: a mark with its word beside it; `kind` is yes, no, deny or na."""

    template: ClassVar[str] = "parts/mark.html"
    kind: str
    text: str

    @property
    def icon(self) -> str:
        return TreeNode(self.kind, "").icon


@dataclass(frozen=True)
class ComparedRow:
    """One thing that decides: what it is, what comes by it, and whether each of the two has it."""

    what: str
    gives: str
    cannot: Mark
    can: Mark


@dataclass(frozen=True)
class Comparison:
    """Two people and one question; `problem` says why there is nothing to show."""

    heading: str = ""
    text: str = ""
    smallest: str = ""
    cannot: str = ""
    can: str = ""
    rows: tuple[ComparedRow, ...] = ()
    typed: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Comparing:
    """A no that is looked at beside a yes, for a viewer who may know what others have on the object."""

    place: ObjectAccess
    circle: VisiblePrincipals
    refused: Answer
    speak: Words

    def compared_with(self, typed: str) -> Comparison:
        """With whom was typed; with somebody who can, like the one who cannot, where nobody was."""
        if not typed:
            other = self._somebody()
            if other is None:
                return Comparison(problem=_("Nobody whom you may look up can do this."))
            return self._beside(other)
        meant = self.circle.meant(typed)
        if len(meant) != 1:
            return Comparison(typed=typed, problem=unknown_words(typed, meant))
        return self._beside(meant[0])

    # Whom to compare with

    def _somebody(self) -> Principal | None:
        """Who shares a group or role with them first, then who has it by what can be given, then by name."""
        person, root = self.speak.person, next(iter(self.place.node.above()), self.place.node)
        near = {row.pk for row in peers.of(person, root)}
        others = self.circle.people().filter(pk__in=self.map.people.keys() - {person.pk})
        able = [self.map.people[pk] for pk in others.values_list("pk", flat=True) if self._can(pk)]
        return min(
            able,
            key=lambda row: (row.pk not in near, self._owns(row), row.kind != person.kind, row.label),
            default=None,
        )

    @cached_property
    def map(self) -> AccessMap:
        return AccessMap(self.place.node, now=self.place.now)

    @cached_property
    def _answers(self) -> dict[Any, bool]:
        """What was decided, by all that somebody has here."""
        return {}

    def _can(self, key: int) -> bool:
        """Whether one of the people can do it; those who hold the same are decided once."""
        person = self.map.people[key]
        has = self.map.loaded.class_of(key), is_service_admin(person)
        if has not in self._answers:
            slice_, node = self.map.loaded.slice_of(person), self.place.node
            answer = decisions_ask.answer(slice_, self.refused.operation, node, now=self.place.now)
            self._answers[has] = bool(answer)
        return self._answers[has]

    def _owns(self, person: Principal) -> bool:
        return any(rule.privilege == OWNER for rule in self.map.loaded.slice_of(person).rules)

    # What makes the difference

    def _beside(self, other: Principal) -> Comparison:
        answer = decisions_ask.ask(other, self.refused.operation, self.place.node, now=self.place.now)
        named = {"other": other.label, "person": self.speak.person.label}
        if not answer:
            problem = _("%(other)s cannot do it either. Choose someone else.") % named
            return Comparison(typed=str(other), problem=problem)
        now, yes = self.place.now, answer.explained(now=self.place.now)
        speak = replace(self.speak, groups={**self.speak.groups, **group_labels(yes.because)})
        no = self.refused.explained(now=now)
        rows = tuple(TwoPeople(speak, self.refused, answer, no, yes).rows())
        missing = sum(row.cannot.kind != row.can.kind for row in rows)
        return Comparison(
            heading=_("%(other)s can, %(person)s cannot") % named,
            text=ngettext(
                "%(many)s thing makes the difference.", "%(many)s things make the difference.", missing
            )
            % {"many": words.spelled(missing)}
            if missing
            else _("Both have the same; something else decides."),
            smallest=self._smallest(no),
            cannot=self.speak.person.label,
            can=other.label,
            rows=rows,
            typed=other.name if other.kind == Principal.Kind.USER else str(other),
        )

    def _smallest(self, no: Explanation) -> str:
        """What to ask for, in words: the way that opens least, which may be less than the other one has."""
        way = no.missing
        if not way:
            return ""
        parts = words.listed([str(self.speak.line(lack).text) for lack in way])
        givers = words.listed([terms.principal_name(giver) for giver in self.speak.givers(way)])
        if any(lack.kind == "denied" for lack in way):
            return _("The denial has to be lifted first: %(parts)s.") % {"parts": parts}
        if not givers:
            return _("The smallest access to request: %(parts)s.") % {"parts": parts}
        values = {"parts": parts, "givers": givers}
        return _("The smallest access to request: %(parts)s. Ask %(givers)s.") % values


@dataclass(frozen=True)
class TwoPeople:
    """What a yes rests on and what a no is denied by, each looked for with both people."""

    speak: Words
    refused: Answer
    answer: Answer
    no: Explanation
    yes: Explanation

    def rows(self) -> Iterable[ComparedRow]:
        yield from self._membership()
        yield from self._given()
        yield from self._denied()

    def _membership(self) -> Iterable[ComparedRow]:
        if self.refused.decision.reason != "not_a_member":
            return
        realm = self.refused.node.realm
        yes, no = Mark("yes", _("Member")), Mark("no", _("No member"))
        yield ComparedRow(_("Member of metalake %(realm)s") % {"realm": realm}, "", no, yes)

    def _given(self) -> Iterable[ComparedRow]:
        """What the yes rests on: what a group or role brings together, and each right of their own."""
        ways: dict[tuple[Station | None, Any], list[Rule]] = {}
        for rule in self.yes.because:
            first = self._first(rule)
            ways.setdefault((first, None if first else _right(rule)), []).append(rule)
        for (first, _own), rules in ways.items():
            has = self._has(first, rules)
            cannot = Mark("yes", _("Has it")) if has else Mark("no", _("Does not have it"))
            gives = words.listed([self._gives(rule) for rule in rules])
            yield ComparedRow(self._named(first, rules), gives, cannot, Mark("yes", _("Has it")))

    @staticmethod
    def _first(rule: Rule) -> Station | None:
        """The group or the made role that a rule is reached by; None for what is the person's own."""
        first = rule.via[0] if rule.via else None
        return None if first is None or is_personal(first.name) else first

    def _has(self, first: Station | None, rules: Iterable[Rule]) -> bool:
        now = self.refused.slice.since
        mine = [rule for rule in self.refused.slice.rules if rule.holds_at(now)]
        if first is not None:
            return any(
                (station.kind, station.key) == (first.kind, first.key)
                for rule in mine
                for station in rule.via
            )
        had = set(map(_right, mine))
        return all(_right(rule) in had for rule in rules)

    def _named(self, first: Station | None, rules: Iterable[Rule]) -> str:
        if first is not None:
            return self.speak.spoken(first)
        owned = any(rule.privilege == OWNER for rule in rules)
        return _("Ownership") if owned else _("Granted to them directly")

    def _gives(self, rule: Rule) -> str:
        type_, name = terms.level_of(self.speak.place, rule.object)
        values = {"type": terms.type_of(type_) if type_ else "", "name": name or rule.object}
        if rule.privilege == OWNER:
            return _("owner of %(type)s %(name)s") % values
        label = terms.right(rule.privilege, type_, self.speak.place.kind)
        if rule.privilege.startswith("USE_"):
            return f"{label} {name}"
        return _("%(label)s on %(type)s %(name)s") % {"label": label, **values}

    def _denied(self) -> Iterable[ComparedRow]:
        for lack in self.no.missing:
            if lack.kind == "denied":
                is_denied = self._is_denied(lack)
                can = Mark("deny", _("Denied")) if is_denied else Mark("na", _("Not denied"))
                text = self.speak.line(lack).text
                yield ComparedRow(_("A denial"), text, Mark("deny", _("Denied")), can)

    def _is_denied(self, lack: Lack) -> bool:
        fact = lack.rule.fact if lack.rule else None
        return any(rule.fact == fact for rule in self.answer.slice.rules)


def _right(rule: Rule) -> tuple[Any, ...]:
    """What a rule says, whoever has it by which fact."""
    return rule.object, rule.privilege, rule.allow

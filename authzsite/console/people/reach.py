"""Everything somebody reaches, by object: what rules say there, what can really be done, and by which way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from accounts.models import Principal
from authzsite.console.kit.display import terms
from authzsite.console.kit.display.parts import Chip, Face, Who
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals
from catalog.nodes import Node
from catalog.queries import nodes
from lakewarden.law import dialects
from lakewarden.law.engine import DENIED
from lakewarden.law.facts import OWNER, Rule, Slice
from policies.decisions import ask, slices
from policies.decisions.lookups.reach import RuleSets, rule_sets

SOON = timedelta(days=14)
TOLD = ("use", "read", "write", "grant", "drop")
FILTERS = (
    ("", gettext_lazy("All")),
    ("owned", gettext_lazy("Owned")),
    ("read", gettext_lazy("Read")),
    ("write", gettext_lazy("Write")),
    ("grant", gettext_lazy("May grant")),
    ("soon", gettext_lazy("Ends soon")),
    ("denied", gettext_lazy("Denied")),
    ("lacking", gettext_lazy("Not usable yet")),
)


@dataclass(frozen=True)
class ReachFilter:
    """How the table is filtered, and the object whose path is drawn; all of it stands in the address."""

    text: str = ""
    how: str = ""
    pick: int = 0
    after: int = 0

    def url(self, **changed: object) -> str:
        kept = {"q": self.text, "how": self.how, "pick": self.pick, "after": self.after, **changed}
        return "?" + urlencode({name: value for name, value in kept.items() if value})


@dataclass(frozen=True)
class Reached:
    """One object that rules name, with what can be done to it now."""

    node: Node
    rules: tuple[Rule, ...]
    can: frozenset[str]
    slice: Slice
    refused: str = ""
    fits: frozenset[str] = frozenset()

    @property
    def owned(self) -> bool:
        return any(rule.privilege == OWNER for rule in self.rules)

    @property
    def denied(self) -> bool:
        return any(not rule.allow for rule in self.rules)

    @property
    def lacking(self) -> bool:
        """Something is given, and nothing of it can be used: the way there is not open, or it is denied."""
        return any(rule.allow for rule in self.rules) and not self.can

    @property
    def note(self) -> str:
        """Why what is given cannot be used."""
        if not self.lacking:
            return ""
        return gettext("Still denied") if self.refused == DENIED else gettext("Not usable yet")

    @property
    def ends(self) -> float | None:
        """When the last of what it gives ends; None when something of it does not."""
        ends = [rule.valid_until for rule in self.rules if rule.allow]
        return max(ends) if ends and all(end is not None for end in ends) else None  # type: ignore[type-var]

    @property
    def words(self) -> str:
        """Read, write; Read tables; Everything; Nothing."""
        if self.node.type in terms.CONTAINERS or not self.can:
            return terms.given(self.rules, self.node.type, self.node.kind)
        return terms.can(self.can, self.node.type, owns=self.owned)

    def does(self, category: str) -> bool:
        """Whether it lets somebody read or write, here or in what it holds."""
        inside = {"read": "SELECT_", "write": "MODIFY_"}[category]
        given = any(rule.allow and rule.privilege.startswith(inside) for rule in self.rules)
        leaf = self.node.type not in terms.CONTAINERS
        return (category in self.can and leaf) or (given and bool(self.can))


@dataclass(frozen=True)
class Coming:
    """Something given that has not begun."""

    what: Who
    can: str
    when: Chip | None


def begins_after(rule: Rule, moment: float) -> bool:
    return rule.valid_from is not None and rule.valid_from > moment


def comings(rules: Iterable[Rule], places: Mapping[int, Node]) -> list[Coming]:
    """One line for an object and a window, the soonest first."""
    alike: dict[tuple[float, float, int], list[Rule]] = {}
    for rule in rules:
        if isinstance(rule.object, int) and rule.object in places and rule.valid_from:
            alike.setdefault((rule.valid_from, rule.valid_until or 0, rule.object), []).append(rule)
    return [_coming(places[key], alike[begin, end, key]) for begin, end, key in sorted(alike)]


def _coming(node: Node, rules: Sequence[Rule]) -> Coming:
    above = " / ".join(node.names[:-1]) or terms.kind_of(node.type)
    face, url = Face("thing", terms.icon_of(node.type)), terms.page_of(node.id, node.type)
    chip = terms.window_chip(rules[0].valid_from, rules[0].valid_until)
    return Coming(Who(node.name, face, above, url), terms.given(rules, node.type, node.kind), chip)


@dataclass
class PersonReach:
    """What a person, group or service reaches, as far as the viewer may know it."""

    circle: VisiblePrincipals
    person: Principal
    asked: ReachFilter = field(default_factory=ReachFilter)
    now: datetime = field(default_factory=timezone.now)

    @cached_property
    def slices(self) -> list[Slice]:
        return [slices.current(self.person, realm, now=self.now) for realm in self.circle.realms]

    @cached_property
    def rules(self) -> list[tuple[Slice, Rule]]:
        moment = self.now.timestamp()
        return [(slice_, rule) for slice_ in self.slices for rule in slice_.rules if rule.holds_at(moment)]

    @cached_property
    def later(self) -> list[Rule]:
        """The rules that have not begun."""
        return [rule for _, report in self.said for rule in report.later]

    @cached_property
    def places(self) -> dict[int, Node]:
        rules = (*(rule for _, rule in self.rules), *self.later)
        keys = {rule.object for rule in rules if isinstance(rule.object, int)}
        return {key: node for key, node in nodes(keys).items() if self.circle.sees(self.person, node)}

    @cached_property
    def said(self) -> list[tuple[Slice, RuleSets]]:
        """What the rules of each realm say."""
        pairs = zip(self.slices, self.circle.realms, strict=True)
        return [(slice_, rule_sets(slice_, realm.realm_id)) for slice_, realm in pairs]

    @property
    def through(self) -> frozenset[int]:
        """The groups on the way."""
        return frozenset[int]().union(*(report.groups for _, report in self.said))

    @cached_property
    def groups(self) -> dict[Any, str]:
        """What they are called.  One query."""
        return {row.pk: row.label for row in Principal.objects.filter(pk__in=self.through)}

    @cached_property
    def all(self) -> list[Reached]:
        """Every object that rules name, by name."""
        by_object: dict[int, list[Rule]] = {}
        whose: dict[int, Slice] = {}
        for slice_, rule in self.rules:
            if isinstance(rule.object, int) and rule.object in self.places:
                by_object.setdefault(rule.object, []).append(rule)
                whose[rule.object] = slice_
        reached = [self._reached(self.places[key], rules, whose[key]) for key, rules in by_object.items()]
        return sorted(reached, key=lambda item: (item.node.names, item.node.type))

    def _reached(self, node: Node, rules: Sequence[Rule], slice_: Slice) -> Reached:
        """Decided once for all that are alike: thousands of tables in one schema by the same rules."""
        rules_ = tuple(rules)
        if not _has_like(slice_, node):
            return self._decided(node, rules_, slice_)
        rights = frozenset((rule.privilege, rule.allow, rule.valid_until) for rule in rules_)
        like = (slice_.realm, node.levels[:-1], node.type, rights)
        first = self._alike.get(like)
        if first is None:
            first = self._alike[like] = self._decided(node, rules_, slice_)
        return Reached(node, rules_, first.can, slice_, first.refused, first.fits)

    def _decided(self, node: Node, rules: tuple[Rule, ...], slice_: Slice) -> Reached:
        answer = ask.answer(slice_, main_action(node), node, now=self.now)
        item = Reached(node, rules, self.can(slice_, node), slice_, answer.decision.reason)
        return replace(item, fits=frozenset(how for how, _ in FILTERS if self._fits(item, how)))

    @cached_property
    def _alike(self) -> dict[Any, Reached]:
        return {}

    def can(self, slice_: Slice, node: Node) -> frozenset[str]:
        return frozenset(name for name in TOLD if ask.answer(slice_, name, node, now=self.now))

    def _fits(self, reached: Reached, how: str) -> bool:
        if how in ("read", "write"):
            return reached.does(how)
        if how == "soon":
            return reached.ends is not None and reached.ends < (self.now + SOON).timestamp()
        if how == "grant":
            return how in reached.can
        plain = {"": True, "owned": reached.owned, "denied": reached.denied, "lacking": reached.lacking}
        return plain.get(how, True)

    @property
    def how(self) -> str:
        """The filter asked for."""
        return self.asked.how if self.asked.how in dict(FILTERS) else ""

    def telling(self, reached: Reached, known: Mapping[int, Reached]) -> list[Rule]:
        """The rules on an object, and those on what is `known` above it that say something of it."""
        if reached.node.type in terms.CONTAINERS:
            return list(reached.rules)
        above = [known[key] for key in reached.node.lineage[:-1] if key in known]
        rules = (rule for other in above for rule in other.rules)
        from_above = [rule for rule in rules if rule.privilege == OWNER or self._binds(rule, reached.node)]
        return [*reached.rules, *from_above]

    def _binds(self, rule: Rule, node: Node) -> bool:
        privilege = dialects.get(node.kind).privilege(rule.privilege)
        return privilege is not None and node.type in privilege.binds


def _has_like(slice_: Slice, node: Node) -> bool:
    """Whether others in its container can be decided like it: neither its name nor what it holds matters."""
    by_name = dialects.get(node.kind).by_text or node.id in slice_.selves
    return not by_name and node.type not in terms.CONTAINERS


def main_action(node: Node) -> str:
    return "use" if node.type in terms.CONTAINERS else "read"

"""What somebody owns, what ends on it, what they reach now and later: as rows of Home."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from authzsite.console.home.summary import SHOWN, HomeSummary
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Chip, Face, Path, Who
from authzsite.console.people.reach import Coming, comings
from catalog.nodes import Node
from lakewarden.law.facts import Rule
from policies.lifecycle import expirations
from policies.lifecycle.expirations import Ending

REACH = 12
FAR = float("inf")


@dataclass(frozen=True)
class EndingRow:
    who: Who
    can: str
    on: str
    url: str
    ends: Chip | None
    action: Action


@dataclass(frozen=True)
class ReachSummary:
    what: Who
    can: str
    how: Path
    ends: Chip | None


@dataclass(frozen=True)
class Entitlements:
    desk: HomeSummary

    def ending(self) -> list[EndingRow]:
        """What ends soon on what the viewer owns."""
        return [
            EndingRow(
                holder_of(ending),
                right_words(ending),
                terms.short_name(ending.node),
                terms.page_of(ending.node.id, ending.node.type),
                terms.ends_chip(ending.until),
                extend(ending),
            )
            for ending in self.desk.endings[:SHOWN]
        ]

    def own(self) -> list[dict[str, str]]:
        mine = [self.desk.places[key] for key in self.desk.first_owned if key in self.desk.places]
        return [
            {
                "url": terms.page_of(node.id, node.type),
                "name": node.ref.full_name or node.name,
                "note": self._owned_note(node),
            }
            for node in mine
        ]

    def _owned_note(self, node: Node) -> str:
        kind, many = terms.kind_of(node.type), self.desk.inside.get(node.id, 0)
        return (
            gettext("%(kind)s with %(many)s") % {"kind": kind, "many": words.count(many, "object")}
            if many
            else kind
        )

    def reach(self, *, usable_first: bool = False) -> list[ReachSummary]:
        """A line for each object and way: direct grants first, then by name.

        `usable_first`: what ends soonest, then data before what holds it.
        """
        ways: dict[tuple[Any, ...], list[Rule]] = {}
        for rule in self.desk.reached:
            ways.setdefault((rule.object, rule.via, rule.allow), []).append(rule)
        reached = [
            (self.desk.places[key], via, rules)
            for (key, via, _), rules in ways.items()
            if key in self.desk.places
        ]
        reached.sort(key=lambda entry: (len(entry[1]), entry[0].names, entry[0].type, not entry[2][0].allow))
        if usable_first:
            reached.sort(key=lambda item: (_end_of(item[2]) or FAR, item[0].type in terms.CONTAINERS))
        return [self._line(node, rules) for node, _, rules in reached[:REACH]]

    def _line(self, node: Node, rules: Sequence[Rule]) -> ReachSummary:
        labels = dict.fromkeys(terms.right(rule.privilege, node.type, node.kind) for rule in rules)
        can = terms.sentence_list(list(labels))
        face = Face("thing", terms.icon_of(node.type))
        above = " / ".join(node.names[:-1]) or terms.kind_of(node.type)
        return ReachSummary(
            Who(node.name, face, above, terms.page_of(node.id, node.type)),
            can if rules[0].allow else gettext("Nothing"),
            terms.path(rules, node, self.desk.groups),
            terms.ends_chip(_end_of(rules)),
        )

    def coming(self) -> list[Coming]:
        return comings(self.desk.coming, self.desk.places)[:REACH]


def _end_of(rules: Sequence[Rule]) -> float | None:
    """When the first of what they give ends."""
    return min((rule.valid_until for rule in rules if rule.valid_until), default=None)


def holder_of(ending: Ending) -> Who:
    """A person, group or service, or the role that gives it."""
    if ending.holder is not None:
        return terms.who(ending.holder)
    return Who(
        gettext("Role %(name)s") % {"name": ending.role.name} if ending.role else gettext("A role"),
        Face("thing", "role"),
    )


def right_words(ending: Ending) -> str:
    """Read; Read tables; Role, for one that is held."""
    return terms.right(ending.code, ending.node.type, ending.node.kind) if ending.code else gettext("Role")


def extend(ending: Ending) -> Action:
    return Action(
        gettext("Extend"),
        expirations.extend(ending),
        "mini",
        more=gettext("for %(name)s on %(name2)s")
        % {"name": holder_of(ending).name, "name2": ending.node.name},
    )

"""The paths from somebody to objects as a drawing made here; the table beside it says the same in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import pairwise
from typing import Any, ClassVar

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as noop
from django.utils.translation import pgettext

from authzsite.console.kit.display import terms, words
from authzsite.console.people.reach import Reached, main_action
from authzsite.console.people.reach_pages import PagedReach
from lakewarden.law.facts import OWNER, Rule
from policies.decisions import ask
from policies.decisions.personal_role_names import is_personal

COLUMNS = ((0, 132), (164, 150), (346, 158), (536, 200), (768, 232))
"""Person, group, role, rule, object: where each column begins and how wide it is."""
HEADS = (noop("Person"), noop("Groups"), noop("Roles"), noop("Rules"), noop("Objects"))
HEIGHT, STEP, WAYS = 44, 58, 8
LETTER = 7.1


@dataclass(frozen=True)
class Box:
    x: int
    y: int
    width: int
    strong: str
    small: str
    name: str
    look: str = ""

    @property
    def text_x(self) -> int:
        return self.x + 11


@dataclass(frozen=True)
class DrawnLine:
    d: str
    look: str


@dataclass(frozen=True)
class Picture:
    """Boxes and lines; `told` says the lit path in words."""

    template: ClassVar[str] = "parts/picture.html"
    heading: str
    told: str
    boxes: tuple[Box, ...]
    lines: tuple[DrawnLine, ...]
    height: int
    kind: str

    @property
    def heads(self) -> tuple[tuple[int, str], ...]:
        return tuple((x, self.kind if at == 0 else _(HEADS[at])) for at, (x, _width) in enumerate(COLUMNS))


@dataclass(frozen=True)
class DrawnPath:
    """Rules that share their stations and their object."""

    reached: Reached
    rules: tuple[Rule, ...]
    lit: bool

    @property
    def denies(self) -> bool:
        return not self.rules[0].allow

    @property
    def look(self) -> str:
        return "bad" if self.denies else "on" if self.lit else ""

    def station(self, kind: str) -> Any:
        stations = (item for item in self.rules[0].via if item.kind == kind)
        return next((item for item in stations if not is_personal(item.name)), None)

    @property
    def rights(self) -> str:
        node = self.reached.node
        if self.rules[0].privilege == OWNER:
            return _("Owner of %(name)s") % {"name": node.name}
        labels = [terms.right(rule.privilege, node.type, node.kind) for rule in self.rules]
        text = terms.sentence_list(list(dict.fromkeys(labels)))
        return _("⊘ %(text)s denied") % {"text": text} if self.denies else text


def draw(reach: PagedReach) -> Picture | None:
    """The ways to the picked object first, the deciding one lit, then others as far as there is room."""
    if reach.picked is None:
        return None
    ways = _ways(reach, reach.picked)[:WAYS]
    sheet = _Sheet(reach, ways)
    name = reach.person.label
    return Picture(
        _("Paths of %(name)s to %(part)s")
        % {"name": name, "part": reach.picked.node.ref.full_name or reach.picked.node.name},
        " ".join(_way_text(way, reach) for way in ways),
        tuple(sheet.boxes.values()),
        tuple(sorted(set(sheet.lines), key=lambda line: (line.look != "", line.look == "on", line.d))),
        max(1, len(ways)) * STEP + 30,
        reach.person.get_kind_display().capitalize(),
    )


def _ways(reach: PagedReach, picked: Reached) -> list[DrawnPath]:
    node = picked.node
    answer = ask.answer(picked.slice, main_action(node), node, now=reach.now)
    because = {rule.fact for rule in answer.explained(now=reach.now).because} if answer else set()
    above = [reach.by_number[key] for key in node.lineage if key in reach.by_number]
    ways = [way for item in (*above, *_others(reach, above)) for way in _split(item, because)]
    return sorted(ways, key=lambda way: (not way.lit, not _about(way, node.lineage), not way.denies))


def _others(reach: PagedReach, above: Sequence[Reached]) -> Iterable[Reached]:
    """As many of the rest as there is room for, those with a denial first."""
    drawn = {item.node.id for item in above}
    rest = (item for item in reach.by_number.values() if item.node.id not in drawn)
    return nsmallest(WAYS, rest, key=lambda way: not way.denied)


def _about(way: DrawnPath, lineage: Sequence[int]) -> bool:
    return way.reached.node.id in lineage


def _split(reached: Reached, because: set[Any]) -> list[DrawnPath]:
    ways: dict[Any, list[Rule]] = {}
    for rule in reached.rules:
        ways.setdefault((rule.via, rule.allow, rule.privilege == OWNER), []).append(rule)
    return [
        DrawnPath(reached, tuple(rules), any(rule.fact in because for rule in rules))
        for rules in ways.values()
    ]


def _way_text(way: DrawnPath, reach: PagedReach) -> str:
    group, role = way.station("group"), way.station("role")
    via = [_("group %(key)s") % {"key": reach.groups.get(group.key, group.name)}] if group else []
    via += [_("role %(name)s") % {"name": role.name}] if role else []
    how = _("through %(via)s") % {"via": words.listed(via)} if via else _("directly")
    values = {"rights": way.rights.removeprefix("⊘ "), "name": way.reached.node.name, "how": how}
    if way.lit:
        return _("%(rights)s on %(name)s, %(how)s, deciding.") % values
    return _("%(rights)s on %(name)s, %(how)s.") % values


class _Sheet:
    """Places each way on a line of its own; a station that several ways share is drawn once."""

    def __init__(self, reach: PagedReach, ways: Sequence[DrawnPath]):
        self.reach = reach
        self.boxes: dict[Any, Box] = {}
        self.lines: list[DrawnLine] = []
        look = "on" if any(way.lit for way in ways) else ""
        self.person = self._box("person", 0, 0, reach.person.label, reach.person.get_kind_display(), look)
        for row, way in enumerate(ways):
            self._way(row, way)

    def _way(self, row: int, way: DrawnPath) -> None:
        group, role = way.station("group"), way.station("role")
        chain = [self.person]
        # a role may deny one thing and give another, so only what is denied is drawn as such
        passed = "on" if way.lit else ""
        if group:
            label = self.reach.groups.get(group.key, group.name)
            chain.append(self._box(("group", group.key), 1, row, label, _("group"), passed))
        if role:
            key = ("role", group.key if group else 0, role.key)
            chain.append(self._box(key, 2, row, role.name, _("role"), passed))
        node = way.reached.node
        direct = not group and not role and way.rules[0].privilege != OWNER
        named = {"name": node.name}
        on = _("direct, on %(name)s") % named if direct else pgettext("an object", "on %(name)s") % named
        chain.append(self._box(("rule", row), 3, row, way.rights, on, way.look))
        stopped = way.reached.denied and not way.reached.can
        small = _("has no access") if stopped else self._object_words(way)
        chain.append(self._box(("object", node.id), 4, row, node.name, small, "bad" * stopped or passed))
        for at, (lower, other) in enumerate(pairwise(chain)):
            denied = way.denies and at >= len(chain) - 3
            self.lines.append(_line(lower, other, "bad" if denied else passed))

    def _object_words(self, way: DrawnPath) -> str:
        if not way.reached.can:
            return _("not usable yet")
        ends = terms.from_seconds(way.reached.ends)
        kind = terms.type_of(way.reached.node.type)
        return _("until %(ends)s") % {"ends": words.moment(ends, within=True)} if ends else kind

    def _box(self, key: Any, column: int, row: int, strong: str, small: str, look: str) -> Box:
        if key not in self.boxes:
            x, width = COLUMNS[column]
            self.boxes[key] = Box(
                x, row * STEP, width, _cut(strong, width), _cut(small, width), f"{strong}, {small}", look
            )
        return self.boxes[key]


def _line(box: Box, other: Box, look: str) -> DrawnLine:
    x, y, end = box.x + box.width, box.y + HEIGHT // 2, other.y + HEIGHT // 2
    turn = x + 32 if other.x - x > 32 else other.x
    middle = (x + turn) // 2
    rest = f"H{other.x}" if turn != other.x else ""
    return DrawnLine(f"M{x} {y}C{middle} {y} {middle} {end} {turn} {end}{rest}", look)


def _cut(text: str, width: int) -> str:
    """A name that fits its box; what is left out is its middle, because ends tell names apart."""
    fitting = int((width - 22) / LETTER)
    if len(text) <= fitting:
        return text
    head = (fitting - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (fitting - 1 - head) :]}"

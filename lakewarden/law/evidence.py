"""What is true of the parts of a condition: by which rules they hold or are denied, and what they lack.

This reads the same rules as `lakewarden.law.engine`, slowly and only when asked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple, cast

from lakewarden.law import pattern_levels
from lakewarden.law.conditions import (
    BELOW,
    HELD,
    MEMBER,
    NO_DENIAL,
    RIGHT,
    SELF,
    SERVICE_ADMIN,
    Atom,
    Condition,
    Way,
    ways,
)
from lakewarden.law.conditions import OWNER as OWNS
from lakewarden.law.dialects.base import Dialect
from lakewarden.law.dialects.patterns import TextDialect
from lakewarden.law.facts import OWNER, Key, Level, Lineage, Rule, Slice, Station


class Lack(NamedTuple):
    """One thing that stands between a principal and a yes.

    kind `privilege` (can be given on `object`, the narrowest place that helps), `denied` (the DENY `rule` on
    `object` must end), `ownership`, `membership`, `service_admin`, `mode` (the realm's authorization is off).
    """

    kind: str
    privilege: str = ""
    object: Key = None
    object_type: str = ""
    name: str = ""
    via: tuple[Station, ...] = ()
    rule: Rule | None = None


def _by_object(slice: Slice) -> dict[Key, list[Rule]]:
    """The rules by what they are on; sorted once for a slice, which may have ten thousand."""
    bits, by_key = slice.followed.get("rules by object", (None, {}))
    # a slice that was made out of this one may have other facts
    if bits is not slice.bits:
        by_key = {}
        for rule in slice.rules:
            by_key.setdefault(rule.object, []).append(rule)
        slice.followed["rules by object"] = (slice.bits, by_key)
    return cast("dict[Key, list[Rule]]", by_key)


class AtomState(NamedTuple):
    """What is true of an atom here; `place` is the narrowest level at which what it asks for could be given,
    `is_possible` says that there is one or needs none, `order` runs from the root down."""

    holds: bool
    allows: tuple[Rule, ...]
    denials: tuple[Rule, ...]
    place: Level | None
    is_possible: bool
    order: tuple[int, str, str]


class PossibleWay(NamedTuple):
    """A way that can be taken on the levels asked about; `ordered` from the root down, as a path is read.

    The `inborn` atoms of it are nobody's to give: who somebody is, and what is below the object.
    """

    way: Way
    ordered: tuple[Atom, ...]
    inborn: tuple[Atom, ...]


class Shape(NamedTuple):
    """What follows from the law and the types of the levels alone: the possible ways of conditions, and the
    depth of the narrowest level at which an atom could be given."""

    ways: dict[Condition, tuple[PossibleWay, ...]]
    depths: dict[Atom, int | None]


MOST_SHAPES = 1_000
_SHAPES: dict[tuple[str, tuple[str, ...]], Shape] = {}


def _shape(law: Dialect, lineage: Lineage) -> Shape:
    if len(_SHAPES) >= MOST_SHAPES:
        _SHAPES.clear()
    return _SHAPES.setdefault((law.code, tuple(level.type for level in lineage)), Shape({}, {}))


class Evidence:
    """The levels that a question is about and the rules that are true on them."""

    def __init__(
        self,
        slice: Slice,
        law: Dialect,
        lineage: Lineage,
        also: Lineage,
        names: Mapping[Key, str],
        now: float,
    ) -> None:
        self.slice, self.law, self.names = slice, law, names
        self.asked = lineage[-1].key if lineage else None
        self.levels = levels = (*lineage, *also[1:])
        # with a second object a level may stand twice
        self.shape = Shape({}, {}) if also else _shape(law, lineage)
        self._states: dict[Atom, AtomState] = {}
        self._lacks: dict[Atom, tuple[Lack, ...]] = {}
        depth = {level.key: place for place, level in enumerate(levels)}
        on_them = _by_object(slice)
        live = [rule for key in depth for rule in on_them.get(key, ()) if rule.holds_at(now)]
        # nearest path and nearest object first: the plainest evidence
        live.sort(key=lambda rule: (len(rule.via), -depth[rule.object], rule.opened))
        self.rules = [rule for rule in live if self._counts(rule, levels[depth[rule.object]])]

    def _counts(self, rule: Rule, level: Level) -> bool:
        privilege = self.law.privilege(rule.privilege)
        return (
            rule.allow if rule.privilege == OWNER else privilege is not None and level.type in privilege.binds
        )

    def possible(self, condition: Condition) -> tuple[PossibleWay, ...]:
        """The ways of a condition, each atom of which could be given here or needs no place."""
        possible = self.shape.ways.get(condition)
        if possible is None:
            open_ways = [way for way in ways(condition) if all(self.state(atom).is_possible for atom in way)]
            possible = self.shape.ways[condition] = tuple(
                PossibleWay(
                    way,
                    tuple(sorted(way, key=lambda atom: self.state(atom).order)),
                    tuple(atom for atom in way if atom.kind in (SELF, BELOW)),
                )
                for way in open_ways
            )
        return possible

    def state(self, atom: Atom) -> AtomState:
        """What is true of an atom, worked out once: most ways ask for the same ones."""
        state = self._states.get(atom)
        if state is None:
            state = self._states[atom] = self._assessed(atom)
        return state

    def _assessed(self, atom: Atom) -> AtomState:
        given, denied = self._given_and_denied
        allows = given.get(atom.name, ())
        denials: tuple[Rule, ...] = ()
        if atom.kind == RIGHT or atom.kind == NO_DENIAL:
            denials = denied.get(atom.name, ())
            holds = not denials and (atom.kind == NO_DENIAL or bool(allows))
        elif atom.kind == OWNS:
            keys = {level.key for level in self.levels if level.type == atom.name}
            allows = tuple(rule for rule in given.get(OWNER, ()) if rule.object in keys)
            holds = bool(allows)
        elif atom.kind == SELF:
            holds = bool(self.levels) and self.asked in self.slice.selves
        else:
            holds = self.slice.member if atom.kind == MEMBER else self.slice.service_admin
        return self._state(atom, holds, allows, denials, self._depth(atom))

    def _depth(self, atom: Atom) -> int | None:
        """That of the narrowest level at which what an atom asks for could be given."""
        if atom not in self.shape.depths:
            if atom.kind == RIGHT or atom.kind == NO_DENIAL:
                depth = self._deepest(self.law.privileges[atom.name].binds)
            elif atom.kind == OWNS:
                depth = self._deepest((atom.name,))
            else:
                depth = 0 if self.levels else None
            self.shape.depths[atom] = depth
        return self.shape.depths[atom]

    def _state(
        self,
        atom: Atom,
        holds: bool,
        allows: tuple[Rule, ...],
        denials: tuple[Rule, ...],
        depth: int | None,
    ) -> AtomState:
        place = None if depth is None else self.levels[depth]
        order = (-1 if depth is None else depth, atom.kind, atom.name)
        return AtomState(holds, allows, denials, place, place is not None or is_placeless(atom), order)

    def _deepest(self, types: Collection[str]) -> int | None:
        return next((at for at in range(len(self.levels) - 1, -1, -1) if self.levels[at].type in types), None)

    @cached_property
    def _given_and_denied(self) -> tuple[dict[str, tuple[Rule, ...]], dict[str, tuple[Rule, ...]]]:
        """The rules by their privileges, in their order: every atom of every way asks for them."""
        given: dict[str, list[Rule]] = {}
        denied: dict[str, list[Rule]] = {}
        for rule in self.rules:
            code = self.law.aliases.get(rule.privilege, rule.privilege)
            (given if rule.allow else denied).setdefault(code, []).append(rule)
        return _frozen(given), _frozen(denied)

    def lacks(self, atom: Atom) -> tuple[Lack, ...]:
        """What stands between the principal and an atom; nothing where it holds."""
        lacks = self._lacks.get(atom)
        if lacks is None:
            lacks = self._lacks[atom] = () if self.state(atom).holds else tuple(_lacks_of(atom, self))
        return lacks

    @cached_property
    def heights(self) -> dict[Key, int]:
        """How far above the last level each key is, itself counted."""
        return {level.key: len(self.levels) - depth for depth, level in enumerate(self.levels)}

    @cached_property
    def types(self) -> dict[Key, str]:
        return {level.key: level.type for level in self.levels}

    def name(self, key: Key) -> str:
        return self.names.get(key, "")


def _frozen(by_code: Mapping[str, list[Rule]]) -> dict[str, tuple[Rule, ...]]:
    return {code: tuple(rules) for code, rules in by_code.items()}


class TextEvidence(Evidence):
    """The same where rules are about texts: each level is asked which texts name it."""

    law: TextDialect

    def __init__(
        self,
        slice: Slice,
        law: TextDialect,
        lineage: Lineage,
        also: Lineage,
        now: float,
    ) -> None:
        self.slice, self.law = slice, law
        self.lineage, self.also, self.levels = lineage, also, (*lineage, *also[1:])
        self.asked, self.shape = lineage[-1].key, Shape({}, {})
        self._states, self._lacks = {}, {}
        ways_down = [item[:at] for item in (lineage, also) for at in range(1, len(item) + 1)]
        self.names = {item[-1].key: pattern_levels.text_of(item) for item in ways_down}
        live = (rule for rule in slice.rules if rule.holds_at(now))
        self.rules = sorted(live, key=lambda rule: (len(rule.via), rule.opened))

    def _assessed(self, atom: Atom) -> AtomState:
        if atom.kind not in (HELD, BELOW, OWNS):
            return super()._assessed(atom)
        allows = tuple(rule for rule in self.rules if self._gives(rule, atom))
        return self._state(atom, bool(allows), allows, (), self._depth(atom))

    def _gives(self, rule: Rule, atom: Atom) -> bool:
        if atom.kind == OWNS:
            return rule.privilege == OWNER and rule.object == self.levels[0].key
        if rule.privilege == OWNER or atom.kind not in (HELD, BELOW):
            return False
        if atom.kind == BELOW:
            return pattern_levels.names_below(rule, *pattern_levels.named(self.lineage))
        level = pattern_levels.level_of(atom.on, self.lineage, self.also)
        fits = atom.name in (rule.privilege, *self.law.implied.get(rule.privilege, ()))
        return fits and level is not None and pattern_levels.names(rule, *pattern_levels.named(level))

    def _depth(self, atom: Atom) -> int | None:
        if atom.kind not in (HELD, BELOW):
            return super()._depth(atom)
        level: Lineage | None = self.lineage
        if atom.kind == HELD:
            level = pattern_levels.level_of(atom.on, self.lineage, self.also)
        return max(at for at, each in enumerate(self.levels) if each == level[-1]) if level else None


def is_placeless(atom: Atom) -> bool:
    return atom.kind in (MEMBER, SERVICE_ADMIN, SELF)


def _lacks_of(atom: Atom, evidence: Evidence) -> Iterator[Lack]:
    state = evidence.state(atom)
    key, type = (state.place.key, state.place.type) if state.place else (None, "")
    for rule in state.denials:
        object_type, name = evidence.types[rule.object], evidence.name(rule.object)
        yield Lack("denied", atom.name, rule.object, object_type, name, rule.via, rule)
    if atom.kind == OWNS:
        yield Lack("ownership", OWNER, key, type, evidence.name(key))
    elif atom.kind in (RIGHT, HELD) and not state.allows:
        yield Lack("privilege", atom.name, key, type, evidence.name(key))
    elif is_placeless(atom):
        yield Lack("membership" if atom.kind == MEMBER else atom.kind, "", key, type, evidence.name(key))


def live_denials(slice: Slice, lineage: Lineage, now: float) -> tuple[Rule, ...]:
    rules = _by_object(slice)
    on_them = (rule for level in lineage for rule in rules.get(level.key, ()))
    return tuple(rule for rule in on_them if not rule.allow and rule.holds_at(now))


def evidence_on(
    slice: Slice, law: Dialect, lineage: Lineage, also: Lineage, names: Mapping[Key, str], now: float
) -> Evidence:
    if isinstance(law, TextDialect):
        return TextEvidence(slice, law, lineage, also, now)
    return Evidence(slice, law, lineage, also, names, now)

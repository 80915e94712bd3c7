"""Why a decision is what it is: the tree of its condition, what a yes rests on, and what would turn a no.

This reads the same conditions and the same rules as `lakewarden.law.engine`, slowly and only when asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

from lakewarden.law import dialects, pattern_levels
from lakewarden.law.conditions import (
    BELOW,
    HELD,
    MEMBER,
    NO_DENIAL,
    RIGHT,
    SELF,
    SERVICE_ADMIN,
    All,
    AnyOf,
    Atom,
    Condition,
    Way,
    member,
    ways,
)
from lakewarden.law.conditions import OWNER as OWNS
from lakewarden.law.dialects.base import WEIGHTS, Dialect, Test
from lakewarden.law.dialects.patterns import TextDialect
from lakewarden.law.engine import Decision, at, decide, each_of, shows
from lakewarden.law.facts import NOTHING, OWNER, Key, Level, Lineage, Rule, Slice, Station

EVIDENCE = (RIGHT, HELD, BELOW, OWNS)
"""What rules give; the rest is what the principal is."""


@dataclass(frozen=True)
class Lack:
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


@dataclass(frozen=True)
class Node:
    """One part of a condition and whether it holds.

    `kind` is `all` or `any` over `children`, or what an atom asks: `right`, `owner`, `no_denial`, `member`,
    `service_admin`, `self`; `mode` where the realm's mode decides, `unknown` where nothing can be said.
    `rules` are those it holds by or, where `denied`, those that forbid it.  `needed` marks the way that the
    answer goes: what a yes rests on, what the first way out of a no would take.
    """

    holds: bool
    kind: str
    label: str = ""
    privilege: str = ""
    object: Key = None
    object_type: str = ""
    name: str = ""
    rules: tuple[Rule, ...] = ()
    children: tuple[Node, ...] = ()
    needed: bool = False
    denied: bool = False


@dataclass(frozen=True)
class Explanation:
    """`because` alone would still be a yes, and no part of it would; `missing` is the way out of a no that
    opens least, `alternatives` the others in that order.  Both are empty where nothing given could help."""

    decision: Decision
    tree: Node
    because: tuple[Rule, ...] = ()
    missing: tuple[Lack, ...] = ()
    alternatives: tuple[tuple[Lack, ...], ...] = ()


def explain(
    slice: Slice,
    operation: str,
    lineage: Lineage,
    *,
    now: float,
    names: Mapping[Key, str] | None = None,
    also: Lineage = (),
    inside: Sequence[Lineage] | None = None,
) -> Explanation:
    """Explain the decision on the same question; `names` are put beside the keys of objects in the answer.

    Of what is `inside`, that is named which a list shows to the principal, and all of it to those who have
    the right on the object itself: nobody learns what is in a namespace by asking whether they may delete it.
    """
    slice = at(slice, now)
    law = dialects.get(slice.dialect)
    decision = decide(slice, operation, lineage, now=now, also=also, inside=inside)
    test = law.test(operation, lineage[-1].type if lineage else "")
    if test is None or decision.reason in ("incomplete", "unknown_object"):
        return Explanation(decision, Node(False, "unknown", decision.reason))
    ground = _ground(slice, law, lineage, also, names or {}, now)
    if slice.mode != "on" and test.operation.membership:
        return _by_mode(decision, ground)
    if not test.operation.each:
        return _by_law(decision, ground, test)
    itself, contents = _alone(decision, ground, test), each_of(test, inside or ())
    visible = contents if itself.because else [item for item in contents if shows(slice, item, now=now)]
    each = [_ground(slice, law, item, (), {}, now) for item in visible]
    tests = [law.test(test.operation.each, item.levels[-1].type) for item in each]
    parts = [_alone(decision, question, its) for question, its in zip(each, tests) if its is not None]
    if len(visible) < len(contents):
        parts.append(_unnamed(decision, law, test, lineage))
    return _together(decision, test, [itself, *parts])


def missing(
    slice: Slice,
    operation: str,
    lineage: Lineage,
    *,
    now: float,
    also: Lineage = (),
    inside: Sequence[Lineage] | None = None,
) -> tuple[Lack, ...]:
    """What `explain` says is missing, alone.

    Refusals are much alike: what is missing follows from the types on the way, from what is held there and
    from the very denials, so it is worked out once for all of a kind.
    """
    slice = at(slice, now)
    law = dialects.get(slice.dialect)
    held = [slice.bits.get(level.key, NOTHING) for level in lineage]
    if law.by_text or also or inside is not None or not lineage:
        return explain(slice, operation, lineage, now=now, also=also, inside=inside).missing
    types, itself = tuple(level.type for level in lineage), lineage[-1].key in slice.selves
    denials = _denials(slice, lineage, now) if any(bits.deny for bits in held) else ()
    given = (tuple(held), denials, slice.member, slice.service_admin, slice.mode, itself)
    like = (law.code, operation, types, given)
    if like not in _MISSING:
        if len(_MISSING) >= MOST_MISSING:
            _MISSING.clear()
        places = {level.key: depth for depth, level in enumerate(lineage)}
        lacks = explain(slice, operation, lineage, now=now).missing
        _MISSING[like] = [(places.get(lack.object), lack) for lack in lacks]
    return tuple(_lack_at(depth, lack, lineage) for depth, lack in _MISSING[like])


MOST_MISSING = 5_000
_MISSING: dict[tuple[Any, ...], list[tuple[int | None, Lack]]] = {}


def _denials(slice: Slice, lineage: Lineage, now: float) -> tuple[Rule, ...]:
    rules = _by_object(slice)
    on_them = (rule for level in lineage for rule in rules.get(level.key, ()))
    return tuple(rule for rule in on_them if not rule.allow and rule.holds_at(now))


def _lack_at(depth: int | None, lack: Lack, lineage: Lineage) -> Lack:
    return lack if depth is None else replace(lack, object=lineage[depth].key)


def _ground(
    slice: Slice, law: Dialect, lineage: Lineage, also: Lineage, names: Mapping[Key, str], now: float
) -> _Ground:
    if isinstance(law, TextDialect):
        return _TextGround(slice, law, lineage, also, now)
    return _Ground(slice, law, lineage, also, names, now)


def _alone(decision: Decision, ground: _Ground, test: Test) -> Explanation:
    """What one of several objects does to a decision about all of them."""
    holds = any(all(map(ground.holds, way)) for way in ways(test.condition))
    return _by_law(decision._replace(allowed=holds), ground, test)


def _unnamed(decision: Decision, law: Dialect, test: Test, lineage: Lineage) -> Explanation:
    """What is lacking on things in the object whose names the principal may not know: the right on all."""
    deeper = {type: len(law.paths[type]) - len(law.paths[lineage[-1].type]) for type in test.operation.every}
    lacks = [
        Lack("privilege", test.operation.each, None, type, f"{type}:{lineage[-1].name}{'.*' * max(depth, 1)}")
        for type, depth in deeper.items()
    ]
    tree = Node(False, "all", test.operation.label, needed=True)
    return Explanation(decision, tree, missing=tuple(lacks))


def _together(decision: Decision, test: Test, parts: Sequence[Explanation]) -> Explanation:
    """The object and each thing in it: a yes rests on all of them, a no lacks what any of them lacks."""
    trees = tuple(part.tree for part in parts)
    tree = Node(bool(decision), "all", test.operation.label, children=trees, needed=True)
    because = (rule for part in parts for rule in part.because if decision)
    missing = (lack for part in parts for lack in part.missing)
    return Explanation(decision, tree, tuple(dict.fromkeys(because)), tuple(dict.fromkeys(missing)))


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


class _Ground:
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

    def allows(self, atom: Atom) -> tuple[Rule, ...]:
        """The rules that give what a right or owner atom asks for, denials apart."""
        if atom.kind == OWNS:
            keys = {level.key for level in self.levels if level.type == atom.name}
            return tuple(rule for rule in self.rules if rule.privilege == OWNER and rule.object in keys)
        return self._given_and_denied[0].get(atom.name, ())

    def denials(self, atom: Atom) -> tuple[Rule, ...]:
        if atom.kind not in (RIGHT, NO_DENIAL):
            return ()
        return self._given_and_denied[1].get(atom.name, ())

    @cached_property
    def _given_and_denied(self) -> tuple[dict[str, tuple[Rule, ...]], dict[str, tuple[Rule, ...]]]:
        """The rules by their privileges, in their order: every atom of every way asks for them."""
        given: dict[str, list[Rule]] = {}
        denied: dict[str, list[Rule]] = {}
        for rule in self.rules:
            code = self.law.aliases.get(rule.privilege, rule.privilege)
            (given if rule.allow else denied).setdefault(code, []).append(rule)
        return _frozen(given), _frozen(denied)

    def holds(self, atom: Atom) -> bool:
        if atom.kind in (RIGHT, OWNS):
            return bool(self.allows(atom)) and not self.denials(atom)
        if atom.kind == NO_DENIAL:
            return not self.denials(atom)
        if atom.kind == SELF:
            return bool(self.levels) and self.asked in self.slice.selves
        return self.slice.member if atom.kind == MEMBER else self.slice.service_admin

    def place(self, atom: Atom) -> Level | None:
        """The narrowest level at which what the atom asks for could be given."""
        if atom not in self._places:
            self._places[atom] = self._narrowest(atom)
        return self._places[atom]

    @cached_property
    def _places(self) -> dict[Atom, Level | None]:
        return {}

    def _narrowest(self, atom: Atom) -> Level | None:
        if atom.kind == OWNS:
            fitting: Iterable[str] = (atom.name,)
        elif atom.kind in (RIGHT, NO_DENIAL):
            fitting = self.law.privileges[atom.name].binds
        else:
            return self.levels[0] if self.levels else None
        return next((level for level in reversed(self.levels) if level.type in fitting), None)

    def name(self, key: Key) -> str:
        return self.names.get(key, "")


def _frozen(by_code: Mapping[str, list[Rule]]) -> dict[str, tuple[Rule, ...]]:
    return {code: tuple(rules) for code, rules in by_code.items()}


class _TextGround(_Ground):
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
        self.asked = lineage[-1].key
        ways_down = [item[:at] for item in (lineage, also) for at in range(1, len(item) + 1)]
        self.names = {item[-1].key: pattern_levels.text_of(item) for item in ways_down}
        live = (rule for rule in slice.rules if rule.holds_at(now))
        self.rules = sorted(live, key=lambda rule: (len(rule.via), rule.opened))
        self._found: dict[Atom, tuple[Rule, ...]] = {}

    def allows(self, atom: Atom) -> tuple[Rule, ...]:
        if atom not in self._found:
            self._found[atom] = tuple(rule for rule in self.rules if self._gives(rule, atom))
        return self._found[atom]

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

    def holds(self, atom: Atom) -> bool:
        return bool(self.allows(atom)) if atom.kind in (HELD, BELOW, OWNS) else super().holds(atom)

    def place(self, atom: Atom) -> Level | None:
        if atom.kind == HELD:
            level = pattern_levels.level_of(atom.on, self.lineage, self.also)
            return level[-1] if level else None
        return self.lineage[-1] if atom.kind == BELOW else super().place(atom)


def _by_law(decision: Decision, ground: _Ground, test: Test) -> Explanation:
    condition = test.condition
    open_ways = [
        way for way in ways(condition) if all(ground.place(atom) or _placeless(atom) for atom in way)
    ]
    if decision:
        way = min((way for way in open_ways if all(map(ground.holds, way))), key=_evidence)
        because = tuple(ground.allows(atom)[0] for atom in _ordered(way, ground) if atom.kind in EVIDENCE)
        return Explanation(decision, _rooted(ground, test, condition, way), tuple(dict.fromkeys(because)))
    entry = (member,) if test.operation.membership else ()
    # nobody is made somebody else, and nothing given unseen; every other atom can be brought about
    outs = sorted(
        (
            (_lacks((*entry, *_ordered(way, ground)), ground), way)
            for way in open_ways
            if all(atom.kind not in (SELF, BELOW) or ground.holds(atom) for atom in way)
        ),
        key=lambda out: _opens(out[0], ground),
    )
    missing = tuple(lacks for lacks, _ in outs)
    way = outs[0][1] if outs else frozenset()
    first_and_rest = (missing[0], missing[1:]) if missing else ((), ())
    return Explanation(decision, _rooted(ground, test, condition, way), (), *first_and_rest)


def _by_mode(decision: Decision, ground: _Ground) -> Explanation:
    belongs = _node(member, ground, frozenset((member,)))
    mode = Node(bool(decision) or not belongs.holds, "mode", ground.slice.mode, needed=True)
    root = ground.levels[0]
    lacks = [Lack("membership", "", root.key, root.type, ground.name(root.key))] if not belongs.holds else []
    if not mode.holds:
        lacks.append(Lack("mode", "", root.key, root.type, ground.name(root.key)))
    tree = Node(bool(decision), "all", decision.operation, children=(belongs, mode), needed=True)
    return Explanation(decision, tree, (), tuple(lacks))


def _placeless(atom: Atom) -> bool:
    return atom.kind in (MEMBER, SERVICE_ADMIN, SELF)


def _evidence(way: Way) -> int:
    return sum(atom.kind in EVIDENCE for atom in way)


def _ordered(way: Way, ground: _Ground) -> list[Atom]:
    """From the root down, as a path is read."""
    places = {level: at for at, level in enumerate(ground.levels)}

    def depth(atom: Atom) -> tuple[int, str, str]:
        place = ground.place(atom)
        return (places[place] if place else -1, atom.kind, atom.name)

    return sorted(way, key=depth)


def _lacks(atoms: Iterable[Atom], ground: _Ground) -> tuple[Lack, ...]:
    return tuple(dict.fromkeys(lack for atom in atoms for lack in _lack(atom, ground)))


def _lack(atom: Atom, ground: _Ground) -> Iterable[Lack]:
    if ground.holds(atom):
        return
    place = ground.place(atom)
    key, type = (place.key, place.type) if place else (None, "")
    denials = ground.denials(atom)
    types = {level.key: level.type for level in ground.levels} if denials else {}
    for rule in denials:
        yield Lack(
            "denied", atom.name, rule.object, types[rule.object], ground.name(rule.object), rule.via, rule
        )
    if atom.kind == OWNS:
        yield Lack("ownership", OWNER, key, type, ground.name(key))
    elif atom.kind in (RIGHT, HELD) and not ground.allows(atom):
        yield Lack("privilege", atom.name, key, type, ground.name(key))
    elif _placeless(atom):
        yield Lack("membership" if atom.kind == MEMBER else atom.kind, "", key, type, ground.name(key))


def _opens(lacks: tuple[Lack, ...], ground: _Ground) -> tuple[int, int, int, int]:
    """How much these would open: the office of the whole site most, then ownership, the higher the more;
    then the privileges; then how many."""
    heights = {level.key: len(ground.levels) - at for at, level in enumerate(ground.levels)}
    offices = sum(lack.kind == "service_admin" for lack in lacks)
    owned = sum(heights[lack.object] for lack in lacks if lack.kind == "ownership")
    codes = {lack.privilege for lack in lacks if lack.kind in ("privilege", "denied")}
    weight = sum(WEIGHTS.get(ground.law.privileges[code].category, 3) for code in codes)
    return offices, owned, weight, len(lacks)


def _rooted(ground: _Ground, test: Test, condition: Condition, way: Way) -> Node:
    tree = _node(condition, ground, way)
    if not test.operation.membership or condition == member:
        return tree
    belongs = _node(member, ground, frozenset((member,)))
    return Node(
        belongs.holds and tree.holds, "all", test.operation.label, children=(belongs, tree), needed=True
    )


def _node(condition: Condition, ground: _Ground, way: Way | None) -> Node:
    if isinstance(condition, Atom):
        return _leaf(condition, ground, needed=way is not None)
    if isinstance(condition, All):
        children = tuple(_node(part, ground, way) for part in condition.parts)
        return Node(all(child.holds for child in children), "all", children=children, needed=way is not None)
    return _choice(condition, ground, way)


def _leaf(atom: Atom, ground: _Ground, *, needed: bool) -> Node:
    """One right with what gives or denies it; where nothing does, the object that it would have to be on."""
    privilege = ground.law.privileges.get(atom.name)
    other = "Anything in it" if atom.kind == BELOW else atom.name
    denials = ground.denials(atom)
    rules = denials or ground.allows(atom)
    key = rules[0].object if rules else getattr(ground.place(atom), "key", None)
    return Node(
        holds=ground.holds(atom),
        kind=RIGHT if atom.kind in (HELD, BELOW) else atom.kind,
        label=privilege.label if privilege else other,
        privilege=privilege.code if privilege else "",
        object=key,
        object_type=next((level.type for level in ground.levels if level.key == key), ""),
        name=ground.name(key),
        rules=rules,
        needed=needed,
        denied=bool(denials),
    )


def _choice(condition: AnyOf, ground: _Ground, way: Way | None) -> Node:
    """A choice shows only what could apply here, and lights the one branch that the way takes."""
    parts = [part for part in condition.parts if _applies(part, ground)]
    chosen = next((part for part in parts if way is not None and any(w <= way for w in ways(part))), None)
    children = tuple(_node(part, ground, way if part is chosen else None) for part in parts)
    return Node(any(child.holds for child in children), "any", children=children, needed=way is not None)


def _applies(condition: Condition, ground: _Ground) -> bool:
    return any(all(ground.place(atom) or _placeless(atom) for atom in way) for way in ways(condition))

"""Why a decision is what it is: the tree of its condition, what a yes rests on, and what would turn a no.

This reads the same conditions and the same rules as `lakewarden.law.engine`, slowly and only when asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from lakewarden.law import dialects
from lakewarden.law.conditions import (
    BELOW,
    HELD,
    RIGHT,
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
from lakewarden.law.engine import Decision, at, decide, each_of, shows
from lakewarden.law.evidence import Evidence, Lack, evidence_on, live_denials
from lakewarden.law.facts import NOTHING, Key, Lineage, Rule, Slice

GIVEN = (RIGHT, HELD, BELOW, OWNS)
"""The kinds of atoms that rules give; the rest is what the principal is."""


class Node(NamedTuple):
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


class Explanation(NamedTuple):
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
    evidence = evidence_on(slice, law, lineage, also, names or {}, now)
    if slice.mode != "on" and test.operation.membership:
        return _by_mode(decision, evidence)
    if not test.operation.each:
        return _by_law(decision, evidence, test)
    itself, contents = _alone(decision, evidence, test), each_of(test, inside or ())
    visible = contents if itself.because else [item for item in contents if shows(slice, item, now=now)]
    each = [evidence_on(slice, law, item, (), {}, now) for item in visible]
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
    denials = live_denials(slice, lineage, now) if any(bits.deny for bits in held) else ()
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


def _lack_at(depth: int | None, lack: Lack, lineage: Lineage) -> Lack:
    return lack if depth is None else lack._replace(object=lineage[depth].key)


def _alone(decision: Decision, evidence: Evidence, test: Test) -> Explanation:
    """What one of several objects does to a decision about all of them."""
    holds = any(_all_hold(way, evidence) for way in ways(test.condition))
    return _by_law(decision._replace(allowed=holds), evidence, test)


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


def _by_law(decision: Decision, evidence: Evidence, test: Test) -> Explanation:
    condition = test.condition
    possible = evidence.possible(condition)
    if decision:
        true = (item for item in possible if _all_hold(item.way, evidence))
        way, ordered, _ = min(true, key=lambda item: sum(atom.kind in GIVEN for atom in item.way))
        because = tuple(evidence.state(atom).allows[0] for atom in ordered if atom.kind in GIVEN)
        return Explanation(decision, _rooted(evidence, test, condition, way), tuple(dict.fromkeys(because)))
    entry = (member,) if test.operation.membership else ()
    # nobody is made somebody else, and nothing given unseen; every other atom can be brought about
    outs = sorted(
        (
            (_lacks((*entry, *ordered), evidence), way)
            for way, ordered, inborn in possible
            if _all_hold(inborn, evidence)
        ),
        key=lambda out: _opens(out[0], evidence),
    )
    missing = tuple(lacks for lacks, _ in outs)
    way = outs[0][1] if outs else frozenset()
    first_and_rest = (missing[0], missing[1:]) if missing else ((), ())
    return Explanation(decision, _rooted(evidence, test, condition, way), (), *first_and_rest)


def _by_mode(decision: Decision, evidence: Evidence) -> Explanation:
    belongs = _node(member, evidence, frozenset((member,)))
    mode = Node(bool(decision) or not belongs.holds, "mode", evidence.slice.mode, needed=True)
    root = evidence.levels[0]
    lacks = (
        [Lack("membership", "", root.key, root.type, evidence.name(root.key))] if not belongs.holds else []
    )
    if not mode.holds:
        lacks.append(Lack("mode", "", root.key, root.type, evidence.name(root.key)))
    tree = Node(bool(decision), "all", decision.operation, children=(belongs, mode), needed=True)
    return Explanation(decision, tree, (), tuple(lacks))


def _all_hold(way: Iterable[Atom], evidence: Evidence) -> bool:
    return all(evidence.state(atom).holds for atom in way)


def _lacks(atoms: Iterable[Atom], evidence: Evidence) -> tuple[Lack, ...]:
    return tuple(dict.fromkeys(lack for atom in atoms for lack in evidence.lacks(atom)))


def _opens(lacks: tuple[Lack, ...], evidence: Evidence) -> tuple[int, int, int, int]:
    """How much these would open: the office of the whole site most, then ownership, the higher the more;
    then the privileges; then how many."""
    offices = sum(lack.kind == "service_admin" for lack in lacks)
    owned = sum(evidence.heights[lack.object] for lack in lacks if lack.kind == "ownership")
    codes = {lack.privilege for lack in lacks if lack.kind in ("privilege", "denied")}
    weight = sum(WEIGHTS.get(evidence.law.privileges[code].category, 3) for code in codes)
    return offices, owned, weight, len(lacks)


def _rooted(evidence: Evidence, test: Test, condition: Condition, way: Way) -> Node:
    tree = _node(condition, evidence, way)
    if not test.operation.membership or condition == member:
        return tree
    belongs = _node(member, evidence, frozenset((member,)))
    return Node(
        belongs.holds and tree.holds, "all", test.operation.label, children=(belongs, tree), needed=True
    )


def _node(condition: Condition, evidence: Evidence, way: Way | None) -> Node:
    if isinstance(condition, Atom):
        return _leaf(condition, evidence, needed=way is not None)
    if isinstance(condition, All):
        children = tuple(_node(part, evidence, way) for part in condition.parts)
        return Node(all(child.holds for child in children), "all", children=children, needed=way is not None)
    return _choice(condition, evidence, way)


def _leaf(atom: Atom, evidence: Evidence, *, needed: bool) -> Node:
    """One right with what gives or denies it; where nothing does, the object that it would have to be on."""
    state, privilege = evidence.state(atom), evidence.law.privileges.get(atom.name)
    rules = state.denials or state.allows
    key = rules[0].object if rules else getattr(state.place, "key", None)
    return Node(
        holds=state.holds,
        kind=RIGHT if atom.kind in (HELD, BELOW) else atom.kind,
        label=privilege.label if privilege else "Anything in it" if atom.kind == BELOW else atom.name,
        privilege=privilege.code if privilege else "",
        object=key,
        object_type=evidence.types.get(key, ""),
        name=evidence.name(key),
        rules=rules,
        needed=needed,
        denied=bool(state.denials),
    )


def _choice(condition: AnyOf, evidence: Evidence, way: Way | None) -> Node:
    """A choice shows only what could apply here, and lights the one branch that the way takes."""
    parts = [part for part in condition.parts if evidence.possible(part)]
    chosen = next((part for part in parts if way is not None and any(w <= way for w in ways(part))), None)
    children = tuple(_node(part, evidence, way if part is chosen else None) for part in parts)
    return Node(any(child.holds for child in children), "any", children=children, needed=way is not None)

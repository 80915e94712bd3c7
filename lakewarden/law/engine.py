"""Decisions over a slice: may this be done, and what may be seen.  Pure functions; unknown means no.

Times are seconds since 1970.  Keys are unique across all types of a realm, roles, users and groups included.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from lakewarden.law import dialects, pattern_levels
from lakewarden.law.conditions import MEMBER, SELF, SERVICE_ADMIN, Atom, Condition, holds
from lakewarden.law.dialects.base import Dialect, Operation, Step, Test, asks_whole
from lakewarden.law.dialects.patterns import TextDialect
from lakewarden.law.facts import NOTHING, OWNER, Bits, Key, Lineage, Rule, Slice, next_boundary
from lakewarden.law.patterns import Texts
from lakewarden.law.principals import Principal

ALLOWED, MISSING, DENIED = "allowed", "missing", "denied"
UNKNOWN_OPERATION, UNKNOWN_OBJECT, INCOMPLETE = "unknown_operation", "unknown_object", "incomplete"
NOT_A_MEMBER, REALM_OFF = "not_a_member", "realm_off"

_NOBODY = object()


class Decision(NamedTuple):
    """An answer that is true exactly when it is a yes.

    `reason` is `allowed`, or why not: `missing` something that can be given, `denied` by a rule that must end
    first, `not_a_member` of the realm, `realm_off` (authorization is switched off, and this is about it),
    `switched_off` (what it is about, or lies in, is), `unknown_operation`, `unknown_object` (no such type, or
    not a place where the operation applies), `incomplete` (what else the operation is about, beside the
    object or inside it, was not named).
    """

    allowed: bool
    operation: str
    revision: int
    reason: str

    def __bool__(self) -> bool:
        return self.allowed


class Visibility(NamedTuple):
    """What a list of a container's children shows: whether it opens, what it says of a child without facts of
    its own, and the keys with facts for which it says the opposite."""

    gate: bool
    default: bool
    exceptions: frozenset[Key]

    def shows(self, key: Key) -> bool:
        return self.gate and self.default != (key in self.exceptions)


Reach = tuple[int, int, int]
"""What a slice holds over a lineage, joined: privileges allowed, privileges denied, bits of owned types."""
Standing = tuple[int, int, int, Mapping[str, Step]]
"""The same, and which levels may follow: where to go on from for all that lies in one container."""


def build(
    principal: Principal,
    realm: str,
    dialect_code: str,
    revision: int,
    rules: Iterable[Rule],
    *,
    member: bool,
    service_admin: bool = False,
    mode: str = "on",
    selves: Iterable[Key] = (),
    now: float,
) -> Slice:
    """Make the slice of a principal as it is at `now`.  Raises UnknownDialect."""
    kept, law = tuple(rules), dialects.get(dialect_code)
    return Slice(
        principal=principal,
        realm=realm,
        dialect=dialect_code,
        revision=revision,
        bits=_bits(law, kept, now),
        rules=kept,
        member=member or law.open_to_all,
        service_admin=service_admin,
        mode=mode,
        selves=frozenset(selves),
        since=now,
        next_change_at=next_boundary(kept, now),
        texts=_texts(law, kept, now),
    )


def at(slice: Slice, now: float) -> Slice:
    """The slice as it is at `now`: the same one until a rule in it begins or ends."""
    if slice.since <= now and (slice.next_change_at is None or now < slice.next_change_at):
        return slice
    return with_rules(slice, slice.rules, now=now)


def with_rules(slice: Slice, rules: Iterable[Rule], *, now: float) -> Slice:
    """The slice as it would be at `now` if these were all the rules."""
    return build(
        slice.principal,
        slice.realm,
        slice.dialect,
        slice.revision,
        rules,
        member=slice.member,
        service_admin=slice.service_admin,
        mode=slice.mode,
        selves=slice.selves,
        now=now,
    )


def decide(
    slice: Slice,
    operation: str,
    lineage: Lineage,
    *,
    now: float,
    also: Lineage = (),
    inside: Sequence[Lineage] | None = None,
    above: Standing | None = None,
) -> Decision:
    """Answer whether the slice's principal may do `operation` to the last object of `lineage`.

    `also` is the lineage, from the same root, of a second object that the operation is about: the tag or
    policy to be put on the object, the template of a job to be run in a metalake.  `inside` are those of
    everything in the object, for operations that need something on each.  `above` is what `descend` gave for
    all but the last level of `lineage`, by who asks about many objects of one container at one moment.
    """
    if now < slice.since or (slice.next_change_at is not None and now >= slice.next_change_at):
        slice, above = at(slice, now), None
    law = dialects.get(slice.dialect)
    test = law.test(operation, lineage[-1][0] if lineage else "")
    if test is None:
        reason = UNKNOWN_OBJECT if operation in law.operations else UNKNOWN_OPERATION
    elif isinstance(law, TextDialect):
        reason = _reason_by_text(slice, law, test, lineage, also, inside)
    else:
        reason = _reason(slice, law, test, lineage, also, above)
    return Decision(reason == ALLOWED, operation, slice.revision, reason)


def abilities(slice: Slice, lineage: Lineage, *, now: float) -> frozenset[str]:
    """The names of all that the slice's principal may do to the last object of a lineage."""
    law, type = dialects.get(slice.dialect), lineage[-1].type
    operations = ((name, law.action(type, name)) for name in law.actions_for(type))
    return frozenset(
        name for name, operation in operations if operation and decide(slice, operation, lineage, now=now)
    )


def likeness(slice: Slice, lineage: Lineage, *, now: float) -> Hashable | None:
    """All that `abilities` follows from: the same for two slices on two lineages, and so are their abilities.

    None where rules are about texts, as there each object is a question of its own.
    """
    slice = at(slice, now)
    law = dialects.get(slice.dialect)
    if law.by_text:
        return None
    who = (slice.dialect, slice.mode, slice.member, slice.service_admin, lineage[-1].key in slice.selves)
    return reach(slice, law, lineage), who, tuple(level.type for level in lineage)


def permitted(slice: Slice, privilege: str, lineage: Lineage, *, now: float) -> bool:
    """Whether a privilege is allowed on the object or above it and denied on none of these, owners apart."""
    law = dialects.get(slice.dialect)
    if law.by_text:
        return bool(decide(slice, privilege, lineage, now=now))
    privilege_ = law.privilege(privilege)
    rules = reach(at(slice, now), law, lineage)
    return privilege_ is not None and rules is not None and bool(rules[0] & ~rules[1] & privilege_.bit)


def visible(slice: Slice, container: Lineage, child_type: str, *, now: float) -> Visibility:
    """What a list of children of one type shows, as a rule and its exceptions; no child is asked about.

    `child_type` is the name of one of the dialect's lists: a type, or a narrower list such as `bound_role`.
    """
    slice = at(slice, now)
    law = dialects.get(slice.dialect)
    listing = law.listings.get(child_type)
    gate = listing.gates.get(container[-1].type, "") if listing and container else ""
    if listing is None or not decide(slice, gate, container, now=now):
        return Visibility(False, False, frozenset())
    if slice.mode != "on":
        return Visibility(True, True, frozenset())
    if law.by_text:
        return Visibility(True, False, frozenset())
    standing = descend(slice, law, container)
    below = standing and standing[3].get(listing.type)
    if standing is None or below is None:
        return Visibility(False, False, frozenset())
    return _shown(slice, law, listing.condition, standing[:3], below)


def shows(slice: Slice, lineage: Lineage, *, now: float) -> bool:
    """Whether a list shows the last object of a lineage, where rules are about texts."""
    slice, law = at(slice, now), dialects.get(slice.dialect)
    if not isinstance(law, TextDialect) or not lineage or not pattern_levels.known(law, lineage):
        return False
    test = law.shown.get(law.known_type(lineage[-1].type))
    if test is None or slice.mode != "on":
        return test is not None and slice.member
    return holds(test.ways, pattern_levels.word(slice, law, test, lineage, ()))


def reach(slice: Slice, law: Dialect, lineage: Lineage) -> Reach | None:
    """Join what the slice holds on the levels of a lineage; None when it is no way down from the root."""
    standing = descend(slice, law, lineage)
    return standing and standing[:3]


def descend(slice: Slice, law: Dialect, lineage: Lineage, above: Standing | None = None) -> Standing | None:
    """The same with what may follow; the levels go on from `above` if there is one, else from the root."""
    allow, deny, owned, steps = above or (0, 0, 0, law.steps)
    get = slice.bits.get
    for type, key, _ in lineage:
        step = steps.get(type)
        if step is None:
            return None
        mask, owner, steps = step
        rules = get(key)
        if rules is not None:
            allow |= rules[0] & mask
            deny |= rules[1] & mask
            if rules[2]:
                owned |= owner
    return allow, deny, owned, steps


def word(slice: Slice, law: Dialect, held: Reach, key: Key) -> int:
    """All atoms that hold, as bits: rights, no-denials, owners, and what the principal is."""
    numbers = law.numbers
    allow, deny, owned = held
    every = (1 << law.denial_shift) - 1
    bits = allow & ~deny | owned | (every & ~deny) << law.denial_shift
    for kind, true in (
        (MEMBER, slice.member),
        (SERVICE_ADMIN, slice.service_admin),
        (SELF, key in slice.selves),
    ):
        if true:
            bits |= numbers[Atom(kind)]
    return bits


def _reason(
    slice: Slice, law: Dialect, test: Test, lineage: Lineage, also: Lineage, above: Standing | None
) -> str:
    standing = descend(slice, law, lineage[-1:] if above else lineage, above)
    if standing is None:
        return UNKNOWN_OBJECT
    allow, deny, owned, _ = standing
    if also:
        beside = reach(slice, law, also) if also[0] == lineage[0] else None
        if beside is None:
            return UNKNOWN_OBJECT
        allow, deny, owned = allow | beside[0], deny | beside[1], owned | beside[2]
    operation = test.operation
    if operation.membership:
        if not slice.member:
            return NOT_A_MEMBER
        if slice.mode != "on":
            return _unguarded(slice, operation)
    if operation.beside and not any(level.type == operation.beside for level in (*lineage, *also)):
        return INCOMPLETE
    ways = test.ways
    if test.whole:
        key = lineage[-1].key if lineage else _NOBODY
        if holds(ways, word(slice, law, (allow, deny, owned), key)):
            return ALLOWED
        return DENIED if holds(ways, word(slice, law, (allow, 0, owned), key)) else MISSING
    if holds(ways, allow & ~deny | owned):
        return ALLOWED
    return DENIED if holds(ways, allow | owned) else MISSING


def _reason_by_text(
    slice: Slice,
    law: TextDialect,
    test: Test,
    lineage: Lineage,
    also: Lineage,
    inside: Sequence[Lineage] | None,
) -> str:
    operation = test.operation
    if (lineage and not pattern_levels.known(law, lineage)) or (also and also[0] != lineage[0]):
        return UNKNOWN_OBJECT
    if lineage and operation.membership and slice.mode != "on":
        return _unguarded(slice, operation) if slice.member else NOT_A_MEMBER
    if (operation.beside and not also) or (operation.each and inside is None):
        return INCOMPLETE
    if not holds(
        test.ways, pattern_levels.word(slice, law, test, lineage, also) if lineage else bare(slice, law)
    ):
        return MISSING
    for each in each_of(test, inside) if inside else ():
        text_test = law.test(operation.each, each[-1].type)
        if text_test is None or _reason_by_text(slice, law, text_test, each, (), None) != ALLOWED:
            return MISSING
    return ALLOWED


def each_of(test: Test, inside: Sequence[Lineage]) -> list[Lineage]:
    """Those of the objects inside that the operation is about, too."""
    return [each for each in inside if each[-1].type in test.operation.every]


def bare(slice: Slice, law: Dialect) -> int:
    """What the principal is, as bits; for what is asked of no object."""
    kinds = ((MEMBER, slice.member), (SERVICE_ADMIN, slice.service_admin))
    return sum(law.numbers[Atom(kind)] for kind, true in kinds if true)


def _unguarded(slice: Slice, operation: Operation) -> str:
    """The answer to members where authorization does not decide; an unknown mode is no reason for a yes."""
    if slice.mode == "pass-through" or (slice.mode == "off" and not operation.access_control):
        return ALLOWED
    return REALM_OFF


def _texts(law: Dialect, rules: Iterable[Rule], now: float) -> Texts | None:
    if not isinstance(law, TextDialect):
        return None
    return pattern_levels.compiled(law, (rule for rule in rules if rule.holds_at(now)))


def _bits(law: Dialect, rules: Iterable[Rule], now: float) -> dict[Key, Bits]:
    bits: dict[Key, Bits] = {}
    for rule in rules:
        if rule.holds_at(now) and (rule.privilege == OWNER or not law.by_text):
            allow, deny, owned = bits.get(rule.object, NOTHING)
            privilege = law.privilege(rule.privilege)
            if rule.privilege == OWNER:
                owned = owned or rule.allow
            elif privilege is not None and rule.allow:
                allow |= privilege.bit
            elif privilege is not None:
                deny |= privilege.bit
            bits[rule.object] = _shared(Bits(allow, deny, owned))
    return bits


MOST_SHARED = 10_000
_SHARED: dict[Bits, Bits] = {}


def _shared(bits: Bits) -> Bits:
    """The same, once in memory: of the thousands of objects in a slice most have what others have."""
    if len(_SHARED) >= MOST_SHARED:
        _SHARED.clear()
    return _SHARED.setdefault(bits, bits)


def _shown(slice: Slice, law: Dialect, condition: Condition, above: Reach, step: Step) -> Visibility:
    ways = law.number(condition)
    default = holds(ways, word(slice, law, above, _NOBODY))
    keys = slice.bits.keys() | slice.selves if asks_whole(condition) else slice.bits.keys()
    differing: dict[tuple[Bits, bool], bool] = {}  # facts repeat, so most children are like one seen before
    exceptions = []
    for key in keys:
        like = slice.bits.get(key, NOTHING), key in slice.selves
        if like not in differing:
            own = like[0]
            allow, deny, owned = above
            below = (
                allow | own.allow & step.mask,
                deny | own.deny & step.mask,
                owned | (step.owner if own.owned else 0),
            )
            differing[like] = holds(ways, word(slice, law, below, key)) != default
        if differing[like]:
            exceptions.append(key)
    return Visibility(True, default, frozenset(exceptions))

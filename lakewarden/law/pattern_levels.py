"""What a slice holds on the levels of a name, where rules are about texts."""

from __future__ import annotations

from collections.abc import Iterable

from lakewarden.law.conditions import ASKED, BELOW, MEMBER, OWNER, PARENT, SERVICE_ADMIN
from lakewarden.law.dialects.base import Test
from lakewarden.law.dialects.patterns import TextDialect
from lakewarden.law.facts import OWNER as OWNS
from lakewarden.law.facts import Lineage, Rule, Slice
from lakewarden.law.globs import like
from lakewarden.law.patterns import Texts, parts_of


def compiled(law: TextDialect, rules: Iterable[Rule]) -> Texts:
    """The privileges of the rules, ownership apart, ready to be asked."""
    given = ((rule.object, rule.privilege) for rule in rules if rule.privilege != OWNS and rule.allow)
    return Texts((text, law.bits(code)) for text, code in given if isinstance(text, str))


def known(law: TextDialect, lineage: Lineage) -> bool:
    """Whether the types of the levels lead down from the realm as the law has it."""
    types = tuple([level[0] for level in lineage])
    return types in law.chains or tuple(map(law.known_type, types)) in law.chains


def word(slice: Slice, law: TextDialect, test: Test, lineage: Lineage, also: Lineage) -> int:
    """All atoms that hold, as bits: what is held on each level asked about, and what the principal is."""
    plain, texts = law.plain, slice.texts
    if texts is None:
        return 0
    bits = 0
    for on in test.levels:
        level = level_of(on, lineage, also)
        if level is not None:
            bits |= texts.on(*named(level)) << law.shifts[on]
    if test.whole and texts.below(*named(lineage)):
        bits |= plain[BELOW]
    root = slice.bits.get(lineage[0].key)
    if root is not None and root.owned:
        bits |= plain[OWNER]
    if slice.member:
        bits |= plain[MEMBER]
    return bits | plain[SERVICE_ADMIN] if slice.service_admin else bits


def level_of(on: str, lineage: Lineage, also: Lineage = ()) -> Lineage | None:
    """The way down to the level that a condition speaks of; None where there is none."""
    if on == ASKED:
        return lineage
    if on == PARENT:
        return lineage[:-1] or None
    for levels in (lineage, also):
        for at, level in enumerate(levels, start=1):
            if level.type == on:
                return levels[:at]
    return None


def named(lineage: Lineage) -> tuple[str, tuple[str, ...]]:
    """The type and the parts of the name of the last level."""
    last = lineage[-1]
    if len(lineage) == 1:
        return last.type, (last.name,)
    parts = tuple([level[2] for level in lineage[1:]])
    if last.type == "program":
        type, dot, name = last.name.partition(".")
        parts = (*parts[:-1], type, name if dot else "*")
    return last.type, parts


def text_of(lineage: Lineage) -> str:
    """The text that names the last level and nothing else: `dataset:ns1.orders`."""
    names = [level.name for level in lineage[1:] or lineage]
    return f"{lineage[-1].type}:{'.'.join(names)}"


def names(rule: Rule, type: str, parts: tuple[str, ...]) -> bool:
    """Whether a rule's text names the entity of that type and name."""
    if not isinstance(rule.object, str):
        return False
    of, patterns = parts_of(rule.object)
    return of == type and len(patterns) == len(parts) and all(map(like, patterns, parts))


def deepest(rule: Rule, law: TextDialect, lineage: Lineage) -> int | None:
    """The place of the deepest level at which a rule tells of the last object; None when it tells nothing.

    Rules above count where the law inherits, and ownership of the realm everywhere.
    """
    if rule.privilege == OWNS:
        return 0 if rule.object == lineage[0].key else None
    nearest = len(lineage) - 1
    depths = range(nearest, -1 if law.inherits else nearest - 1, -1)
    return next((depth for depth in depths if names(rule, *named(lineage[: depth + 1]))), None)


def names_below(rule: Rule, type: str, parts: tuple[str, ...]) -> bool:
    """Whether a rule's text can name something in the entity of that type and name."""
    if not isinstance(rule.object, str) or type not in ("namespace", "application"):
        return False
    of, patterns = parts_of(rule.object)
    deeper = len(patterns) > len(parts) and (type == "namespace" or of == "program")
    return deeper and all(map(like, patterns, parts))

"""Slices without a database, and questions about entities by their texts."""

from __future__ import annotations

from collections.abc import Iterable

from lakewarden.law import dialects, engine
from lakewarden.law.dialects.cdap.authorizable import parse
from lakewarden.law.dialects.patterns import TextDialect
from lakewarden.law.explain import Explanation, explain
from lakewarden.law.facts import Level, Lineage, Rule, Slice
from lakewarden.law.principals import Principal
from tests.cdap_law.tables import REALM


def law_of(code: str) -> TextDialect:
    law = dialects.get(code)
    assert isinstance(law, TextDialect)
    return law


def holding(law: str, held: Iterable[tuple[str, str]], mode: str = "on") -> Slice:
    rules = [Rule(text, code) for code, text in held]
    return engine.build(Principal("user", "ana"), REALM, law, 1, rules, member=True, mode=mode, now=0.0)


def lineage(law: str, text: str) -> Lineage:
    entity, root = parse(text, others=True), Level("instance", 1, REALM)
    return (root,) if entity.type == "instance" else law_of(law).lineage(root, entity.type, entity.parts)


def decided(slice_: Slice, action: str, text: str, inside: Iterable[str] = (), **sent: object) -> bool:
    return bool(explained(slice_, action, text, inside, **sent).decision)


def explained(
    slice_: Slice, action: str, text: str, inside: Iterable[str] = (), **sent: object
) -> Explanation:
    law, levels = law_of(slice_.dialect), lineage(slice_.dialect, text)
    type_ = levels[-1].type
    beside = law.beside(type_, action, sent)
    namespace = levels[1].name if len(levels) > 1 else ""
    also = law.lineage(levels[0], beside[0], (namespace, beside[1])) if beside else ()
    name = law.narrowed(type_, action, {"action": sent})
    operation = law.action(type_, name) or name
    places = [lineage(slice_.dialect, each) for each in inside]
    explanation = explain(slice_, operation, levels, now=0.0, also=also, inside=places)
    again = engine.decide(slice_, operation, levels, now=0.0, also=also, inside=places)
    assert explanation.decision == again
    return explanation

"""What should be true in a Herd or CDAP of another server: what everybody holds now, as their own entries.

What somebody has by a group or a role here they get themselves over there, where nobody knows our groups.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from lakewarden.backends.base import Desired, Observation, Right
from lakewarden.backends.decisions import PERSON, Decisions
from lakewarden.law.dialects.cdap.authorizable import BadEntity, parse
from lakewarden.law.facts import Key, Rule

ToRight = Callable[[Key, str], "Right | None"]


def herd(backend: Any, decisions: Decisions, seen: Observation) -> tuple[Desired, list[str]]:
    """The entries of a Herd: permissions on its namespaces, which may be written in another case there."""
    by_name = {item.path[0].upper(): item.path for item in seen.objects if item.kind == "namespace"}
    by_key: dict[Key, tuple[str, ...]] = {}
    absent = []
    for target in decisions.targets:
        if target.kind != "namespace":
            continue
        path = by_name.get(target.path[0].upper())
        if path is None:
            absent.append(target.path[0])
        else:
            by_key[target.id] = path

    def right(object_: Key, code: str) -> Right | None:
        path = by_key.get(object_)
        return Right("namespace", path, code) if path and backend.rights_for(code, "namespace") else None

    return _desired(decisions, right), absent


def cdap(backend: Any, decisions: Decisions, seen: Observation) -> tuple[Desired, list[str]]:
    """The grants of a CDAP, each on a text that may name what does not exist yet."""

    def right(object_: Key, code: str) -> Right | None:
        try:
            named = parse(str(object_))
        except BadEntity:
            return None  # an object of the realm itself, such as a role
        return Right(named.type, named.parts, code) if backend.rights_for(code, named.type) else None

    return _desired(decisions, right), []


def _desired(decisions: Decisions, to_right: ToRight) -> Desired:
    roles: dict[str, set[Right]] = defaultdict(set)
    for name, rules in _rules(decisions).items():
        for rule in rules:
            if right := to_right(rule.object, rule.privilege):
                roles[PERSON + name].add(right)
    return Desired(
        {key: frozenset(rights) for key, rights in roles.items()},
        {key: frozenset({key.removeprefix(PERSON)}) for key in roles},
        {key: key.removeprefix(PERSON) for key in roles},
    )


def _rules(decisions: Decisions) -> Mapping[str, list[Rule]]:
    """What each holds now, by their name; what comes by a pattern is the pattern's own entry over there."""
    holders, moment = decisions.directory.holders(), decisions.now.timestamp()
    facts = decisions.facts_of(holders)
    rules: dict[str, list[Rule]] = defaultdict(list)
    for holder in holders:
        rules[holder.name] += [
            rule
            for rule in facts.rules_of(holder.pk)
            if rule.allow
            and rule.holds_at(moment)
            and not any(station.kind == "pattern" for station in rule.via)
        ]
    return rules

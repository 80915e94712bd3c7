"""A small metalake to ask about, facts written as sentences, and random worlds.

Objects are known by their full names; roles, tags and the like by the names given here.
"""

from __future__ import annotations

import random
import re
from typing import Any

from lakewarden.law import dialects, engine
from lakewarden.law.facts import OWNER, Level, Lineage, Rule, Slice, Station
from lakewarden.law.principals import Principal

LAW = dialects.get("gravitino")
ALICE = Principal("user", "alice")
LAKE = Level("metalake", "lake")

_ASIDE = {
    "clerk": "role",
    "auditor": "role",
    "pii": "tag",
    "gold": "tag",
    "retention": "policy",
    "nightly": "job_template",
    "run7": "job",
    "alice": "user",
    "bob": "user",
    "analysts": "group",
    "stewards": "group",
}
_LEAVES = {
    "orders": "table",
    "refunds": "table",
    "top": "view",
    "clicks": "topic",
    "scans": "fileset",
    "churn": "model",
    "rate": "function",
}


def _tree() -> dict[str, Lineage]:
    tree: dict[str, Lineage] = {"lake": (LAKE,)}
    tree.update({name: (LAKE, Level(type, name)) for name, type in _ASIDE.items()})
    for catalog in ("shop", "lab"):
        tree[catalog] = (LAKE, Level("catalog", catalog))
        for schema, above in ((f"{catalog}.sales", catalog), (f"{catalog}.hr", catalog)):
            _grow(tree, schema, above)
    _grow(tree, "shop.sales:eu", "shop.sales")
    return tree


def _grow(tree: dict[str, Lineage], schema: str, above: str) -> None:
    tree[schema] = (*tree[above], Level("schema", schema))
    tree.update(
        {
            f"{schema}.{leaf}": (*tree[schema], Level(type, f"{schema}.{leaf}"))
            for leaf, type in _LEAVES.items()
        }
    )
    tree[f"{schema}.orders.id"] = (*tree[f"{schema}.orders"], Level("column", f"{schema}.orders.id"))


TREE = _tree()
NAMES = tuple(TREE)
BY_TYPE: dict[str, list[str]] = {}
for _name, _lineage in TREE.items():
    BY_TYPE.setdefault(_lineage[-1].type, []).append(_name)

_SENTENCE = re.compile(
    r"(?:(?P<effect>ALLOW|DENY) (?P<privilege>\w+) on|(?P<owner>OWNER) of) (?P<object>\S+)"
    r"(?: through (?P<via>[\w, ]+?))?(?: from (?P<start>\d+))?(?: until (?P<end>\d+))?"
)


def fact(sentence: str) -> Rule:
    """`DENY SELECT_TABLE on shop.sales through clerk until 90`, `OWNER of shop through stewards`."""
    match = _SENTENCE.fullmatch(sentence)
    assert match, f"no fact: {sentence}"
    assert match["object"] in TREE, f"no such object: {sentence}"
    stations = [name.strip() for name in (match["via"] or "").split(",") if name.strip()]
    return Rule(
        match["object"],
        OWNER if match["owner"] else match["privilege"],
        allow=match["effect"] != "DENY",
        via=tuple(Station(_ASIDE.get(name, "role"), name) for name in stations),
        valid_from=float(match["start"]) if match["start"] else None,
        valid_until=float(match["end"]) if match["end"] else None,
    )


def world(*sentences: str, **settings: Any) -> Slice:
    """Alice's slice, made of these facts; a member of the realm unless said otherwise."""
    return of_rules([fact(sentence) for sentence in sentences], **settings)


def of_rules(rules: list[Rule] | tuple[Rule, ...], **settings: Any) -> Slice:
    known = {"member": True, "now": 0.0, **settings}
    return engine.build(ALICE, "lake", "gravitino", 7, rules, **known)


def may(slice: Slice, operation: str, name: str, *, beside: str = "", now: float = 0.0) -> engine.Decision:
    return engine.decide(slice, operation, TREE[name], now=now, also=TREE[beside] if beside else ())


def random_rules(rng: random.Random) -> list[Rule]:
    """Facts that crowd around one object, so that a good part of the questions about it are answered yes."""
    lineage = TREE[rng.choice(NAMES)]
    rules = [_random_rule(rng, lineage) for _ in range(rng.randint(0, 9))]
    if rng.random() < 0.75:
        rules += [Rule(_high(rng), code) for code in ("USE_CATALOG", "USE_SCHEMA") if rng.random() < 0.85]
    return rules


def _high(rng: random.Random) -> str:
    return rng.choice(("lake", "lake", "lake", "shop", "lab", "shop.sales"))


def _random_rule(rng: random.Random, lineage: Lineage) -> Rule:
    level = rng.choice(lineage) if rng.random() < 0.6 else TREE[rng.choice(NAMES)][-1]
    via = rng.choice(
        ((), (Station("role", "clerk"),), (Station("group", "analysts"), Station("role", "clerk")))
    )
    if rng.random() < 0.2:
        return Rule(level.key, OWNER, via=via)
    fitting = [code for code, privilege in LAW.privileges.items() if level.type in privilege.binds]
    # now and then a fact that makes no sense there: it must not count
    codes = fitting if fitting and rng.random() < 0.95 else list(LAW.privileges)
    return Rule(level.key, rng.choice(codes), allow=rng.random() < 0.85, via=via)


def random_slice(rng: random.Random, rules: list[Rule] | None = None) -> Slice:
    selves = [name for name in _ASIDE if _ASIDE[name] in ("role", "user", "group") and rng.random() < 0.3]
    return of_rules(
        random_rules(rng) if rules is None else rules,
        member=rng.random() < 0.96,
        service_admin=rng.random() < 0.4,
        selves=selves,
    )


def questions(rng: random.Random) -> list[tuple[str, Lineage, Lineage]]:
    """Every operation once on an object of every type it can be asked of."""
    asked = []
    for name, operation in LAW.operations.items():
        for type in operation.types:
            lineage = TREE[rng.choice(BY_TYPE[type])]
            named = operation.beside and operation.beside != type
            asked.append((name, lineage, TREE[rng.choice(BY_TYPE[operation.beside])] if named else ()))
    return asked

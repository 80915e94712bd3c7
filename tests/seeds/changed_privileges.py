"""Privileges that do not open what they are for, or do not reach what lies below where they were given."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import partial

from lakewarden.law import dialects
from lakewarden.law.conditions import RIGHT, All, AnyOf, Atom, Condition
from tests.law.worlds import TREE
from tests.seeds import changed_bindings, changed_operations
from tests.seeds.mutant import ROOT, Mutant


def without(condition: Condition, code: str) -> Condition:
    """The condition with nothing where the privilege stood."""
    if isinstance(condition, Atom):
        return changed_operations.NEVER if condition == Atom(RIGHT, code) else condition
    join = All if isinstance(condition, All) else AnyOf
    return join(tuple(without(part, code) for part in condition.parts))


def mutants() -> Iterator[Mutant]:
    """One for each call that a privilege of Gravitino's table opens, and for each level it reaches from."""
    law = dialects.get("gravitino")
    for row in tomllib.loads((ROOT / "tests/law/gravitino.toml").read_text())["privilege"]:
        known = law.privilege(row["code"])
        assert known is not None
        for question in row["opens"] if "rows" in row else ():
            operation, _, name = question.partition(" on ")
            type = TREE[name][-1].type
            test = law.test(operation, type)
            assert test is not None
            put = partial(
                changed_operations.in_place, law, (operation, type), without(test.condition, known.code)
            )
            yield Mutant(f"gravitino {row['code']}: does not open {operation}", (row["rows"]["opens"],), put)
        for level, seed in row.get("reach", {}).items():
            put = partial(changed_bindings.in_place, law, known.code, level)
            yield Mutant(f"gravitino {row['code']}: reaches nothing from a {level}", (seed,), put)

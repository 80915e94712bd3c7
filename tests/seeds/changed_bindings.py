"""Privileges that may be given where they should not be, and not where they should."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from lakewarden.law import dialects
from lakewarden.law.dialects.base import Dialect, _steps
from tests.seeds.mutant import ROOT, Mutant


@contextmanager
def in_place(law: Dialect, code: str, type: str) -> Iterator[None]:
    """The privilege given on the type, where the law has it otherwise."""
    privileges: dict[str, Any] = law.privileges  # type: ignore[assignment]  # dicts, changed nowhere else
    steps: dict[str, Any] = law.steps  # type: ignore[assignment]
    before, steps_before = privileges[code], dict(steps)
    privileges[code] = replace(before, binds=before.binds ^ {type})
    steps[law.root_type] = _steps(law)[law.root_type]
    try:
        yield
    finally:
        privileges[code] = before
        steps.update(steps_before)


def mutants() -> Iterator[Mutant]:
    """One for each privilege of Gravitino's table and each type."""
    law = dialects.get("gravitino")
    for row in tomllib.loads((ROOT / "tests/law/gravitino.toml").read_text())["privilege"]:
        known = law.privilege(row["code"])
        assert known is not None
        for type in law.types if "rows" in row else ():
            change = "no longer given" if type in known.binds else "given"
            put = partial(in_place, law, known.code, type)
            yield Mutant(f"gravitino {row['code']}: {change} on {type}", (row["rows"]["binds"],), put)

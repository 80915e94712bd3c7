"""Lists that show more or less than they should, and lists that open to everybody or to nobody."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from lakewarden.law import dialects
from lakewarden.law.conditions import ANYTHING
from lakewarden.law.dialects.base import Dialect, Listing
from tests.seeds import changed_operations
from tests.seeds.mutant import ROOT, Mutant


@contextmanager
def shown_by(law: Dialect, children: str, condition: Any) -> Iterator[None]:
    """Another condition in the place of what it takes to see one of the children."""
    listings: dict[str, Listing] = law.listings  # type: ignore[assignment]  # a dict, changed nowhere else
    before = listings[children]
    listings[children] = Listing(before.type, condition, before.gates)
    try:
        yield
    finally:
        listings[children] = before


def mutants() -> Iterator[Mutant]:
    """One for each change of each list of Gravitino's table."""
    law = dialects.get("gravitino")
    for row in tomllib.loads((ROOT / "tests/law/seed_calls.toml").read_text())["list"]:
        children, rows = row["children"], tuple(row["rows"].values())
        listing = law.listings[children]
        for change, condition in changed_operations.changes(law, listing.type, listing.condition):
            yield Mutant(
                f"gravitino {row['name']}: {change}", rows, partial(shown_by, law, children, condition)
            )
        yield from _gates(law, row["name"], listing, row["rows"])


def _gates(law: Dialect, name: str, listing: Listing, rows: Mapping[str, str]) -> Iterator[Mutant]:
    container, operation = next(iter(listing.gates.items()))
    for change, condition, which in (
        ("open to everybody", ANYTHING, "precondition"),
        ("open to nobody", changed_operations.NEVER, "whole"),
    ):
        if which in rows:
            put = partial(changed_operations.in_place, law, (operation, container), condition)
            yield Mutant(f"gravitino {name}: {change}", (rows[which],), put)

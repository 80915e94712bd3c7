"""Weaker and stronger conditions in the place of each operation's, wherever a requirement speaks of it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from lakewarden.law import dialects
from lakewarden.law.conditions import (
    ANYTHING,
    ASKED,
    MEMBER,
    OWNER,
    RIGHT,
    All,
    AnyOf,
    Atom,
    Condition,
    atoms,
    can,
    held,
    ways,
)
from lakewarden.law.dialects.base import Dialect, Listing, Operation
from lakewarden.law.dialects.herd.operations import FREE_OPERATIONS
from tests.seeds.mutant import ROOT, Mutant

NEVER = AnyOf(())
CORE = {
    "create": "S0-001",
    "delete": "S0-002",
    "list": "S0-004",
    "get": "S0-005",
    "set_preference": "S0-006",
    "get_preference": "S0-007",
    "update": "S0-008",
    "add_metadata": "S0-009",
    "get_metadata": "S0-010",
}
"""The core policies of seed 000; they answer for the operations that its table does not list."""


@contextmanager
def in_place(law: Dialect, key: tuple[str, str], condition: Condition) -> Iterator[None]:
    """Another condition in the place of the one for an operation and a type."""
    type = key[1]
    tests: dict[Any, Any] = law.tests  # type: ignore[assignment]  # a dict, changed nowhere else
    listings: dict[str, Listing] = law.listings  # type: ignore[assignment]
    shown: dict[str, Any] = getattr(law, "shown", {})
    before, listing = tests[key], listings.get(type)
    lists = listing is not None and listing.condition == before.condition and "list" in key[0]
    changed = Operation(
        before.operation.name,
        before.operation.label,
        {**before.operation.conditions, type: condition},
        beside=before.operation.beside,
        each=before.operation.each,
        every=before.operation.every,
        access_control=before.operation.access_control,
        membership=before.operation.membership,
    )
    tests[key] = law.tested(changed, condition)
    shown_before = shown.get(type)
    if lists and listing is not None:
        listings[type] = Listing(listing.type, condition, listing.gates)
        if shown_before is not None:
            shown[type] = law.tested(shown_before.operation, condition)
    try:
        yield
    finally:
        tests[key] = before
        if lists and listing is not None:
            listings[type] = listing
            if shown_before is not None:
                shown[type] = shown_before


def changes(law: Dialect, type: str, condition: Condition) -> Iterator[tuple[str, Condition]]:
    """Weaker and stronger conditions, each with what was changed."""
    for extra in _extras(law, type, condition):
        yield f"opened by {_word(extra)} too", AnyOf((condition, extra))
    if not isinstance(condition, AnyOf):
        yield "opened by nothing", NEVER
    known = set(ways(condition))
    for change, other in _without_one(law, type, condition):
        if set(ways(other)) != known:
            yield change, other


def _without_one(law: Dialect, type: str, condition: Condition) -> Iterator[tuple[str, Condition]]:
    """The condition without one of its parts, at any depth."""
    if isinstance(condition, Atom):
        return
    join, missing = (
        (AnyOf, "no longer opened by") if isinstance(condition, AnyOf) else (All, "opened without")
    )
    for place, part in enumerate(condition.parts):
        before, after = condition.parts[:place], condition.parts[place + 1 :]
        rest = (*before, *after)
        if join is All or not (_stands_for(part, rest) or _is_elsewhere(law, type, part)):
            yield f"{missing} {_word(part)}", join(rest)
        for change, other in _without_one(law, type, part):
            yield f"{change} in {_word(part)}", join((*before, other, *after))


def _stands_for(part: Condition, rest: Iterable[Condition]) -> bool:
    """Whether it is ALL where something that ALL stands for is enough: then nothing is lost without it."""
    levels = {item.on for item in rest if isinstance(item, Atom)}
    return isinstance(part, Atom) and part.name == "ALL" and part.on in levels


def _is_elsewhere(law: Dialect, type: str, part: Condition) -> bool:
    """Whether it is about the owner of something that no object of the type stands in."""
    on_the_way = (law.root_type, *law.paths.get(type, ()))
    return isinstance(part, Atom) and part.kind == OWNER and part.name not in on_the_way


def _extras(law: Dialect, type: str, condition: Condition) -> Iterable[Condition]:
    """Privileges that should not open it; where every one does, what is held above."""
    named = {atom.name for atom in atoms(condition)}
    if condition in (ANYTHING, Atom(MEMBER)):
        return []  # open to everybody who belongs to the realm
    codes = [code for code in law.privileges if code not in named and code != "ALL"]
    if law.by_text:
        above = [] if "ALL" in named else [held("ADMIN", "instance" if type == "namespace" else "namespace")]
        return [held(code, ASKED) for code in codes] or above
    if law.kind == "herd":
        return [can(code) for code in codes if type in law.privileges[code].binds]
    return [can(code) for code in codes if law.privileges[code].binds & {"catalog", type}]


def _word(condition: Condition) -> str:
    if isinstance(condition, Atom):
        what = condition.name or condition.kind
        return what if condition.kind == RIGHT or not condition.on else f"{what} on {condition.on}"
    joined = " and " if isinstance(condition, All) else " or "
    return f"({joined.join(map(_word, condition.parts))})"


def mutants() -> Iterator[Mutant]:
    """Of all tables that name requirements."""
    for law, operation, type, rows in _table_rows():
        dialect = dialects.get(law)
        test = dialect.test(operation, type)
        if test is None or not rows:
            continue
        for change, condition in changes(dialect, type, test.condition):
            put = partial(in_place, dialect, (operation, type), condition)
            yield Mutant(f"{law} {operation} on {type}: {change}", rows, put, operation)


def _table_rows() -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    from tests.cdap_law.tables import PARTS, ROWS
    from tests.cdap_law.test_tables import UNLISTED

    for type in UNLISTED:
        yield "cdap35", "create", type, ("S2-075",)
    for operation, seed in CORE.items():
        for type in ("securekey", "other"):
            yield "cdap34", f"{type}.{operation}", type, (seed,)
    for law, rows in ROWS.items():
        for row in rows:
            asked = dialects.get(law).narrowed(row.type, row.operation, {"action": dict(row.properties)})
            yield law, asked, row.type, row.rows
    cdap43 = dialects.get("cdap43")
    for part in PARTS:
        type, sent = part.entity.partition(":")[0], {"condition": part.condition, "subject": part.who}
        asked = cdap43.narrowed(type, part.table, {"action": sent})
        yield "cdap43", cdap43.action(type, asked) or asked, type, part.rows
    calls = tomllib.loads((ROOT / "tests/law/seed_calls.toml").read_text())
    for kind in calls.values():
        for call in kind:
            operation = dialects.get("gravitino").operations.get(call.get("operation", ""))
            if operation is not None and operation.types:
                named_rows = (*call["rows"].values(),)
                flat = tuple(r for row in named_rows for r in (row if isinstance(row, list) else [row]))
                yield "gravitino", operation.name, call.get("of", operation.types[0]), flat
    yield from _rows_of_herd()


def _rows_of_herd() -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    from tests.herd.tables import FREE

    herd = dialects.get("herd")
    for row in tomllib.loads((ROOT / "tests/herd/scope.toml").read_text())["row"]:
        yield "herd", row["id"], "namespace", tuple(row.get("rows", ()))
        choices = herd.variants[row["id"]].choices if row["id"] in herd.variants else {}
        for method, seed in row.get("seed", {}).items():
            if method in choices:
                yield "herd", choices[method], "namespace", (seed,)
        for field, rows in row.get("field_rows", {}).items():
            yield "herd", choices[field], "namespace", tuple(rows)
    yield "herd", "storage_policy", "herd", ("S3-047",)
    for name, words in FREE_OPERATIONS.items():
        yield from (("herd", name, type, (FREE[words],)) for type in ("herd", "namespace") if words in FREE)

"""`make mutants`: puts a weaker and a stronger law in the place of each row, and sees whether a test notices.

Only tests that name the row (`@pytest.mark.seed`) count.  Nothing is written: each law is changed in memory
and put back.  The report lists the rows whose change no such test noticed; it ends with 1 if there are any.
"""

from __future__ import annotations

import sys
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

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
)
from lakewarden.law.dialects.base import Dialect, Listing, Operation

ROOT = Path(__file__).resolve().parents[2]
WHERE = (
    "tests/law",
    "tests/cdap_law/test_tables.py",
    "tests/cdap_law/test_rules.py",
    "tests/herd/test_law.py",
)
"""Where most laws are asked without a database; other tests that name a row can be given as arguments."""
MOST = 25
"""So many tests of a row are tried, the quickest first."""
NEVER = AnyOf(())


@dataclass(frozen=True)
class Mutant:
    """Another condition in the place of an operation's; `rows` are the requirements that it breaks."""

    law: str
    operation: str
    type: str
    condition: Condition
    change: str
    rows: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.law} {self.operation} on {self.type}: {self.change} ({' '.join(self.rows)})"


@contextmanager
def in_place(mutant: Mutant) -> Iterator[None]:
    """The mutant as the law."""
    law = dialects.get(mutant.law)
    key = (mutant.operation, mutant.type)
    tests: dict[Any, Any] = law.tests  # type: ignore[assignment]  # a dict, changed nowhere else
    listings: dict[str, Listing] = law.listings  # type: ignore[assignment]
    shown: dict[str, Any] = getattr(law, "shown", {})
    before, listing = tests[key], listings.get(mutant.type)
    lists = listing is not None and listing.condition == before.condition and "list" in mutant.operation
    changed = Operation(
        before.operation.name,
        before.operation.label,
        {**before.operation.conditions, mutant.type: mutant.condition},
        beside=before.operation.beside,
        each=before.operation.each,
        every=before.operation.every,
        access_control=before.operation.access_control,
        membership=before.operation.membership,
    )
    tests[key] = law.tested(changed, mutant.condition)
    shown_before = shown.get(mutant.type)
    if lists and listing is not None:
        listings[mutant.type] = Listing(listing.type, mutant.condition, listing.gates)
        if shown_before is not None:
            shown[mutant.type] = law.tested(shown_before.operation, mutant.condition)
    try:
        yield
    finally:
        tests[key] = before
        if lists and listing is not None:
            listings[mutant.type] = listing
            if shown_before is not None:
                shown[mutant.type] = shown_before


def changes(law: Dialect, type: str, condition: Condition) -> Iterator[tuple[str, Condition]]:
    """Weaker and stronger conditions, each with what was changed."""
    for extra in _extras(law, type, condition):
        yield f"opened by {_word(extra)} too", AnyOf((condition, extra))
    parts = condition.parts if isinstance(condition, AnyOf) else ()
    for part in parts:
        rest = tuple(item for item in parts if item != part)
        if not _stands_for(part, rest) and not _is_elsewhere(law, type, part):
            yield f"no longer opened by {_word(part)}", AnyOf(rest) if rest else NEVER
    if not parts:
        yield "opened by nothing", NEVER
    if isinstance(condition, All):
        for part in condition.parts:
            rest = tuple(item for item in condition.parts if item != part)
            yield f"opened without {_word(part)}", All(rest)


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


def every() -> Iterator[Mutant]:
    """All mutants of all tables that name requirements."""
    for law, operation, type, rows in _table_rows():
        dialect = dialects.get(law)
        test = dialect.test(operation, type)
        if test is None or not rows:
            continue
        for change, condition in changes(dialect, type, test.condition):
            yield Mutant(law, operation, type, condition, change, rows)


def _table_rows() -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    from tests.cdap_law.tables import ROWS
    from tests.cdap_law.test_tables import UNLISTED

    for type in UNLISTED:
        yield "cdap35", "create", type, ("S2-075",)
    for law, rows in ROWS.items():
        for row in rows:
            if not row.condition:
                yield law, row.operation, row.type, row.rows
    calls = tomllib.loads((ROOT / "tests/law/seed_calls.toml").read_text())
    for kind in calls.values():
        for call in kind:
            operation = dialects.get("gravitino").operations.get(call.get("operation", ""))
            if operation is not None and operation.types:
                found = (*call["rows"].values(),)
                flat = tuple(r for row in found for r in (row if isinstance(row, list) else [row]))
                yield "gravitino", operation.name, operation.types[0], flat
    herd = dialects.get("herd")
    for row in tomllib.loads((ROOT / "tests/herd/scope.toml").read_text())["row"]:
        yield "herd", row["id"], "namespace", tuple(row.get("rows", ()))
        choices = herd.variants[row["id"]].choices if row["id"] in herd.variants else {}
        for method, seed in row.get("seed", {}).items():
            if method in choices:
                yield "herd", choices[method], "namespace", (seed,)


class Mutating:
    """Instead of running the tests, runs those of each mutant until one fails."""

    def __init__(self) -> None:
        self.items: dict[str, list[pytest.Item]] = defaultdict(list)
        self.passes: dict[str, tuple[bool, float]] = {}
        self.survivors: list[Mutant] = []
        self.unnamed: list[Mutant] = []
        self.count = 0

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if any(item.iter_markers("seed"))]
        for item in items:
            for mark in item.iter_markers("seed"):
                for row in mark.args:
                    self.items[str(row)].append(item)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        started = time.monotonic()
        for mutant in every():
            self.count += 1
            named = {item.nodeid: item for row in mutant.rows for item in self.items.get(row, ())}
            if not named:
                self.unnamed.append(mutant)
            elif not self._noticed(mutant, list(named.values()), session):
                self.survivors.append(mutant)
                print(f"survives: {mutant}", flush=True)
        seconds = time.monotonic() - started
        told = f"{self.count} mutants, {len(self.survivors)} survive, {len(self.unnamed)} have no test here"
        print(f"{told}; {seconds:.0f} s")
        return True

    def _noticed(self, mutant: Mutant, named: list[pytest.Item], session: pytest.Session) -> bool:
        sound = [item for item in named if self._sound(item, session)]
        sound.sort(key=lambda item: (mutant.operation not in item.nodeid, self.passes[item.nodeid][1]))
        with in_place(mutant):
            return any(not self._passes(item, session) for item in sound[:MOST])

    def _sound(self, item: pytest.Item, session: pytest.Session) -> bool:
        """Whether it passes under the law as it is; a test that fails anyway notices nothing."""
        if item.nodeid not in self.passes:
            began = time.monotonic()
            self.passes[item.nodeid] = (self._passes(item, session), time.monotonic() - began)
        return self.passes[item.nodeid][0]

    def _passes(self, item: pytest.Item, session: pytest.Session) -> bool:
        # something must come next, or all that the tests share is taken down after each
        other = next(
            (each for each in session.items if each is not item and each.parent is item.parent), None
        )
        other = other or next(each for each in session.items if each is not item)
        session._setupstate.teardown_exact(item)
        item._initrequest()  # type: ignore[attr-defined]  # a test runs more than once here
        return all(not report.failed for report in runtestprotocol(item, log=False, nextitem=other))


def main(arguments: list[str]) -> int:
    mutating = Mutating()
    where = arguments or list(WHERE)
    code = pytest.main(["-q", "-p", "no:randomly", "-m", "seed", *where], plugins=[mutating])
    for mutant in mutating.unnamed:
        print(f"no test here: {mutant}")
    return int(code) or int(bool(mutating.survivors))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

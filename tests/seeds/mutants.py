"""`make mutants`: puts a weaker and a stronger law in the place of each row, and sees whether a test notices.

Changed are what operations take, preconditions and calls of owners among them, what lists show, where
privileges may be given, what they open and how far they reach, and what wildcards stand for.  Only tests
that name the row (`@pytest.mark.seed`) count.  Nothing is written: each law is changed in memory and put
back.  The report lists the rows whose change no such test noticed; it ends with 1 if there are any.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain

import pytest
from _pytest.runner import runtestprotocol

from tests.seeds import (
    changed_bindings,
    changed_lists,
    changed_operations,
    changed_privileges,
    changed_wildcards,
)
from tests.seeds.mutant import Mutant

WHERE = (
    "tests/law",
    "tests/cdap_law/test_core_policies.py",
    "tests/cdap_law/test_tables.py",
    "tests/cdap_law/test_rules.py",
    "tests/cdap_law/test_texts.py",
    "tests/cdap_law/test_properties.py",
    "tests/cdap_law/test_whole.py",
    "tests/herd/test_law.py",
    "tests/herd/test_entries.py",
)
"""Where the laws are asked, most without a database; others that name a row can be given as arguments."""
MOST = 60
"""So many tests of a row are tried, the quickest first."""


def every() -> Iterator[Mutant]:
    """All mutants of all tables that name requirements."""
    kinds = (
        changed_operations,
        changed_lists,
        changed_bindings,
        changed_privileges,
        changed_wildcards,
    )
    return chain.from_iterable(kind.mutants() for kind in kinds)


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
        summary = (
            f"{self.count} mutants, {len(self.survivors)} survive, {len(self.unnamed)} have no test here"
        )
        print(f"{summary}; {seconds:.0f} s")
        return True

    def _noticed(self, mutant: Mutant, named: list[pytest.Item], session: pytest.Session) -> bool:
        sound = [item for item in named if self._sound(item, session)]
        sound.sort(key=lambda item: (mutant.word not in item.nodeid, self.passes[item.nodeid][1]))
        with mutant.in_place():
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

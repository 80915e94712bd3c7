"""Asks all the time, every web server and the database's own catalog, and notes what must not be."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.client import HTTPException

import psycopg

from tests.torture.world import PAIRS, Caller, Ledger, Matrix, Pair, out_there

EVERY = 0.1
"""Seconds between two questions."""


class Prober:
    """`wrong` has what was answered against what had been acknowledged; `asked` counts answers."""

    def __init__(self, ledger: Ledger, callers: tuple[Caller, ...], governed_url: str) -> None:
        self.ledger, self.callers, self.url = ledger, callers, governed_url
        self.asked = {"decisions": 0, "catalog": 0}
        self.wrong: list[str] = []
        self.closed: set[Pair] = set()
        """Pairs that the database had refused since they were revoked."""
        self._stopped = threading.Event()
        targets: list[Callable[[], None]] = [self._watch, *(self._asking(caller) for caller in callers)]
        self._threads = [threading.Thread(target=self._run, args=(look,), daemon=True) for look in targets]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join(60)

    def _run(self, look: Callable[[], None]) -> None:
        while not self._stopped.wait(EVERY):
            try:
                look()
            except (OSError, HTTPException, psycopg.Error, ValueError):
                continue  # no answer is no wrong answer

    def _asking(self, caller: Caller) -> Callable[[], None]:
        def ask() -> None:
            before, surely, perhaps = self.ledger.bounds()
            answers = caller.decisions(timeout=5)
            if self.ledger.bounds()[0] != before:
                return
            self.asked["decisions"] += len(answers)
            for pair, allowed in answers.items():
                if allowed and not perhaps[pair]:
                    self.wrong.append(
                        f"port {caller.port} allowed {pair} after its revocation was acknowledged"
                    )
                if not allowed and surely[pair]:
                    self.wrong.append(f"port {caller.port} refused {pair} after its grant was acknowledged")

        return ask

    def _watch(self) -> None:
        before, _, perhaps = self.ledger.bounds()
        self.follow(perhaps)
        there = out_there(self.url)
        if self.ledger.bounds()[0] != before:
            return
        self.asked["catalog"] += len(there)
        self.compare(there)

    def follow(self, perhaps: Matrix) -> None:
        """Note which pairs are asked for again."""
        self.closed -= {pair for pair in PAIRS if perhaps[pair]}

    def compare(self, there: Matrix) -> None:
        """Until a round ends nothing is closed: a change under way when it was revoked may still arrive."""
        for pair, allowed in there.items():
            if allowed and pair in self.closed:
                self.wrong.append(f"the database let {pair} in again after it had followed the revocation")

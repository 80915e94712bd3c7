"""`make torture`: rounds of faults while rights change, and what was true afterwards.

Each round chooses its faults and changes by the seed.  Everything stays on this machine.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path

import psycopg

from tests.torture import site as sites
from tests.torture import world
from tests.torture.prober import Prober
from tests.torture.world import Caller, Fact, Ledger, Tokens

CHANGES = 3
"""Changes of each writer in a round; there is a writer at each web server."""
PATIENCE = 120.0
"""Seconds after which a site should be whole again."""
VERIFIED_EVERY = 10


@dataclass
class Figures:
    """What a run saw."""

    rounds: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    unanswered: int = 0
    lost: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    verified: int = 0
    settled: list[float] = field(default_factory=list)

    @property
    def wrong(self) -> list[str]:
        return [*self.lost, *self.differing, *self.broken]


class Torture:
    """A site, what was asked of it, and what it says."""

    def __init__(self, site: sites.Site, tokens: Tokens, governed_url: str, seed: int) -> None:
        self.site, self.url, self.chance = site, governed_url, random.Random(seed)
        self.callers = tuple(Caller(port, tokens) for port in site.ports)
        self.ledger, self.figures = Ledger(), Figures()
        self.prober = Prober(self.ledger, self.callers, governed_url)

    def round(self) -> None:
        from tests.torture.faults import FAULTS, suffered

        names = self.chance.sample(sorted(FAULTS), self.chance.choice((1, 1, 2)))
        chosen = self.chance.sample(world.FACTS, 2 * CHANGES)
        begun = time.monotonic()
        writers = [
            threading.Thread(target=self._write, args=(caller, chosen[at::2], self.chance.random()))
            for at, caller in enumerate(self.callers)
        ]
        for writer in writers[:1]:
            writer.start()
        with suffered(self.site, names, self.chance):
            for writer in writers[1:]:
                writer.start()
            for writer in writers:
                writer.join()
        self.figures.faults.update(names)
        self._settle(names)
        self.figures.rounds += 1
        self.figures.settled.append(time.monotonic() - begun)

    def _write(self, caller: Caller, facts: list[Fact], seed: float) -> None:
        chance = random.Random(seed)
        for fact in facts:
            value = not self.ledger.facts[fact] if chance.random() < 0.9 else bool(self.ledger.facts[fact])
            self.ledger.put(fact, None)
            try:
                caller.change(fact, value)
            except (OSError, HTTPException, ValueError):
                self.figures.unanswered += 1
            else:
                self.ledger.put(fact, value)
                self.figures.acknowledged += 1

    def _settle(self, names: list[str]) -> None:
        """Wait until the site is whole; note what it never came to."""
        deadline, state = time.monotonic() + PATIENCE, "nobody answers"
        while time.monotonic() < deadline:
            try:
                if (state := self._look()) == "":
                    return
            except (OSError, HTTPException, ValueError, psycopg.Error) as error:
                state = f"{type(error).__name__}: {error}"
            time.sleep(0.1)
        self.figures.differing.append(f"round {self.figures.rounds + 1} after {', '.join(names)}: {state}")

    def _look(self) -> str:
        """What is not yet as it must be; the facts that nobody answered for are taken as they are found."""
        readings = [caller.facts() for caller in self.callers]
        if readings[0] != readings[1]:
            return "the two web servers say different things"
        for fact, known in self.ledger.facts.items():
            if known is not None and readings[0][fact] != known:
                self.figures.lost.append(
                    f"round {self.figures.rounds + 1}: {fact} was acknowledged as {known}"
                )
                self.ledger.put(fact, None)
        for fact, known in list(self.ledger.facts.items()):
            if known is None:
                self.ledger.put(fact, readings[0][fact])
        _, surely, perhaps = self.ledger.bounds()
        for caller in self.callers:
            if caller.decisions() != surely:
                return "AuthZEN says other things than the facts"
        there = world.out_there(self.url)
        if there != surely:
            wrong = [pair for pair in world.PAIRS if there[pair] != surely[pair]]
            return f"the database differs for {wrong}"
        self.prober.closed |= {pair for pair in world.PAIRS if not perhaps[pair]}
        return ""

    def verify(self) -> None:
        """The record is whole, and what is decided on is what it says."""
        from django.db import DatabaseError, connection

        from policies.record.verify import verify

        for _ in range(5):
            connection.close()
            try:
                verdict = verify()
            except DatabaseError:
                time.sleep(2)
                continue
            self.figures.verified += 1
            if not verdict:
                self.figures.broken.append(f"round {self.figures.rounds}: {verdict}")
            return
        self.figures.broken.append(f"round {self.figures.rounds}: the record could not be read")


@contextmanager
def begun(site: sites.Site, seed: int) -> Iterator[Torture]:
    """A site with its world, running, whole and asked all the time; it is stopped in the end.

    The environment is that of the site, and Django not set up yet.
    """
    import django

    try:
        site.start_servers()
        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        with psycopg.connect(site.governed.url(), autocommit=True) as connection:
            connection.execute("CREATE DATABASE shop")
        url = site.governed.url(database="shop")
        tokens, site.backend = world.make(site.line.port, url)
        torture = Torture(site, tokens, url, seed)
        site.start_processes()
        torture._settle(["the start"])
        if torture.figures.wrong:
            raise SystemExit(torture.figures.wrong[0])
        torture.prober.start()
        torture.figures = Figures()
        yield torture
    finally:
        site.stop()


def run(rounds: int, seed: int, minutes: float, folder: Path) -> tuple[Torture, float]:
    """The rounds, or as many as the time allows."""
    sites.prepare_environment(folder)
    from tests.ports import free_port

    with begun(sites.Site(folder, (free_port(), free_port())), seed) as torture:
        started = time.monotonic()
        while torture.figures.rounds < rounds and time.monotonic() - started < minutes * 60:
            torture.round()
            if torture.figures.rounds % VERIFIED_EVERY == 0:
                torture.verify()
            _say(torture)
        torture.prober.stop()
        torture.verify()
        return torture, time.monotonic() - started


def _say(torture: Torture) -> None:
    figures = torture.figures
    wrong = len(figures.wrong) + len(torture.prober.wrong)
    print(
        f"round {figures.rounds}: {figures.settled[-1]:.1f} s,"
        f" {figures.acknowledged} acknowledged, {wrong} wrong"
    )


def main() -> int:
    options = argparse.ArgumentParser(prog="make torture")
    options.add_argument("--rounds", type=int, default=25)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--minutes", type=float, default=30.0, help="end after so long, however many rounds")
    options.add_argument("--report", type=Path, help="the document to write the figures into")
    chosen = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="lakewarden-torture-"))
    folder.chmod(0o711)
    try:
        torture, seconds = run(chosen.rounds, chosen.seed, chosen.minutes, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    wrong = [*torture.figures.wrong, *torture.prober.wrong]
    for line in wrong[:50]:
        print(line, file=sys.stderr)
    if chosen.report:
        from tests.torture.report import write

        write(chosen.report, torture, seconds, chosen.seed)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

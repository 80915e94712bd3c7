"""The console's PostgreSQL dies under load, and its standby takes over: `python -m tests.torture.failover`.

Both stand in the one `DATABASE_URL`, as docs/outages.md says. The standby is synchronous, so that every
change that was acknowledged is there. The site's processes are the same before and after.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import TypeVar

import psycopg

from authzsite import embedded
from tests.ports import free_port
from tests.standins.faults import Proxy
from tests.torture import site as sites
from tests.torture import world
from tests.torture.run import PATIENCE, Torture, begun

T = TypeVar("T")
CHANGES = 40
"""Of each of two writers; the primary dies after a quarter of them."""


class Replicated(embedded.PostgreSQL):
    """A cluster that another may follow, and that may follow another."""

    def _access(self) -> dict[Path, str]:
        rules, names = super()._access().items()
        system = f'console "{self.system_user}" all\n' if self.system_user else ""
        return {
            rules[0]: rules[1] + "local replication all peer map=console\n",
            names[0]: names[1] + system,
        }

    def follow(self, primary: embedded.PostgreSQL) -> None:
        """Become a copy of a running cluster that takes over each change before it is acknowledged."""
        self.home.mkdir(mode=0o711)
        self.cluster.mkdir(mode=0o700)
        if self.system_user:
            shutil.chown(self.cluster, self.system_user, self.system_user)
        backup = [str(self.programs / "pg_basebackup"), "--checkpoint=fast", "--write-recovery-conf"]
        source = f"host={primary.socket_dir} user={embedded.postgresql.SUPERUSER} application_name=standby"
        command = [*backup, "--pgdata", str(self.cluster), "--dbname", source]
        subprocess.run(command, check=True, cwd=self.cluster, **self._as_system_user())
        self.start()
        self._ask(primary, "ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        self._ask(primary, "SELECT pg_reload_conf()")

    def take_over(self) -> None:
        self._ask(self, "SELECT pg_promote()")

    @staticmethod
    def _ask(server: embedded.PostgreSQL, statement: str) -> None:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute(statement.encode())


class Site(sites.Site):
    """The site on two clusters; the one that the tests keep alive is `database`."""

    def __init__(self, folder: Path, ports: tuple[int, int]) -> None:
        super().__init__(folder, ports)
        self.primary, self.standby = Replicated(folder / "first"), Replicated(folder / "second")
        self.database = self.primary

    def start_servers(self) -> None:
        for server in (self.primary, self.redis, self.governed):
            server.start()
        self.standby.follow(self.primary)
        self.line = Proxy(str(self.governed.socket))
        # both clusters; whoever connects takes the one that accepts changes
        hosts = f"{self.primary.socket_dir},{self.standby.socket_dir}"
        one_of_them = f"host={hosts}&target_session_attrs=read-write"
        os.environ["DATABASE_URL"] = f"postgresql://lakewarden@/lakewarden?{one_of_them}"

    def fail_over(self) -> None:
        keeper, postmaster = self.keeper_of(self.primary), self.postmaster_of(self.primary)
        self.database = self.standby
        sites.end(keeper)
        sites.end(postmaster)
        self.standby.take_over()

    def stop(self) -> None:
        super().stop()
        self.primary.stop()


def run(seed: int, folder: Path) -> list[str]:
    """Whatever is wrong."""
    sites.prepare_environment(folder)
    site = Site(folder, (free_port(), free_port()))
    with begun(site, seed) as torture:
        _lose_the_primary(site, torture)
        torture.prober.stop()
        return [*torture.figures.wrong, *torture.prober.wrong]


def _lose_the_primary(site: Site, torture: Torture) -> None:
    from policies.sync.safeguards import restored

    identity = restored.identity()
    chance = random.Random(torture.chance.random())
    facts = list(world.FACTS)
    chance.shuffle(facts)
    halves = [chance.choices(facts[at::2], k=CHANGES) for at in (0, 1)]
    writers = [
        threading.Thread(target=torture._write, args=(caller, half, chance.random()))
        for caller, half in zip(torture.callers, halves, strict=True)
    ]
    for writer in writers:
        writer.start()
    _wait(lambda: torture.figures.acknowledged >= CHANGES // 2)
    before = torture.figures.acknowledged
    begun = time.monotonic()
    site.fail_over()
    torture.figures.broken += ["the standby passes for the primary"] * (_identity() == identity)
    _wait(lambda: torture.figures.acknowledged > before)
    print(f"changes were acknowledged again {time.monotonic() - begun:.1f} s after the primary died")
    for writer in writers:
        writer.join()
    print(f"{torture.figures.acknowledged} acknowledged, {torture.figures.unanswered} unanswered")
    _only_reports(torture)
    _repair(site)
    torture._settle(["the failover"])
    torture.verify()


def _identity() -> str:
    """As the process sees the database that it comes to now."""
    from django.db import connection

    from policies.sync.safeguards import restored

    connection.close()
    return restored.identity()


def _only_reports(torture: Torture) -> None:
    """What is decided is so at once; backends wait for somebody to look at their plans."""
    from policies.models import Backend

    held = lambda: Backend.objects.get().policy == Backend.Policy.REPORT  # noqa: E731
    _wait(held)
    readings = _answered(torture.callers[0].facts)
    wrong = [fact for fact, was in torture.ledger.facts.items() if was not in (None, readings[fact])]
    torture.figures.lost += [f"{fact} was acknowledged otherwise" for fact in wrong]
    for fact, acknowledged in list(torture.ledger.facts.items()):
        if acknowledged is None:
            torture.ledger.put(fact, readings[fact])
    _, surely, _ = torture.ledger.bounds()
    for caller in torture.callers:
        if _answered(caller.decisions) != surely:
            torture.figures.differing.append("AuthZEN says other things than the facts")


def _repair(site: Site) -> None:
    from policies.models import Backend
    from policies.sync.actions import operations
    from tests.factories import BY

    operations.set_policy(Backend.objects.get(pk=site.backend), Backend.Policy.REPAIR, by=BY, reason="")


def _answered(question: Callable[[], T]) -> T:
    deadline = time.monotonic() + PATIENCE
    while True:
        with suppress(OSError, HTTPException, ValueError):
            return question()
        if time.monotonic() > deadline:
            raise SystemExit("nobody answers")
        time.sleep(0.1)


def _wait(so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not so():
        if time.monotonic() > deadline:
            raise SystemExit("it never came to that")
        time.sleep(0.02)


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.torture.failover")
    options.add_argument("--seed", type=int, default=1)
    folder = Path(tempfile.mkdtemp(prefix="lakewarden-failover-"))
    folder.chmod(0o711)
    try:
        wrong = run(options.parse_args().seed, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

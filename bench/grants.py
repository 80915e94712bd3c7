"""100,000 grants into PostgreSQL: as the sync applies them, against one statement a grant, each committed."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "authzsite.settings")

import psycopg
from psycopg import sql

from authzsite import embedded
from lakewarden.backends import planning
from lakewarden.backends.base import Desired, Right
from policies.sync.backends.postgresql import kind as postgresql
from policies.sync.connections.destinations import network

ROLES, TABLES, AT_LEAST = 10, 10_000, 10.0
ONE_BY_ONE = 2_000  # so many are measured; the rest would take as long each


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="lw-bench-") as folder:
        server = embedded.PostgreSQL(Path(folder) / "pg", version=16, durable=False)
        server.start()
        try:
            return _measure(server.url())
        finally:
            server.stop()


def _measure(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA wide; CREATE ROLE plain NOLOGIN")
        for start in range(0, TABLES, 500):
            connection.execute("".join(f"CREATE TABLE wide.t{n} ();" for n in range(start, start + 500)))
        each = _one_by_one(connection)
    batched = _batched(url) / (ROLES * TABLES)
    ratio = each / batched
    print(
        f"one autocommit statement a grant: {each * 1e6:.0f} us; in batches: {batched * 1e6:.0f} us a grant"
    )
    print(f"{ROLES * TABLES:,} grants in {batched * ROLES * TABLES:.1f} s, {ratio:.0f} times faster")
    return 0 if ratio >= AT_LEAST else 1


def _one_by_one(connection: psycopg.Connection) -> float:
    """Seconds a grant."""
    started = time.perf_counter()
    for number in range(ONE_BY_ONE):
        name = sql.Identifier("wide", f"t{number}")
        connection.execute(sql.SQL("GRANT SELECT ON {} TO plain").format(name))
    return (time.perf_counter() - started) / ONE_BY_ONE


def _batched(url: str) -> float:
    """Seconds for all, from reading what is there to the last commit."""
    rights = frozenset(Right("table", ("wide", f"t{number}"), "SELECT") for number in range(TABLES))
    desired = Desired({f"role:{n}": rights for n in range(ROLES)}, {})
    backend = postgresql.open(url, realm="bench", mark="bench", network=network())
    started = time.perf_counter()
    outcomes = list(backend.apply(planning.plan(desired, backend.observe())))
    seconds = time.perf_counter() - started
    backend.close()
    if any(outcome.error for outcome in outcomes):
        raise SystemExit(f"not applied: {next(outcome.error for outcome in outcomes if outcome.error)}")
    return seconds


if __name__ == "__main__":
    sys.exit(main())

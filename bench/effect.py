"""From the commit of a decision to its effect in PostgreSQL: how long, through the workers of `make run`.

python bench/effect.py [rounds]
Real console database, real Redis, real Celery workers and beat, a real governed PostgreSQL; each round gives
Ana a table and takes it away again, and asks as Ana, in a tight loop, until the server says so.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import psycopg

ROUNDS, WARM, LIMIT = 60, 3, 1000.0  # milliseconds
PATIENCE = 60.0  # seconds
ASKED = "SELECT has_schema_privilege('ana', 's', 'USAGE') AND has_table_privilege('ana', 's.t', 'SELECT')"
SCRIPT = "CREATE ROLE ana LOGIN; CREATE SCHEMA s; CREATE TABLE s.t (id int)"


@contextmanager
def servers(folder: Path) -> Iterator[str]:
    """The console's database and broker, and the governed PostgreSQL as a URL."""
    from authzsite import embedded

    with ExitStack() as stack:
        own = embedded.PostgreSQL(folder / "console", durable=False)
        governed = embedded.PostgreSQL(folder / "governed", durable=False)
        redis = embedded.redis(folder)
        for server in (own, governed, redis):
            server.start()
            stack.callback(server.stop)
        os.environ |= {
            "DATABASE_URL": own.url(),
            "REDIS_URL": redis.url,
            "LAKEWARDEN_CONNECT_ALLOW": f"loopback,{governed.socket_dir}",
        }
        with psycopg.connect(governed.url(), autocommit=True) as connection:
            connection.execute(SCRIPT)
        yield governed.url()


@contextmanager
def workers() -> Iterator[None]:
    """The workers and the beat, as `make run` starts them."""
    from authzsite.runtime.processes import _commands

    wanted = {name: line for name, line in _commands(0).items() if name != "web"}
    running = [subprocess.Popen(line) for line in wanted.values()]
    try:
        yield
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(30)


def world(url: str) -> tuple[Callable[[], object], Callable[[], object]]:
    """A catalog over it, read once: what gives Ana the table, and what takes it away."""
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    from accounts import people
    from catalog.nodes import node
    from policies.services import grants
    from policies.services.grants import GrantRequest
    from policies.sync.connections import registration
    from policies.sync.connections.opening import open_backend
    from policies.sync.discovery.objects import discover
    from tests.factories import AUTHORITY, BY, a_metalake, a_person, acting, admit, the

    root = a_metalake()
    ana = a_person("ana")
    admit(root, "ana")
    row = registration.connect(root, "shop", "postgresql", url, policy="repair", by=BY, authority=AUTHORITY)
    catalog = node(row.catalog_id)
    assert catalog is not None
    discover(catalog, open_backend(row, catalog).observe(), by=BY, authority=AUTHORITY)
    by = acting("marek")
    for what, codes in ((catalog, ["USE_CATALOG"]), (the("schema", "shop.s"), ["USE_SCHEMA"])):
        grants.add(GrantRequest(what, (ana,), tuple(codes)), by=by)
    table = the("table", "shop.s.t")
    assert people.ensure("user", "ana") == ana

    def give() -> object:
        return grants.add(GrantRequest(table, (ana,), ("SELECT_TABLE",)), by=by)

    def take() -> object:
        return grants.remove(table, [ana], ["SELECT_TABLE"], by=by)

    return give, take


def until(connection: psycopg.Connection[tuple[bool]], wanted: bool) -> float:
    """Milliseconds until the server says so."""
    started = time.perf_counter()
    while connection.execute(ASKED).fetchone() != (wanted,):
        if time.perf_counter() - started > PATIENCE:
            raise SystemExit("TOO SLOW: it did not come true at all")
        time.sleep(0.002)
    return (time.perf_counter() - started) * 1000


def measure(url: str, rounds: int) -> bool:
    give, take = world(url)
    times: dict[str, list[float]] = {"given": [], "taken": []}
    with workers(), psycopg.connect(url, autocommit=True) as connection:
        for number in range(WARM + rounds):
            for name, change, wanted in (("given", give, True), ("taken", take, False)):
                change()
                took = until(connection, wanted)
                if number >= WARM:
                    times[name].append(took)
    for name, each in times.items():
        p95 = sorted(each)[int(len(each) * 0.95)]
        print(f"{name}: {median(each):7.0f} ms p50 {p95:7.0f} ms p95, {len(each)} rounds")
    good = all(median(each) < LIMIT for each in times.values())
    print(f"{'ok' if good else 'TOO SLOW'}: half of all are to be true in the backends within {LIMIT:.0f} ms")
    return good


def main() -> int:
    rounds = int(sys.argv[1]) if sys.argv[1:] else ROUNDS
    with tempfile.TemporaryDirectory(prefix="lakewarden-bench-") as folder:
        os.environ["LAKEWARDEN_VAR"] = folder
        with servers(Path(folder)) as url:
            return 0 if measure(url, rounds) else 1


if __name__ == "__main__":
    sys.exit(main())

"""How expensive a snapshot of 10,000 facts is: bytes on the wire, and milliseconds to read it in a program.

python bench/snapshot.py
Real PostgreSQL, the site's own view, read as the client reads it.
"""

from __future__ import annotations

import gzip
import os
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

FACTS = 10_000
ROUNDS = 15
MOST_MS, MOST_BYTES = 100.0, 1_000_000


def world() -> Any:
    """Ana, with a grant on each of so many tables by one of twenty roles; a caller with Ana's token."""
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    from policies.models import Counter, Grant
    from policies.services import objects, roles
    from policies.services.objects import NewObject
    from tests import bulk
    from tests.api.world import BY, Caller, make_shop, token, user

    shop = make_shop()
    names = [f"orders_{number:05}" for number in range(FACTS // 2)]
    tables = objects.register(shop.sales, [NewObject("table", name) for name in names], **BY)
    revision = Counter.objects.get().revision
    for number in range(20):
        role = roles.create(shop.realm, f"role_{number}", **BY)
        roles.assign(role, user("ana"), **BY)
        # past the services, because ten thousand changes take minutes
        rows = [
            Grant(role_id=role.id, securable_id=table.id, privilege=code, effect="allow")
            for table in tables[number::20]
            for code in ("SELECT_TABLE", "MODIFY_TABLE")
        ]
        bulk.put(rows, revision)
    return Caller(token("user", "ana"))


def timed(what: Any, clock: Any = time.process_time) -> float:
    """Milliseconds; of the processor, so that a busy machine does not count."""
    times: list[float] = []
    for _ in range(ROUNDS):
        started = clock()
        what()
        times.append((clock() - started) * 1000)
    return median(times)


def measure() -> bool:
    from lakewarden.client.snapshot import Snapshot
    from lakewarden.law.objects import ObjectRef

    caller = world()

    def fetch() -> Any:
        return caller.get("/authz/v1/snapshot?realm=demo", headers={"Accept-Encoding": "gzip"})

    answer = fetch()
    assert answer.status_code == 200, answer.content
    packed, plain = answer.content, gzip.decompress(answer.content)
    held = Snapshot.read(plain)
    assert len(held.slice.rules) >= FACTS, len(held.slice.rules)
    ref = ObjectRef.parse("table", "demo/shop.sales.orders_00042")
    assert held.decide("read", ref)
    unchanged = {"If-None-Match": answer["ETag"], "Accept-Encoding": "gzip"}
    read = timed(lambda: Snapshot.read(gzip.decompress(packed)))
    again = timed(lambda: caller.get("/authz/v1/snapshot?realm=demo", headers=unchanged), time.perf_counter)
    decided = timed(lambda: [held.decide("read", ref) for _ in range(1000)])
    print(f"{len(held.slice.rules)} facts: {len(plain)} bytes, packed {len(packed)}")
    print(f"read in the client {read:8.1f} ms")
    print(
        f"made by the console{timed(fetch, time.perf_counter):8.1f} ms, when nothing changed {again:.1f} ms"
    )
    print(f"decided            {decided:8.2f} µs each")
    good = read < MOST_MS and len(packed) < MOST_BYTES
    print(f"{'ok' if good else 'TOO MUCH'}: at most {MOST_MS:.0f} ms to read and {MOST_BYTES} bytes packed")
    return good


def main() -> int:
    from bench.servers import own_server

    with own_server():
        import django

        django.setup()
        from django.conf import settings

        settings.ALLOWED_HOSTS = ["testserver"]
        return 0 if measure() else 1


if __name__ == "__main__":
    sys.exit(main())

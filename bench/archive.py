"""What it takes to move an old record out of the database, and to verify it after: seconds and memory.

python bench/archive.py [CHANGES]
Real PostgreSQL; a realm whose history is 500 days old and kept for 365.  It is written, held against the
record and removed, as `manage.py pipeline archive` does besides reading it all on Spark.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

from bench.servers import own_server
from bench.verify import fill, spent

DAYS, KEPT = 500, 365
LIMIT = 400
"""Megabytes; a record of any length takes no more."""


def move() -> None:
    """Write, record and remove; each prints what it took."""
    import django

    django.setup()
    from django.utils import timezone

    from catalog.models import Realm
    from policies.authority import OPERATOR, of_operator
    from policies.record.archive import removal, retention

    realm = Realm.objects.get()
    retention.set_days(realm, KEPT, by=OPERATOR, authority=of_operator(OPERATOR))
    realm.refresh_from_db()
    start = time.perf_counter()
    archive = removal.write(realm, timezone.now())
    assert archive is not None
    written = time.perf_counter()
    removal.record(archive)
    recorded = time.perf_counter()
    removal.remove(archive)
    print(f"{archive.events:,} events: written in {written - start:.1f} s, ", end="")
    print(
        f"recorded in {recorded - written:.1f} s, removed in {time.perf_counter() - recorded:.1f} s",
        flush=True,
    )


def main() -> int:
    if "--move" in sys.argv:
        move()
        return 0
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    if "--fill" in sys.argv:
        fill(many, days_ago=DAYS)
        return 0
    with own_server():
        spent(__file__, str(many), "--fill")
        took, most = spent(__file__, "--move", shown=True)
        print(f"moved in {took:.1f} s with {most:.0f} MB")
        verified, memory = spent("manage.py", "verify_audit")
        print(f"verified with its archive in {verified:.1f} s with {memory:.0f} MB")
    return 0 if max(most, memory) <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())

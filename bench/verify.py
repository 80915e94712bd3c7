"""What it takes to verify a record with its facts: seconds and memory, of few changes and ten times as many.

python bench/verify.py [CHANGES]
Real PostgreSQL; `manage.py verify_audit`, `manage.py export_audit` and `python -m lakewarden.record` on what
was exported, each in a process of its own, whose memory is all it ever had.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

GROWTH = 1.3
"""How much more memory ten times the changes may take."""
STEP = 20_000
SEARCHES = ("changes_by_facets", "events_by_facets", "events_by_people", "events_by_lineage")
"""Indexes that only searching needs: filled by the million they take longer than all that is measured."""


def fill(changes: int, *, days_ago: int = 0) -> None:
    """A record of so many changes, as the writer makes them, in which people join a realm and leave it."""
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection
    from django.utils import timezone

    call_command("migrate", verbosity=0)
    from accounts.models import Principal
    from policies.authority import OPERATOR, of_operator
    from policies.models import Change, Counter, Event, RealmMember
    from policies.services import realms
    from tests import bulk

    people = Principal.objects.bulk_create(Principal(kind="user", name=f"p{number}") for number in range(400))
    realm = realms.create("gravitino", "bench", owner=people[0], by=OPERATOR, authority=of_operator(OPERATOR))
    begun, at = Counter.objects.get(), timezone.now() - timedelta(days=days_ago)
    digest, start = begun.digest, begun.revision
    changes += start
    with bulk.past_the_door([RealmMember]), connection.cursor() as cursor:
        for name in SEARCHES:
            cursor.execute(f"DROP INDEX {name}")
        for first in range(start + 1, changes + 1, STEP):
            rows = list(
                following(range(first, min(first + STEP, changes + 1)), digest, at, realm.realm_id, people)
            )
            digest = rows[-1][0].digest
            copy(cursor, Change, [change for change, _, _ in rows])
            copy(cursor, Event, [event for _, event, _ in rows])
            copy(cursor, RealmMember, [fact for _, _, fact in rows if fact is not None])
        bulk.seal(RealmMember)
        cursor.execute("ANALYZE")
    Counter.objects.update(revision=changes, digest=digest)


def following(
    revisions: Iterable[int], digest: str, at: datetime, realm: int, people: Sequence[Any]
) -> Iterator[tuple[Any, Any, Any]]:
    """Changes that follow from a digest, each with its event; every other begins a fact, the next ends it."""
    from accounts.fact_content import fact_values
    from policies.models import Change, Event, RealmMember
    from policies.record.change import digest_of

    for revision in revisions:
        number, begins = (revision + 2) // 2, revision % 2 == 0  # after the owner's own, in revision 1
        kind, who = ("member.added" if begins else "member.removed"), people[number % 400]
        change = Change(revision=revision, kind=kind, realm=realm, at=at, actor="operator", via="bench")
        change.previous = digest
        fact = RealmMember(realm_id=realm, principal=who, opened=revision, closed=revision + 1, origin="api")
        data = {"fact": f"realmmember:{number}", "by": "operator", "person": who.pseudonym}
        data |= {"state": fact_values(fact)} if begins else {}
        event = Event(change=change, number=0, kind=kind, people=[who.pseudonym], data=data)
        change.digest = digest = digest_of(change, [event])
        yield change, event, fact if begins else None


def copy(cursor: Any, model: Any, rows: Iterable[Any]) -> None:
    """Write rows of a table in one go, their numbers as the table gives them."""
    fields = [field for field in model._meta.concrete_fields if field.name != "id"]
    names = ", ".join(field.column for field in fields)
    with cursor.copy(f"COPY {model._meta.db_table} ({names}) FROM STDIN") as target:
        for row in rows:
            target.write_row([_plain(getattr(row, field.attname)) for field in fields])


def _plain(value: object) -> object:
    return json.dumps(value) if isinstance(value, dict) else value


def spent(*command: str, shown: bool = False) -> tuple[float, float]:
    """Seconds and megabytes of a command that must succeed."""
    start = time.perf_counter()
    output = None if shown else subprocess.DEVNULL
    process = subprocess.Popen([sys.executable, *command], cwd=ROOT, stdout=output)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command} failed")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def run(changes: int) -> dict[str, tuple[float, float]]:
    """What each program took of a record of so many changes, on a server of its own."""
    from bench.servers import own_server

    with own_server() as folder:
        spent(__file__, str(changes), "--fill")
        record, key = f"{folder}/record.zip", folder / "key"
        process = subprocess.run(
            [sys.executable, "manage.py", "audit_key"], cwd=ROOT, check=True, stdout=subprocess.PIPE
        )
        key.write_bytes(process.stdout)
        return {
            "verify_audit": spent("manage.py", "verify_audit"),
            "without facts": spent("manage.py", "verify_audit", "--no-facts"),
            "export_audit": spent("manage.py", "export_audit", "--out", record),
            "lakewarden.record": spent("-m", "lakewarden.record", record, "--key", str(key)),
        }


def main() -> int:
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    if "--fill" in sys.argv:
        fill(many)
        return 0
    few, all_of_them = run(many // 10), run(many)
    good = True
    for name, (seconds, memory) in all_of_them.items():
        less, small = few[name]
        grown = memory / small
        good &= grown <= GROWTH
        print(f"{name:18}{many // 10:>9,} changes: {less:6.1f} s {small:5.0f} MB", end="  ")
        print(f"{many:>9,}: {seconds:6.1f} s {memory:5.0f} MB, {grown:.2f} times the memory (limit {GROWTH})")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

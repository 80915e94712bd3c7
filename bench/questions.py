"""Batches of checks, who has access, and checks on a snapshot: answers compared first, then times in one run.

python bench/questions.py [S|M|L]
Real PostgreSQL, the site's own views in this process; times are of the processor, so that a busy machine
counts less.  Fails for a wrong answer only.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

ROUNDS = 9
BATCH = "/access/v1/evaluations"

HOLDERS = """
WITH given AS (
    SELECT g.role_id FROM policies_grant g
     WHERE g.closed IS NULL AND g.securable_id = ANY(%(way)s) AND g.privilege = ANY(%(codes)s)
       AND g.effect = 'allow'),
holder AS (
    SELECT a.holder_id AS id FROM policies_assignment a JOIN given USING (role_id) WHERE a.closed IS NULL
    UNION SELECT o.owner_id FROM policies_ownership o
     WHERE o.closed IS NULL AND o.securable_id = ANY(%(way)s))
SELECT count(*) FROM (
    SELECT h.id FROM holder h JOIN accounts_principal p ON p.id = h.id AND p.kind = 'user'
    UNION SELECT m.member_id FROM holder h JOIN accounts_membership m ON m.group_id = h.id
     WHERE m.closed IS NULL) AS alone
"""
"""The least that a database must do to name the candidates; it knows no denial, no window and no seal."""


def milliseconds(what: Callable[[], object]) -> float:
    what()
    times = []
    for _ in range(ROUNDS):
        started = time.process_time()
        what()
        times.append((time.process_time() - started) * 1000)
    return median(times)


class Lake:
    """A world, a service account that asks about its people, and random questions that never repeat."""

    def __init__(self, size: str) -> None:
        from accounts import people, tokens
        from bench.worlds import SIZES, build
        from catalog.models import Placement
        from catalog.nodes import nodes
        from tests.api.world import Caller
        from tests.factories import admit

        self.size, self.pick = SIZES[size], random.Random(3)
        self.root = build(self.size)
        admit(self.root, "service:job")
        self.caller = Caller(tokens.create(people.ensure("service", "job")))
        rows = Placement.objects.open().filter(type="table").order_by("?")[:2000]
        self.tables = list(nodes(rows.values_list("securable", flat=True)).values())

    def question(self, person: int | None = None) -> dict[str, Any]:
        number = self.pick.randrange(self.size.people) if person is None else person
        return {
            "subject": {"type": "user", "id": f"u{number:06}"},
            "action": {"name": self.pick.choice(("read", "write"))},
            "resource": {"type": "table", "id": self.pick.choice(self.tables).ref.id},
        }

    def ask(self, questions: list[dict[str, Any]]) -> list[bool]:
        answer = self.caller.post(BATCH, json.dumps({"evaluations": questions}), "application/json")
        assert answer.status_code == 200, answer.content
        return [item["decision"] for item in answer.json()["evaluations"]]

    def reference(self, question: dict[str, Any]) -> bool:
        """The same decided one by one on all facts of the person, read anew."""
        from accounts import people
        from policies.decisions import ask, slices

        slices.forget_all()
        [table] = [item for item in self.tables if item.ref.id == question["resource"]["id"]]
        return bool(
            ask.ask(people.ensure("user", question["subject"]["id"]), question["action"]["name"], table)
        )


def batches(lake: Lake) -> bool:
    questions = [lake.question() for _ in range(100)]
    right = lake.ask(questions) == [lake.reference(item) for item in questions]
    print(f"batches: {'answers as the reference' if right else 'WRONG ANSWERS'}")
    many = milliseconds(lambda: lake.ask([lake.question() for _ in range(100)]))
    repeated = milliseconds(lambda: lake.ask([lake.question(7) for _ in range(100)]))
    single = milliseconds(lambda: lake.ask([lake.question(7)]))
    print(
        f"  100 about 100 people {many:8.2f} ms, about one {repeated:8.2f} ms, a single one {single:8.2f} ms"
    )
    return right


def who_has_access(lake: Lake) -> bool:
    from django.db import connection
    from django.utils import timezone

    from accounts import people
    from policies.decisions import ask, slices
    from policies.decisions.lookups import searches

    table = lake.tables[0]

    def page(after: int, limit: int) -> searches.Subjects:
        return searches.subjects(table, "read", "user", after=after, limit=limit, now=timezone.now())

    def everybody() -> list[searches.Subject]:
        able: list[searches.Subject] = []
        after: int | None = 0
        while after is not None:
            part = page(after, 1000)
            able += part.found
            after = part.next
        return able

    slices.forget_all()
    some = [people.ensure("user", f"u{number:06}") for number in range(0, lake.size.people, 37)]
    able = {person.pk for person in everybody()}
    right = all((person.pk in able) == bool(ask.ask(person, "read", table)) for person in some)
    print(f"who has access: {len(able)} people, {'as each is decided' if right else 'WRONG ANSWERS'}")

    def candidates() -> None:
        with connection.cursor() as cursor:
            values: dict[str, Any] = {"way": list(table.lineage), "codes": ["SELECT_TABLE", "MODIFY_TABLE"]}
            cursor.execute(HOLDERS, values)
            cursor.fetchall()

    started = time.perf_counter()
    candidates()
    sql = (time.perf_counter() - started) * 1000
    first, all_ = milliseconds(lambda: page(0, 50)), milliseconds(everybody)
    print(
        f"  first 50 {first:8.2f} ms, all {all_:8.2f} ms; candidates in SQL alone {sql:8.2f} ms of the clock"
    )
    return right


def snapshot() -> bool:
    from lakewarden.client.snapshot import Snapshot
    from lakewarden.law.engine import build, decide
    from lakewarden.law.facts import Rule
    from lakewarden.law.objects import ObjectRef
    from lakewarden.law.principals import Principal

    pick, ana, now = random.Random(1), Principal("user", "ana"), time.time()
    refs = [
        ObjectRef("table", "demo", (f"c{at % 20}", f"s{at % 100}", f"t{pick.randrange(1000)}"))
        for at in range(3000)
    ]
    rules = [Rule("metalake:demo", code) for code in ("USE_CATALOG", "USE_SCHEMA")]
    rules += [Rule(f"table:{ref.id}", "SELECT_TABLE") for ref in refs[::3]]
    held = Snapshot("demo", ana, "gravitino", build(ana, "demo", "gravitino", 1, rules, member=True, now=0.0))
    ways = [held.lineage(ref) for ref in refs]

    def engine() -> list[bool]:
        return [bool(decide(held.slice, "Table.loadTable", way, now=now)) for way in ways]

    def client() -> list[bool]:
        return [bool(held.decide("read", ref, now=now)) for ref in refs]

    right = engine() == client() and sum(client()) >= 1000
    print(f"snapshot: {'answers as the engine' if right else 'WRONG ANSWERS'}")
    law, whole = (milliseconds(what) / len(refs) * 1000 for what in (engine, client))
    print(f"  the engine {law:6.2f} us, the snapshot {whole:6.2f} us: {law / whole:.2f} of its speed")
    return right


def main() -> int:
    from bench.servers import own_server

    with own_server():
        import django

        django.setup()
        from django.conf import settings

        settings.ALLOWED_HOSTS = ["testserver"]
        lake = Lake(sys.argv[1] if len(sys.argv) > 1 else "S")
        return 0 if all([batches(lake), who_has_access(lake), snapshot()]) else 1


if __name__ == "__main__":
    sys.exit(main())

"""One realm of very many objects: how large it is, what questions cost, and beside what.

python bench/scale.py [tables, default 1000000]
A hundredth as many people and six hundredths as many grants, streamed into a PostgreSQL of its own; ten
million need some 20 GB of disk and half an hour.  Array SQL is filled from the same facts by SQL alone and
answers first; a wrong answer fails.  Costs are of the processor, this process and the database's together.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

FEW, ROUNDS, SCHEMAS = 60, 5, 12
_ARRAYS = """
INSERT INTO bench.holding
SELECT m.principal_id, m.principal_id FROM policies_realmmember m JOIN accounts_principal p
    ON p.id = m.principal_id WHERE p.kind = 'user'
UNION SELECT group_id, member_id FROM accounts_membership WHERE closed IS NULL;
INSERT INTO bench.held
SELECT DISTINCT a.role_id, h.person FROM policies_assignment a JOIN bench.holding h ON h.holder = a.holder_id
 WHERE a.closed IS NULL;
INSERT INTO bench.subject
SELECT h.person, coalesce((SELECT array_agg(role) FROM bench.held d WHERE d.person = h.person), '{}'),
       array_agg(h.holder) FROM bench.holding h GROUP BY h.person;
INSERT INTO bench.object
SELECT securable_id, parent_id, ancestors || securable_id FROM catalog_placement
 WHERE closed IS NULL AND type <> 'role';
INSERT INTO bench.given
SELECT securable_id, array_position(%(codes)s, privilege::text) - 1, effect = 'allow', role_id
  FROM policies_grant WHERE closed IS NULL AND role_id IS NOT NULL AND privilege = ANY(%(codes)s);
INSERT INTO bench.owner SELECT securable_id, owner_id FROM policies_ownership WHERE closed IS NULL;
ANALYZE bench.subject; ANALYZE bench.held; ANALYZE bench.holding; ANALYZE bench.object;
ANALYZE bench.given; ANALYZE bench.owner
"""
_INDEX = "CREATE INDEX ON bench.held (person)"
_SIZES = """
SELECT relname, n_live_tup, pg_table_size(relid), pg_indexes_size(relid) FROM pg_stat_user_tables
 WHERE schemaname = 'public' ORDER BY pg_total_relation_size(relid) DESC LIMIT 8
"""


class Realm:
    """The realm, those who answer, and questions that never repeat."""

    def __init__(self, root: Any) -> None:
        from accounts.models import Principal
        from bench.peers import arrays
        from catalog.models import Placement
        from catalog.nodes import nodes

        self.root, self.pick, self.wrong = root, random.Random(5), 0
        self.peer = arrays.asking()
        span = self._span(Placement, "securable_id", type="table")
        people = self._span(Principal, "id", kind="user")
        self.questions = [
            (self.pick.randrange(*people), self.pick.randrange(*span)) for _ in range(FEW * (ROUNDS + 2))
        ]
        self.persons = Principal.objects.in_bulk({person for person, _ in self.questions})
        self.nodes = nodes({table for _, table in self.questions})

    @staticmethod
    def _span(model: Any, column: str, **which: str) -> tuple[int, int]:
        from django.db.models import Max, Min

        ends = model.objects.filter(**which).aggregate(first=Min(column), last=Max(column))
        return ends["first"], ends["last"] + 1

    def check(self, name: str, answers: object, right: object) -> None:
        if answers != right:
            self.wrong += 1
            print(f"WRONG ANSWERS: {name}", file=sys.stderr)

    def checks(self) -> Iterator[Any]:
        from bench.peers.clock import Row, by_turns
        from policies.decisions import ask, slices

        few = self.questions[:FEW]

        def ours() -> list[bool]:
            return [bool(ask.ask(self.persons[p], "read", self.nodes[t])) for p, t in few]

        def forgotten() -> list[bool]:
            slices.forget_all()
            return ours()

        def arrays() -> list[bool]:
            return list(map(self.peer.one, few))

        self.check("checks", forgotten(), arrays())
        for _ in range(slices.WORTH_KEEPING + 1):
            ours()
        each = {
            name: took / FEW * 1000
            for name, took in by_turns({"ours": ours, "arrays": arrays}, ROUNDS).items()
        }
        yield Row(
            "one check, facts held and proved fresh, µs", f"{each['ours']:.0f}",
            f"array SQL {each['arrays']:.0f}", each["arrays"] / each["ours"], 0.8,
        )  # fmt: skip
        cold = by_turns({"cold": forgotten}, ROUNDS)["cold"] / FEW
        yield Row("one check about somebody of whom nothing is held, ms", f"{cold:.2f}", "", None, None)

    def lists(self) -> Iterator[Any]:
        from bench.peers import lists

        asked = [(p, int(str(self.nodes[t].levels[-2].key))) for p, t in self.questions[:SCHEMAS]]
        yield lists.measured(asked, self.persons, self.peer, self.check, ROUNDS)

    def who(self) -> Iterator[Any]:
        from bench.peers.clock import Row, by_turns
        from policies.decisions.lookups import searches

        node = self.nodes[self.questions[0][1]]
        read = self.peer.readers
        assert read is not None

        def page(after: int, limit: int) -> Any:
            return searches.subjects(node, "read", "user", after=after, limit=limit, now=_now())

        def everybody() -> set[int]:
            able = set[int]()
            after: int | None = 0
            while after is not None:
                part = page(after, 1000)
                able |= {person.pk for person in part.found}
                after = part.next
            return able

        right = read(node.id)
        started = time.perf_counter()
        self.check("who has access", everybody(), right)
        yield Row(
            "the first such question of a process, s", f"{time.perf_counter() - started:.1f}", "", None, None
        )
        works: dict[str, Callable[[], object]] = {
            "all": everybody,
            "first": lambda: page(0, 50),
            "arrays": lambda: read(node.id),
        }
        cost = by_turns(works, ROUNDS)
        for title, name in (
            (f"who has access, all {len(right):,}, ms", "all"),
            ("the first 50, ms", "first"),
        ):
            yield Row(
                title, f"{cost[name]:.1f}", f"array SQL, all {cost['arrays']:.1f}",
                cost["arrays"] / cost[name], 0.8,
            )  # fmt: skip

    def pages(self) -> Iterator[Any]:
        from django.test import Client

        from accounts.people import make_account
        from bench.peers.clock import Row, by_turns

        client = Client()
        client.force_login(make_account("marek"), backend="django.contrib.auth.backends.ModelBackend")
        table = self.nodes[self.questions[0][1]]
        addresses = {
            "page of a schema, ms": f"/catalog/{table.levels[-2].key}",
            "page of a table, who has access, ms": f"/objects/{table.id}",
            "palette, a part of a name, ms": f"/search/found?q={table.name[-6:]}",
            "Home, ms": "/",
        }
        for title, address in addresses.items():
            cost = by_turns({"page": partial(_got, client, address)}, ROUNDS)["page"]
            yield Row(title, f"{cost:.0f}", "", None, None)


def _got(client: Any, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 200, (address, answer.status_code)


def _now() -> Any:
    from django.utils import timezone

    return timezone.now()


def _sizes() -> None:
    from django.db import connection

    print("\n| table | rows | data, MB | indexes, MB | bytes a row |\n|---|---|---|---|---|")
    with connection.cursor() as cursor:
        cursor.execute(_SIZES)
        for name, rows, data, indexes in cursor.fetchall():
            each = (data + indexes) / rows if rows else 0
            print(f"| {name} | {rows:,} | {data / 1e6:,.0f} | {indexes / 1e6:,.0f} | {each:,.0f} |")


def measure(tables: int) -> int:
    import django

    django.setup()
    from django.conf import settings
    from django.db import connection

    from bench.peers import CODES, arrays
    from bench.worlds.streamed import Scale, build
    from policies.sync.backends.shared.bounded_connection import patience

    settings.ALLOWED_HOSTS = ["*"]
    started = time.perf_counter()
    root = build(Scale(tables, tables // 100, tables * 6 // 100))
    print(f"{tables:,} tables were loaded in {time.perf_counter() - started:.0f} s", flush=True)
    with patience(7200), connection.cursor() as cursor:
        cursor.execute(arrays.TABLES)
        for statement in (_INDEX, *_ARRAYS.split(";")):
            cursor.execute(statement, {"codes": list(CODES)})
    _sizes()
    realm = Realm(root)
    print("\n| what | ours | beside | ratio | aim | reached |\n|---|---|---|---|---|---|", flush=True)
    for part in (realm.checks, realm.lists, realm.who, realm.pages):
        with patience(600):
            for row in part():
                print(row.text, flush=True)
    return 1 if realm.wrong else 0


def main() -> int:
    from bench.servers import own_server

    with own_server():
        return measure(int(sys.argv[1]) if sys.argv[1:] else 1_000_000)


if __name__ == "__main__":
    sys.exit(main())

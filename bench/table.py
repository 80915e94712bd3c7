"""What people ask for, beside what else could answer it: one table, in one run, every answer looked at first.

python bench/table.py [S|M|L] [--pages] [--http]
Costs are of the processor, this process and the database's process together, so that a busy machine counts
less; commits, which wait for the disk, are of the clock.  Cedar and Casbin are there if their packages are.
Fails for a wrong answer only.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

QUESTIONS, FEW, ROUNDS = 600, 60, 7
BATCH, WRITERS, BULK = 100, 8, 10_000


class Table:
    """A world, its questions, those who answer them, and the lines of the table."""

    def __init__(self, root: Any, size: str) -> None:
        from accounts.models import Principal
        from bench.peers import arrays, engines, lite, read_world
        from catalog.nodes import nodes

        self.root, self.size, self.pick = root, size, random.Random(5)
        self.world = read_world(root.realm_id)
        tables = [key for key, way in self.world.way.items() if len(way) == 4]
        self.questions = [
            (self.pick.choice(self.world.people), self.pick.choice(tables)) for _ in range(QUESTIONS)
        ]
        self.persons = Principal.objects.in_bulk(self.world.people)
        self.nodes = nodes({table for _, table in self.questions})
        self.arrays, self.lite = arrays.peer(self.world), lite.peer(self.world)
        few = self.questions[:FEW]
        self.cedar, self.casbin = engines.cedar(self.world, few), engines.casbin(self.world, few)
        self.wrong: list[str] = []

    def check(self, name: str, found: object, right: object) -> None:
        if found != right:
            self.wrong.append(name)
            print(f"WRONG ANSWERS: {name}", file=sys.stderr)

    # Single questions, facts at hand

    def engine(self) -> Iterator[Any]:
        from bench.peers.clock import Row, by_turns
        from lakewarden.law.engine import decide
        from policies.decisions import slices

        few = self.questions[:FEW]
        held = {person: slices.current(self.persons[person], self.root) for person, _ in few}
        now = self.now().timestamp()
        right = [self.world.may_read(*question) for question in few]

        def law() -> list[bool]:
            return [bool(decide(held[p], "Table.loadTable", self.nodes[t].levels, now=now)) for p, t in few]

        snapshots = {person: self.snapshot(person) for person, _ in few}
        refs = {table: self.nodes[table].ref for _, table in few}

        def client() -> list[bool]:
            return [bool(snapshots[p].decide("read", refs[t])) for p, t in few]

        peers = [peer for peer in (self.lite, self.cedar, self.casbin) if peer]
        works: dict[str, Callable[[], list[bool]]] = {"law": law, "client": client}
        works |= {peer.name: lambda peer=peer: list(map(peer.one, few)) for peer in peers}  # type: ignore[misc]
        for name, work in works.items():
            self.check(name, work(), right)
        cost = {name: took / FEW * 1000 for name, took in by_turns(works, ROUNDS).items()}
        for peer in peers:
            best = {"SQLite in memory": 2.5}.get(peer.name)
            yield Row(
                "engine on a slice, µs", f"{cost['law']:.1f}", f"{peer.name} {cost[peer.name]:.1f}",
                cost[peer.name] / cost["law"], best,
            )  # fmt: skip
        yield Row(
            "client's snapshot, one check, µs", f"{cost['client']:.1f}", f"engine {cost['law']:.1f}",
            cost["law"] / cost["client"], 0.8,
        )  # fmt: skip

    def snapshot(self, person: int) -> Any:
        from lakewarden.client.snapshot import Snapshot, sealed
        from policies.decisions import slices, snapshots

        subject, now = self.persons[person], self.now()
        held = snapshots.hold(subject, self.root, now=now)
        viewer = slices.current(subject, self.root, now=now)
        return Snapshot.read(sealed(snapshots.document(held, self.root, [viewer], now=now)))

    def now(self) -> Any:
        from django.utils import timezone

        return timezone.now()

    # In the site, proved fresh

    def site(self) -> Iterator[Any]:
        from bench.peers.clock import Row, by_turns
        from policies.decisions import ask, slices

        few = self.questions[:FEW]
        for _ in range(slices.WORTH_KEEPING + 1):
            for person, _table in few:
                slices.current(self.persons[person], self.root)

        def ours() -> list[bool]:
            return [bool(ask.ask(self.persons[p], "read", self.nodes[t])) for p, t in few]

        def arrays() -> list[bool]:
            return list(map(self.arrays.one, few))

        right = [self.world.may_read(*question) for question in few]
        self.check("site, one", ours(), right)
        self.check("array SQL, one", arrays(), right)
        cost = by_turns({"ours": ours, "arrays": arrays}, ROUNDS)
        each = {name: took / FEW * 1000 for name, took in cost.items()}
        yield Row(
            "the site in process, one check, µs", f"{each['ours']:.0f}", f"array SQL {each['arrays']:.0f}",
            each["arrays"] / each["ours"], 0.8,
        )  # fmt: skip

    def batches(self) -> Iterator[Any]:
        """Batches about the same hundred people, fresh tables each time; and by the client."""
        from bench.peers.clock import Row, by_turns
        from policies.decisions import ask, slices

        people = self.world.people[:BATCH]
        parts = [
            list(zip(people, (table for _, table in self.questions[at : at + BATCH]), strict=False))
            for at in range(0, QUESTIONS - BATCH, BATCH)
        ]
        for _ in range(12):
            slices.currents([self.persons[p] for p in people], self.root)

        def batch(part: list[tuple[int, int]]) -> list[bool]:
            now = self.now()
            facts = slices.currents([self.persons[p] for p, _ in part], self.root, now=now)
            return [bool(ask.answer(facts[p], "read", self.nodes[t], now=now)) for p, t in part]

        held, refs = (
            {p: self.snapshot(p) for p in people},
            {key: node.ref for key, node in self.nodes.items()},
        )

        def client(part: list[tuple[int, int]]) -> list[bool]:
            return [bool(held[p].decide("read", refs[t])) for p, t in part]

        many = self.arrays.many
        assert many is not None
        works = {"site": batch, "client": client, "arrays": many}
        for name, work in works.items():
            for part in parts:
                self.check(f"batch, {name}", work(part), [self.world.may_read(*one) for one in part])
        cost = by_turns(
            {name: (lambda work=work: list(map(work, parts))) for name, work in works.items()},  # type: ignore[misc]
            ROUNDS,
        )
        rate = {name: len(parts) * BATCH / took for name, took in cost.items()}
        for title, name, aim in (
            ("client's batch of 100, thousand checks/s", "client", 2.0),
            ("the site's batch of 100, thousand checks/s", "site", 1.0),
        ):
            yield Row(
                title,
                f"{rate[name]:.1f}",
                f"array SQL {rate['arrays']:.1f}",
                rate[name] / rate["arrays"],
                aim,
            )

    # Sets

    def lists(self) -> Iterator[Any]:
        from bench.peers import lists

        asked = [(p, self.world.way[t][2]) for p, t in self.questions[:12]]
        yield lists.measured(asked, self.persons, self.arrays, self.check, ROUNDS)

    def who(self) -> Iterator[Any]:
        """The table that most people may read, of those asked about, and one that few may."""
        from bench.peers.clock import Row, by_turns
        from policies.decisions import slices
        from policies.decisions.lookups import searches

        tables = [table for _, table in self.questions[:20]]
        readers = {table: self.world.readers(table) for table in tables}
        table = max(tables, key=lambda key: len(readers[key]))
        node, arrays, lite = self.nodes[table], self.arrays.readers, self.lite.readers
        assert arrays is not None and lite is not None

        def page(after: int, limit: int) -> searches.Subjects:
            return searches.subjects(node, "read", "user", after=after, limit=limit, now=self.now())

        def everybody() -> set[int]:
            able: set[int] = set()
            after: int | None = 0
            while after is not None:
                part = page(after, 1000)
                able |= {person.pk for person in part.found}
                after = part.next
            return able

        slices.forget_all()
        for name, found in (("site", everybody()), ("array SQL", arrays(table)), ("SQLite", lite(table))):
            self.check(f"who has access, {name}", found & set(self.world.people), readers[table])
        works = {
            "all": everybody,
            "first": lambda: page(0, 50),
            "arrays": lambda: arrays(table),
            "lite": lambda: lite(table),
        }
        cost = by_turns(works, ROUNDS)
        many = len(readers[table])
        for name, aim in (("arrays", 0.8), ("lite", None)):
            title = {"arrays": "array SQL", "lite": "SQLite"}[name]
            yield Row(
                f"who has access, all {many}, ms", f"{cost['all']:.1f}", f"{title} {cost[name]:.1f}",
                cost[name] / cost["all"], aim,
            )  # fmt: skip
        yield Row(
            "who has access, first 50, ms", f"{cost['first']:.1f}", f"array SQL, all {cost['arrays']:.1f}",
            cost["arrays"] / cost["first"], 0.8,
        )  # fmt: skip

    # Reasons, and facts that are not held

    def reasons(self) -> Iterator[Any]:
        from bench.peers.clock import Row, by_turns
        from lakewarden.law.engine import decide
        from lakewarden.law.explain import explain, missing
        from policies.decisions import slices

        refused = [item for item in self.questions if not self.world.may_read(*item)][:FEW]
        held = {person: slices.current(self.persons[person], self.root) for person, _ in refused}
        asked = [(held[p], self.nodes[t].levels) for p, t in refused]
        now = self.now().timestamp()

        def each(work: Callable[..., object]) -> Callable[[], object]:
            many = asked * (1 + FEW // len(asked))
            return lambda: [work(slice_, "Table.loadTable", levels, now=now) for slice_, levels in many]

        cost = by_turns({"decide": each(decide), "lacks": each(missing), "tree": each(explain)}, ROUNDS)
        for title, name in (("what a no lacks", "lacks"), ("explain a no, the tree", "tree")):
            took, law = (
                cost[key] / (len(asked) * (1 + FEW // len(asked))) * 1000 for key in (name, "decide")
            )
            yield Row(f"{title}, µs", f"{took:.1f}", f"decide {law:.1f}", took / law, 30, least=False)

    def cold(self) -> Iterator[Any]:
        """Slices of people of whom nothing is held, while what roles give is."""
        import tracemalloc

        from bench.peers.clock import Row, by_turns
        from policies.decisions import role_facts, slices

        people = [self.persons[person] for person in self.pick.sample(self.world.people, FEW)]
        slices.forget_all()
        slices.currents(list(people), self.root)
        held = {person.pk: slices.current(person, self.root) for person in people}
        known = role_facts.find({role for person in people for role in self.world.roles[person.pk]})
        roles = {role: item.revision for role, item in known.items()}

        def forget() -> None:
            with slices._lock:
                slices._kept.clear()
                slices._met.clear()

        def ours() -> None:
            forget()
            for person in people:
                slices.current(person, self.root)

        def bare() -> None:
            for person in people:
                self._bare_facts(person.pk, roles)

        ours()
        cost = {name: took / FEW for name, took in by_turns({"ours": ours, "bare": bare}, ROUNDS).items()}
        yield Row(
            "cold slice, ms", f"{cost['ours']:.2f}", f"its bare SQL {cost['bare']:.2f}",
            cost["ours"] / cost["bare"], 1.3, least=False,
        )  # fmt: skip
        forget()
        held.clear()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        for person in people:
            slices.current(person, self.root)
        weight = (tracemalloc.get_traced_memory()[0] - before) / FEW / 1000
        tracemalloc.stop()
        yield Row("cold slice, kB each", f"{weight:.1f}", "", weight, 25, least=False)

    # Writers, by the clock: they wait for the disk and for each other

    def writers(self) -> Iterator[Any]:
        from bench.peers.clock import Row

        nodes = list(self.nodes.values())
        gifts = iter(
            [(node, self.persons[person]) for node in nodes[:60] for person in self.world.people[:9]]
        )
        alone = [self._granted(*next(gifts)) for _ in range(40)]
        yield Row("grant commit, ms p50", f"{median(alone):.1f}", "", median(alone), 6, least=False)
        parts = [[next(gifts) for _ in range(20)] for _ in range(WRITERS)]
        with ThreadPoolExecutor(WRITERS) as threads:
            started = time.perf_counter()
            list(threads.map(self._grant_all, parts))
            rate = sum(map(len, parts)) / (time.perf_counter() - started)
        yield Row(f"grants a second, {WRITERS} writers", f"{rate:.0f}", "", rate, 300)
        people = [self.persons[person] for person in self.world.people[:BULK]]
        took = self._granted(nodes[-1], *people) / 1000
        yield Row(f"{len(people)} people in one grant, s", f"{took:.1f}", "", took, 2, least=False)

    def _grant_all(self, gifts: list[tuple[Any, Any]]) -> None:
        from django.db import connection

        try:
            for gift in gifts:
                self._granted(*gift)
        finally:
            connection.close()

    def _granted(self, node: Any, *holders: Any) -> float:
        """How many milliseconds it took to give them something there, directly."""
        from policies.services import grants
        from tests.factories import acting

        started = time.perf_counter()
        wish = grants.GrantRequest(node, holders, ("SELECT_TABLE",))
        grants.add(wish, by=acting("marek"), reason="measured")
        return (time.perf_counter() - started) * 1000

    def _bare_facts(self, person: int, roles: dict[int, int]) -> None:
        from django.db import connection

        from catalog.models import Realm
        from policies.decisions import facts
        from policies.decisions.fact_rows.statement import statement_of

        realm = Realm(pk=self.root.realm_id, kind=self.root.kind)
        values = facts.values_of(realm, [person], {}, None)
        values |= {"roles": [], "held": list(roles), "since": list(roles.values())}
        with connection.cursor() as cursor:
            cursor.execute(statement_of(past=False, narrowed=False, sharing=True), values)
            cursor.fetchall()


PARTS = ("engine", "site", "batches", "lists", "who", "reasons", "cold", "writers")


def measure(size: str, only: list[str]) -> int:
    import django

    django.setup()
    from django.conf import settings

    from authzsite import wsgi  # noqa: F401 - looks for cycles as seldom as a web process
    from bench.worlds import SIZES, build

    settings.ALLOWED_HOSTS = ["*"]
    kept = os.environ.get("BENCH_WORLD") == size
    table = Table(_root() if kept else build(SIZES[size]), size)
    print(f"World {size}\n\n| what | ours | beside | ratio | aim | reached |\n|---|---|---|---|---|---|")
    for part in only or PARTS:
        for row in getattr(table, part)():
            print(row.text, flush=True)
    return 1 if table.wrong else 0


def _root() -> Any:
    from catalog.queries import realm_named, root

    realm = realm_named("demo")
    return root(realm) if realm else None


def main() -> int:
    from bench.servers import own_server

    given = [item for item in sys.argv[1:] if not item.startswith("--")]
    size, only = (given[0] if given else "S"), given[1:]
    if os.environ.get("BENCH_WORLD"):  # a world that was built before, in the database of the settings
        return measure(size, only)
    with own_server(durable=True):
        code = measure(size, only)
    for flag, file, values in (("--pages", "pages.py", [size]), ("--http", "check_http.py", [])):
        if flag in sys.argv:
            print(f"\n{file}\n", flush=True)
            code |= subprocess.run([sys.executable, str(HERE.parent / file), *values], check=False).returncode
    return code


if __name__ == "__main__":
    sys.exit(main())

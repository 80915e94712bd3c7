"""What a long record costs: every filter of the history and any two of them, and the past, at two lengths.

python bench/history.py [CHANGES [ROUNDS]]
Real PostgreSQL on Linux; the same with 10,000 changes and with CHANGES (1,000,000) in turn, in one run.
Judged is the page as the auditor's browser asks for it, by the clock and by what was computed for it, here
and in the database; beside it stands what its search alone computes.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

from bench.records import Shop, a_shop, lengthen

PAGES, PAST, QUERIES = 1.5, 2.0, 12
"""A page may take so many times as long on the long record, the past so many times the present; and a page
whose filter is rare may ask the database so many times more often than the newest page does."""
KEPT = ("object", "role", "person")
SHORT, LONG = 10_000, 1_000_000
ROUNDS, TURNS, AGAIN = 5, 3, 3
"""How often each page is asked for in each of so many turns of the two records; so many times as many turns
where the machine may have been busy with something else."""


@dataclass(frozen=True)
class Asked:
    """What the record is asked for, as a filter and as an address says it."""

    filter: dict[str, Any]
    address: dict[str, Any] = field(default_factory=dict)

    def __or__(self, other: Asked) -> Asked:
        return Asked(self.filter | other.filter, self.address | other.address)


@dataclass(frozen=True)
class Question:
    """What is measured: a page, and beside it what is searched for it, if anything.

    `alike` is the most it may take on the long record, in times of the short one.
    """

    run: Callable[[], int]
    search: Callable[[], int] | None = None
    alike: float = PAGES


def alone(shop: Shop) -> dict[str, Asked]:
    """Each filter of the history, some for what is frequent, what is rare, and what is long ago."""
    from authzsite.console.history.kinds import kinds_in
    from policies.models import Change

    middle = Change.objects.get(revision=shop.began + SHORT * 4 // 5).at
    early = Change.objects.get(revision=shop.began + SHORT // 5).at
    newest = Change.objects.order_by("-revision")[0].at
    late = newest - timedelta(seconds=2_000)
    kinds = kinds_in("denials")[1]
    return {
        "below a schema": Asked({"object": shop.schema}, {"object": shop.schema.id}),
        "a busy table": Asked({"object": shop.busy}, {"object": shop.busy.id}),
        "a quiet table": Asked({"object": shop.quiet}, {"object": shop.quiet.id}),
        "a person": _who("person", "p7"),
        "an actor": _who("actor", "a7"),
        "a kind": Asked({"kinds": kinds}, {"kind": "denials"}),
        "lately": Asked({"since": late}, {"since": late.isoformat()}),
        "up to a time": Asked({"until": late}, {"until": late.isoformat()}),
        "long ago": Asked({"until": early}, {"until": early.isoformat()}),
        "between times": Asked(
            {"since": early, "until": middle}, {"since": early.isoformat(), "until": middle.isoformat()}
        ),
        "words of most": Asked({"text": "asked"}, {"q": "asked"}),
        "words of few": Asked({"text": "yearly clos"}, {"q": "yearly clos"}),
        "words of one object": Asked({"text": "sales.t77"}, {"q": "sales.t77"}),
        "words of none": Asked({"text": "nowhere"}, {"q": "nowhere"}),
        "a request": _request(f"r{shop.began + 77}"),
    }


def _who(part: str, name: str) -> Asked:
    from authzsite.console.kit.inputs.visible_principals import somebody

    return Asked({part: somebody(name)}, {part: name})


def _request(number: str) -> Asked:
    return Asked({"request": number}, {"request": number})


def together(shop: Shop) -> dict[str, Asked]:
    """Any two filters, and things that never meet though each is there."""
    from authzsite.console.history.kinds import kinds_in

    every = alone(shop)
    pairs = {
        f"{name} + {two}": every[name] | every[two]
        for name, two in combinations(every, 2)
        if not set(every[name].filter) & set(every[two].filter)
    }
    robot, few, kind = _who("actor", "service:robot"), every["words of few"], every["a kind"]
    never = {
        "a person, never by": every["a person"] | _who("actor", "a3"),
        "a kind, never by": kind | _who("actor", "a8"),
        "a robot, never of a kind": robot | Asked({"kinds": kinds_in("grants")[1]}, {"kind": "grants"}),
        "a robot, never about": robot | every["a person"],
        "a robot, never in words": robot | few,
        "four that never meet": every["below a schema"] | robot | every["a person"] | every["up to a time"],
    }
    return pairs | {"a robot": robot} | never


def questions(shop: Shop) -> dict[str, Question]:
    """All that is measured.  What is asked by a time is asked by that of the record at hand."""
    from accounts.models import Principal
    from policies.record import history

    visit, seen = visitor("ada"), history.sight(Principal.objects.get(kind="user", name="ada"), [shop.root])

    def room(query: Asked, before: int | None = None) -> Question:
        def search() -> int:
            return len(history.page(history.Filter(**query.filter), seen, before=before, limit=50).entries)

        address = query.address | ({"before": before} if before else {})
        return Question(visit(f"/history?{urlencode(address)}"), search)

    return {
        "newest page": room(Asked({})),
        "a page far back": room(Asked({}), shop.began + SHORT // 2),
        **{name: room(query) for name, query in (alone(shop) | together(shop)).items()},
        **kept(shop),
    }


def kept(shop: Shop) -> dict[str, Question]:
    """The pages of an object, a role and a person, each as of a revision that is long past, and their law."""
    from accounts.models import Principal
    from catalog.nodes import nodes
    from policies.decisions.lookups import access as lookups_access
    from policies.record import compare, revisions
    from tests.factories import the

    visit, quiet, first = visitor("marek"), shop.quiet.id, revisions.at_revision(shop.began)
    assert first is not None
    mia = Principal.objects.get(kind="user", name="mia")
    places = (f"/objects/{quiet}", f"/roles/{the('role', 'browse').id}", f"/people/{mia.pk}")

    def now() -> int:
        access_map = lookups_access.AccessMap(nodes([quiet])[quiet])
        return len([person for person in access_map.people.values() if access_map.access_of(person).can])

    return {
        **{f"{name} page": Question(visit(place)) for name, place in zip(KEPT, places, strict=True)},
        **{
            f"{name} page then": Question(visit(f"{place}/then?at={shop.began}"))
            for name, place in zip(KEPT, places, strict=True)
        },
        "access now": Question(now),
        "access then": Question(lambda: len(compare.state(quiet, first).actions)),
    }


def visitor(name: str) -> Callable[[str], Callable[[], int]]:
    """Somebody who is signed in; what is given an address is a visit, and tells how long the page was."""
    from django.conf import settings
    from django.test import Client

    from accounts.models import User

    settings.ALLOWED_HOSTS = ["*"]
    client = Client()
    client.force_login(User.objects.get(username=name), backend="django.contrib.auth.backends.ModelBackend")

    def visit(address: str) -> Callable[[], int]:
        def got() -> int:
            answer = client.get(address)
            assert answer.status_code == 200, (address, answer.status_code)
            return len(answer.content)

        return got

    return visit


@dataclass(frozen=True)
class Taken:
    """What something took at one length, in milliseconds: by the clock, of the processor; and its queries."""

    clock: float
    processor: float
    search: float
    queries: int

    def least(self, other: Taken) -> Taken:
        """The quicker of two in each; the queries are those of the one that had to ask more often."""
        return Taken(
            min(self.clock, other.clock),
            min(self.processor, other.processor),
            min(self.search, other.search),
            max(self.queries, other.queries),
        )


def fastest(run: Callable[[], int], rounds: int) -> tuple[float, float]:
    """Milliseconds by the clock and of the processor, here and in the database: the least of all rounds."""
    clocks, processors = [], []
    for _ in range(rounds):
        spent, start = processor(), time.perf_counter()
        run()
        clocks.append((time.perf_counter() - start) * 1000)
        processors.append(processor() - spent)
    return min(clocks), min(processors)


def processor() -> float:
    """Milliseconds that this process and its session in the database have computed so far."""
    from django.db import connection

    connection.ensure_connection()
    session = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat")
    return time.process_time() * 1000 + int(session.read_text().split()[0]) / 1e6


def taken(question: Question, rounds: int) -> Taken:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as captured:
        question.run()
    queries = len(captured)
    clock, spent = fastest(question.run, rounds)
    search = fastest(question.search, rounds)[1] if question.search else 0.0
    return Taken(clock, spent, search, queries)


def use(database: str) -> None:
    """Ask another database of the same server from here on."""
    from django.db import connection

    connection.close()
    connection.settings_dict["NAME"] = database


def two_records(many: int) -> tuple[Shop, tuple[str, str]]:
    """A short record and a long one, which begins like it: databases of one server."""
    from django.db import connection

    shop = a_shop()
    long, short = connection.settings_dict["NAME"], "short"
    lengthen(shop, SHORT)
    use("template1")
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE DATABASE {short} TEMPLATE "{long}"')
    use(long)
    lengthen(shop, many)
    return shop, (short, long)


def measured(shop: Shop, databases: Sequence[str], rounds: int) -> Iterator[tuple[str, float, list[Taken]]]:
    """Each question by name, the most it may take, and what it took of each record, at the least."""
    timed = []
    for database in databases:
        use(database)
        timed.append(questions(shop))
    for name, question in timed[0].items():
        least: list[Taken] = []
        for turn in range(TURNS * AGAIN):
            if turn >= TURNS and alike(*least) <= question.alike:
                break
            took = []
            for database, every in zip(databases, timed, strict=True):
                use(database)
                took.append(taken(every[name], rounds))
            least = [Taken.least(*pair) for pair in zip(least or took, took, strict=True)]
        yield name, question.alike, least


HEAD = (
    f"{'':38}{'clock, ms':>15}{'times':>6}{'processor, ms':>15}{'times':>6}{'search':>15}{'times':>6} queries"
)


def line(name: str, short: Taken, long: Taken) -> str:
    pairs = [(short.clock, long.clock), (short.processor, long.processor), (short.search, long.search)]
    cells = [f"{ours:7.1f}{other:8.1f}{other / ours:6.2f}" for ours, other in pairs if ours]
    return f"{name:38}{''.join(cells):63}{short.queries:4}{long.queries:4}"


def alike(short: Taken, long: Taken) -> float:
    """How many times longer a page takes.  By the clock alone it may be what else the machine does."""
    return min(long.clock / short.clock, long.processor / short.processor)


def held(short: Taken, long: Taken, limit: float, queries: int) -> bool:
    """Whether a page takes hardly longer, and asks hardly more often."""
    # the law alone takes less than can be told apart
    fits = alike(short, long) <= limit or long.clock < 5
    return fits and long.queries <= max(short.queries, queries)


def main() -> int:
    many = int(sys.argv[1]) if len(sys.argv) > 1 else LONG
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else ROUNDS
    results: dict[str, Taken] = {}
    good = True
    print(HEAD)
    for name, limit, (short, long) in measured(*two_records(many), rounds):
        results[name] = long
        good &= (fine := held(short, long, limit, results["newest page"].queries + QUERIES))
        print(f"{line(name, short, long)}{'' if fine else '  TOO MUCH'}", flush=True)
    for now in ("access now", *(f"{item} page" for item in KEPT)):
        then = f"{now.removesuffix(' now')} then"
        ratio = results[then].processor / results[now].processor
        good &= ratio <= PAST
        print(f"{then} costs {ratio:.2f} times {now} (limit {PAST})")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")
    return 0 if good else 1


def run() -> int:
    from bench.servers import own_server

    with own_server():
        return main()


if __name__ == "__main__":
    sys.exit(run())

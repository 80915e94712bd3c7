"""What a long record costs: every filter of the history and any two of them, and the past, at two lengths.

python bench/history.py [CHANGES]
Real PostgreSQL; the same questions with 10,000 changes and then with CHANGES (1,000,000) in one run.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

PAGES, PAST = 1.5, 2.0
KEPT = ("object", "role", "person")
SHORT, ROUNDS = 10_000, 15

# rows as the writer makes them, but for the digests: 40 people, 400 tables, a grant and its end by turns; a
# quarter is done by a robot, which ends grants and never gives one
CHANGES = (
    """
INSERT INTO policies_change (
    revision, kind, realm, at, actor, on_behalf_of, via, reason, request_id, previous, digest)
SELECT n, 'grant.added', {realm}, now() - ({last} - n) * interval '1 second',
       CASE WHEN n % 4 = 1 THEN 'robot' ELSE 'actor' || n % 40 END, '', 'api',
       CASE WHEN n % 1000 = 0 THEN 'yearly closing' ELSE 'as asked' END, 'r' || n, '',
       md5(n::text) || md5(n::text)
  FROM generate_series({first}, {last}) n""",
    """
INSERT INTO policies_event (
    change_id, number, kind, object_type, object_name, object_key, lineage, people, data)
SELECT n, 0, CASE WHEN n % 2 = 0 THEN 'grant.added' ELSE 'grant.removed' END, 'table',
       'demo/shop.sales.t' || n % 400, {table} + n % 400,
       ARRAY[{realm}, {schema}, {table} + n % 400]::bigint[], ARRAY['person' || n % 40],
       jsonb_build_object('privilege', 'SELECT_TABLE', 'holder', 'person' || n % 40)
  FROM generate_series({first}, {last}) n""",
    "UPDATE policies_counter SET revision = {last}",
    "ANALYZE",
)


def world() -> dict[str, Any]:
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    from accounts import people
    from policies.models import Counter
    from tests.factories import the
    from tests.policies.conftest import make_shop

    root = make_shop()
    people.make_account("marek")
    schema = the("schema", "shop.sales")
    return {
        "root": root,
        "schema": schema,
        "table": the("table", "shop.sales.orders"),
        "from": Counter.objects.get().revision,
    }


def lengthen(made: dict[str, Any], last: int) -> None:
    from django.db import connection

    values = {
        "first": made["from"] + 1,
        "last": made["from"] + last,
        "realm": made["root"].id,
        "schema": made["schema"].id,
        "table": 10_000_000,
    }
    with connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(max(revision), 0) FROM policies_change")
        values["first"] = cursor.fetchone()[0] + 1
        for statement in CHANGES:
            cursor.execute(statement.format(**values))


def questions(made: dict[str, Any]) -> dict[str, tuple[float, Callable[[], int]]]:
    """Each with the ratio it may not exceed."""
    from datetime import timedelta

    from accounts.models import Principal
    from catalog.nodes import nodes
    from policies import access, compare, history, past
    from policies.history import Filter, Sight
    from policies.models import Change

    root, person = made["root"], Principal(pseudonym="person7", kind="user", name="p7")
    seen = Sight(Principal(pseudonym="nobody", kind="user", name="n"), (root.id,), site=False)
    middle = Change.objects.order_by("-revision")[0].at - timedelta(seconds=2_000)
    early = Change.objects.get(revision=made["from"] + SHORT // 5).at
    first = past.at_revision(made["from"])
    assert first is not None

    def pages(**asked: Any) -> Callable[[], int]:
        return lambda: len(history.page(Filter(**asked), seen, limit=50).entries)

    def deep() -> int:
        return len(history.page(Filter(), seen, before=made["from"] + SHORT // 2, limit=50).entries)

    def now() -> int:
        found = access.AccessMap(nodes([made["table"].id])[made["table"].id])
        return len([one for one in found.people.values() if found.access_of(one).can])

    actor, robot = (Principal(pseudonym=one, kind="user", name=one) for one in ("actor7", "robot"))
    other = Principal(pseudonym="actor3", kind="user", name="a3")  # has nothing to do with the person
    alone: dict[str, dict[str, Any]] = {
        "below a schema": {"object": made["schema"]},
        "of one table": {"object": made["table"]},
        "a person": {"person": person},
        "an actor": {"actor": actor},
        "a kind": {"kinds": ("grant.removed",)},
        "up to a time": {"until": middle},
        "long ago": {"until": early},
        "between times": {"since": early, "until": middle},
        "words of most": {"text": "asked"},
        "words of few": {"text": "yearly clos"},
        "words of one object": {"text": "sales.t77"},
        "a request": {"request": f"r{made['from'] + 77}"},
    }
    pairs: dict[str, dict[str, Any]] = {
        f"{one} + {two}": {**alone[one], **alone[two]}
        for one, two in combinations(alone, 2)
        if not set(alone[one]) & set(alone[two])
    }
    never: dict[str, dict[str, Any]] = {
        "words of none": {"text": "nowhere"},
        "a person, never by": {"person": person, "actor": other},
        "a person, never of a kind": {"person": person, "kinds": ("grant.added",)},
        "a robot, never of a kind": {"actor": robot, "kinds": ("grant.added",)},
        "a robot, never about": {"actor": robot, "person": person},
        "a robot, never in words": {"actor": robot, "text": "yearly"},
        "a kind, never in words": {"kinds": ("grant.removed",), "text": "yearly"},
        "four that never meet": {"object": made["schema"], "actor": robot, "person": person, "until": middle},
    }
    every = {"a robot": {"actor": robot}, **alone, **pairs, **never}
    return {
        "newest page": (PAGES, pages()),
        "a page far back": (PAGES, deep),
        **{name: (PAGES, pages(**asked)) for name, asked in every.items()},
        "access now": (PAGES, now),
        "access then": (PAGES, lambda: len(compare.state(made["table"].id, first).actions)),
        **visits(made),
    }


def visits(made: dict[str, Any]) -> dict[str, tuple[float, Callable[[], int]]]:
    """The pages of an object, a role and a person, and each as of a revision that is long past."""
    from django.conf import settings
    from django.test import Client

    from accounts.models import Principal
    from accounts.people import make_account
    from tests.factories import the

    settings.ALLOWED_HOSTS = ["*"]
    client = Client()
    client.force_login(make_account("marek"), backend="django.contrib.auth.backends.ModelBackend")
    mia = Principal.objects.get(kind="user", name="mia")
    places = {
        "object": f"/objects/{the('table', 'shop.sales.orders').id}",
        "role": f"/roles/{the('role', 'browse').id}",
        "person": f"/people/{mia.pk}",
    }

    def visit(address: str) -> Callable[[], int]:
        def got() -> int:
            answer = client.get(address)
            assert answer.status_code == 200, (address, answer.status_code)
            return len(answer.content)

        return got

    return {
        "the room": (PAGES, visit("/history")),
        "the room, filtered": (PAGES, visit("/history?kind=grants&actor=marek&since=2020-01-01")),
        **{f"{name} page": (PAGES, visit(address)) for name, address in places.items()},
        **{
            f"{name} page then": (PAGES, visit(f"{address}/then?at={made['from']}"))
            for name, address in places.items()
        },
    }


def measured(made: dict[str, Any]) -> dict[str, float]:
    times = {}
    for name, (_, run) in questions(made).items():
        run()
        spent = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            run()
            spent.append(time.perf_counter() - start)
        times[name] = min(spent) * 1000  # the round that the rest of the machine disturbed least
    return times


def main() -> int:
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    made = world()
    lengthen(made, SHORT)
    short = measured(made)
    lengthen(made, many)
    long = measured(made)
    good = True
    for name, (limit, _) in questions(made).items():
        ratio = long[name] / short[name]
        held = ratio <= limit or long[name] < 5
        good &= held
        told = "" if held else "  TOO MUCH"
        print(f"{name:42}{short[name]:9.1f} ms{long[name]:9.1f} ms{ratio:7.2f} times{told}")
    for now, then in (("access now", "access then"), *((f"{one} page", f"{one} page then") for one in KEPT)):
        ratio = long[then] / long[now]
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

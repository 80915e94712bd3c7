"""What a long record costs: pages of the history, the past of an object, and reading it all, at two lengths.

python bench/history.py [CHANGES]
Real PostgreSQL; the same questions with 10,000 changes and then with CHANGES (1,000,000) in one run.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

PAGES, PAST = 1.5, 2.0
SHORT, ROUNDS = 10_000, 9

# rows as the writer makes them, but for the digests: 40 people, 400 tables, a grant and its end by turns
CHANGES = (
    """
INSERT INTO policies_change (
    revision, kind, realm, at, actor, on_behalf_of, via, reason, request_id, previous, digest)
SELECT n, 'grant.added', {realm}, now() - ({last} - n) * interval '1 second', 'actor' || n % 40, '', 'api',
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

    actor = Principal(pseudonym="actor3", kind="user", name="a3")
    same = Principal(pseudonym="actor7", kind="user", name="a7")  # who changes what concerns the person
    return {
        "newest page": (PAGES, pages()),
        "a page far back": (PAGES, deep),
        "about a person": (PAGES, pages(person=person)),
        "by an actor": (PAGES, pages(actor=actor)),
        "of a kind": (PAGES, pages(kinds=("grant.removed",))),
        "below a schema": (PAGES, pages(object=made["schema"])),
        "in a time": (PAGES, pages(until=middle)),
        "long ago": (PAGES, pages(until=early)),
        "of one table": (PAGES, pages(object=made["table"])),
        "a person by an actor": (PAGES, pages(person=person, actor=same)),
        "of a request": (PAGES, pages(request=f"r{made['from'] + 77}")),
        "words in most reasons": (PAGES, pages(text="asked")),
        "words in few reasons": (PAGES, pages(text="yearly clos")),
        "words of one object": (PAGES, pages(text="sales.t77")),
        "words of none": (PAGES, pages(text="nowhere")),
        "words and a person": (PAGES, pages(text="sales", person=person)),
        "access now": (PAGES, now),
        "access then": (PAGES, lambda: len(compare.state(made["table"].id, first).actions)),
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
        times[name] = median(spent) * 1000
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
        print(f"{name:24}{short[name]:9.1f} ms{long[name]:9.1f} ms{ratio:7.2f} times{told}")
    then = long["access then"] / long["access now"]
    print(f"access then costs {then:.2f} times access now (limit {PAST})")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")
    return 0 if good and then <= PAST else 1


def run() -> int:
    from authzsite import embedded

    with tempfile.TemporaryDirectory(prefix="lakewarden-bench-") as folder:
        os.environ["LAKEWARDEN_VAR"] = folder
        server = embedded.PostgreSQL(Path(folder) / "postgresql", durable=False)
        server.start()
        os.environ["DATABASE_URL"] = server.url()
        try:
            return main()
        finally:
            server.stop()


if __name__ == "__main__":
    sys.exit(run())

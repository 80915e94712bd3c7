"""What a large review costs: writing its population down, its pages, deciding and carrying out, at two sizes.

python bench/reviews.py [ROWS]
Real PostgreSQL; the same with 5,000 rows and then with ROWS (50,000) in one run, as many uses told.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

SMALL, ROUNDS, PEOPLE = 5_000, 7, 1_000
PAGES, BUILD, MEMORY = 3.0, 1.6, 64
"""A page may take so many times as long with ten times the rows, a row so many times as long to write down,
and the process may grow by so many megabytes."""

# 1,000 people in 50 groups of 20, and a personal role each
CROWD = (
    """
INSERT INTO accounts_principal (kind, name, display_name, pseudonym, erased)
SELECT 'user', 'c' || n, 'Person ' || n, 'c' || n, false FROM generate_series(1, {people}) n""",
    """
INSERT INTO accounts_principal (kind, name, display_name, pseudonym, erased)
SELECT 'group', 'cg' || n, '', 'cg' || n, false FROM generate_series(1, {people} / 20) n""",
    """
INSERT INTO accounts_membership (group_id, member_id, opened, origin)
SELECT g.id, p.id, 1, 'hand' FROM accounts_principal p JOIN accounts_principal g
    ON p.name ~ '^c[0-9]+$' AND g.name = 'cg' || (substr(p.name, 2)::int % ({people} / 20) + 1)""",
    """
INSERT INTO policies_realmmember (realm_id, principal_id, opened, origin)
SELECT {realm}, id, 1, 'hand' FROM accounts_principal WHERE name ~ '^cg?[0-9]+$'""",
    """
INSERT INTO catalog_securable (realm_id, type, external_id, opened)
SELECT {realm}, 'role', 'personal c' || n, 1 FROM generate_series(1, {people}) n""",
    """
INSERT INTO catalog_placement (securable_id, type, name, parent_id, scope_id, ancestors, opened, origin)
SELECT id, 'role', '~' || substr(external_id, 10), {root}, {root}, ARRAY[{root}]::bigint[], 1, 'system'
  FROM catalog_securable WHERE external_id LIKE 'personal c%'""",
    """
INSERT INTO policies_assignment (role_id, holder_id, opened, origin)
SELECT s.id, p.id, 1, 'system' FROM catalog_securable s
  JOIN accounts_principal p ON s.external_id = 'personal ' || p.name""",
)
# each row: one person, one table, one or two privileges; half of them used
GRANTS = (
    """
INSERT INTO catalog_securable (realm_id, type, external_id, opened)
SELECT {realm}, 'table', 'bench ' || n, 1 FROM generate_series({first} / 50 + 1, {last} / 50) n""",
    """
INSERT INTO catalog_placement (securable_id, type, name, parent_id, scope_id, ancestors, opened, origin)
SELECT id, 'table', 't' || substr(external_id, 7), {schema}, {schema}, {lineage}, 1, 'hand'
  FROM catalog_securable WHERE external_id LIKE 'bench %%' AND substr(external_id, 7)::int > {first} / 50""",
    """
INSERT INTO policies_grant (role_id, securable_id, privilege, written, effect, pattern, opened, origin)
SELECT r.id, t.id, 'SELECT_TABLE', '', 'allow', '', 1, 'hand' FROM generate_series({first} + 1, {last}) n
  JOIN catalog_securable t ON t.external_id = 'bench ' || ((n - 1) / 50 + 1)
  JOIN catalog_securable r ON r.external_id = 'personal c' || ((n * 7919) %% {people} + 1)
    ON CONFLICT DO NOTHING""",
    """
INSERT INTO policies_use (realm_id, reporter_id, run, principal_id, securable_id, action, executed, at)
SELECT {realm}, {reporter}, 'bench', a.holder_id, g.securable_id, 'read', true,
       now() - g.id %% 200 * interval '1 day'
  FROM policies_grant g JOIN policies_assignment a ON a.role_id = g.role_id
 WHERE g.id %% 2 = 0 AND g.opened = 1 AND g.origin = 'hand' ON CONFLICT DO NOTHING""",
    "ANALYZE",
)


def world() -> dict[str, Any]:
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    from accounts import people
    from tests.factories import the
    from tests.policies.conftest import make_shop

    root = make_shop()
    for name in ("marek", "olivia"):
        people.make_account(name)
    schema = the("schema", "shop.sales")
    lineage = f"ARRAY[{','.join(map(str, schema.lineage))}]::bigint[]"
    reporter = people.ensure("service", "bench").pk
    made = {"root": root, "schema": schema, "lineage": lineage, "reporter": reporter, "rows": 0}
    run(made, CROWD)
    return made


def run(made: dict[str, Any], statements: tuple[str, ...], last: int = 0) -> None:
    from tests import bulk

    values = {
        "people": PEOPLE,
        "realm": made["root"].realm_id,
        "root": made["root"].id,
        "schema": made["schema"].id,
        "lineage": made["lineage"],
        "reporter": made["reporter"],
        "first": made["rows"],
        "last": last,
    }
    bulk.run([statement.format(**values).replace("%%", "%") for statement in statements])
    made["rows"] = last


def timed(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def measured(act: Callable[[], object]) -> float:
    act()
    return median(timed(act) for _ in range(ROUNDS)) * 1000


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def review_of(made: dict[str, Any], name: str) -> Any:
    from accounts import people
    from policies.authority import Actor
    from policies.reviews import start as reviews_start
    from policies.reviews.campaign_plans import Plan, Scope, Stage

    plan = Plan(name, Scope((made["schema"],)), (Stage("owner"),), reasons="never", bulk=200, sample=0)
    return reviews_start.start(plan, by=Actor(people.ensure("user", "olivia"), "console"))


def questions(review: Any) -> dict[str, Callable[[], object]]:
    from accounts import people
    from policies.reviews import completion, consequences, pace_checks, worklist

    olivia = people.ensure("user", "olivia")
    first = worklist.page(review, olivia, limit=25)
    far = worklist.page(review, olivia, limit=2000, only="all").next

    return {
        "the first page": lambda: worklist.page(review, olivia),
        "a page far on": lambda: worklist.page(review, olivia, after=far, only="all"),
        "by person": lambda: worklist.page(review, olivia, view="person"),
        "by object": lambda: worklist.page(review, olivia, view="object"),
        "the effects of a page": lambda: consequences.of(review, first.rows),
        "all counts": lambda: worklist.counts(review, olivia),
        "what one owes": lambda: worklist.owing(olivia),
        "progress": lambda: worklist.progress(review),
        "pace": lambda: pace_checks.paces(review),
        "exceptions": lambda: completion.listed(review, limit=50),
    }


def queries(act: Callable[[], object]) -> int:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as caught:
        act()
    return len(caught)


def built(made: dict[str, Any], rows: int) -> tuple[Any, float, float]:
    """The review, milliseconds for a thousand rows, and how much the process grew, in megabytes."""
    from policies.reviews import population

    run(made, GRANTS, rows)
    review = review_of(made, f"{rows} rows")
    before = peak()
    seconds = timed(lambda: population.build(review))
    review.refresh_from_db()
    return review, seconds / review.counts["rows"] * 1e6, peak() - before


def decided(review: Any) -> tuple[float, float]:
    """Milliseconds to decide a row, two hundred at once, and to carry one out."""
    from accounts import people
    from policies.authority import Actor
    from policies.models import ReviewRow
    from policies.reviews import completion, management
    from policies.reviews import decisions as deciding
    from policies.reviews.decisions import Verdict

    by = Actor(people.ensure("user", "olivia"), "console")
    rows = list(ReviewRow.objects.filter(review=review, kind="grant")[:200])
    verdicts = [Verdict(row.pk, row.version, "remove") for row in rows]
    deciding_ = timed(lambda: deciding.decide(review, verdicts, by=by)) / len(rows) * 1000
    management.end(review, by=by)
    carrying = timed(lambda: completion.work(review)) / len(rows) * 1000
    return deciding_, carrying


def main() -> int:
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    made = world()
    review, small_cost, _ = built(made, SMALL)
    small = {name: (measured(act), queries(act)) for name, act in questions(review).items()}
    review, cost, grown = built(made, many)
    message = f"{review.counts['rows']:,} rows: {cost:.0f} ms for 1,000"
    print(f"{message} ({small_cost:.0f} with {SMALL:,}), +{grown:.0f} MB")
    failed = cost > BUILD * small_cost or grown > MEMORY
    for name, act in questions(review).items():
        took, queries_ = measured(act), queries(act)
        before, asked_before = small[name]
        print(f"{name:24} {took:8.1f} ms  x{took / before:5.2f}  {queries_} queries")
        failed = failed or queries_ != asked_before
        # counting is proportional to what is counted; a page is not
        failed = failed or (name not in COUNTING and took > PAGES * before and took > 20)
    deciding, carrying = decided(review)
    print(f"a decision {deciding:.1f} ms, a removal carried out and proved {carrying:.1f} ms")
    return int(failed)


COUNTING = ("all counts", "what one owes", "progress", "exceptions", "by person")


def run_alone() -> int:
    from bench.servers import own_server

    with own_server():
        return main()


if __name__ == "__main__":
    sys.exit(run_alone())

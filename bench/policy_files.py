"""What a change would do, for 10,000 people on 10,000 tables; and a plan of a file of 100,000 lines.

python bench/policy_files.py
The role's change is worked out for classes of people on classes of objects, beside a decision for each pair.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

PEOPLE = TABLES = 10_000
TEAMS = 20
"""Each of the people holds the role of one of so many teams besides."""
LINES = 100_000
EACH = 20_000
"""So many pairs are decided one by one; the rest would take as long each."""
CHANGE_LIMIT, PLAN_LIMIT = 10.0, 30.0  # seconds


def main() -> int:
    from authzsite import embedded

    with tempfile.TemporaryDirectory(prefix="lakewarden-bench-") as folder:
        server = embedded.PostgreSQL(Path(folder) / "pg", durable=False)
        server.start()
        try:
            os.environ |= {"DATABASE_URL": server.url(), "LAKEWARDEN_VAR": folder}
            return _measure()
        finally:
            server.stop()


def _measure() -> int:
    import django

    django.setup()
    from bench.worlds import Size, build

    root = build(Size(TABLES, 100, 1_500))
    changed, planned = _role_change(root), _plan(root)
    good = changed < CHANGE_LIMIT and planned < PLAN_LIMIT
    print("ok" if good else f"TOO SLOW: {CHANGE_LIMIT:.0f} s and {PLAN_LIMIT:.0f} s are the limits")
    return 0 if good else 1


def _role_change(root: Any) -> float:
    """Seconds to count who loses what when the role that everybody holds no longer gives reading."""
    from django.utils import timezone

    from accounts.models import Principal
    from bench.worlds import _PRINCIPALS
    from catalog.models import Placement
    from catalog.nodes import nodes
    from lakewarden.law import engine
    from policies.models import Assignment
    from policies.services import roles
    from policies.services.roles import Privilege
    from policies.simulation.changes import RemoveFromRole, Target
    from policies.simulation.difference import Difference
    from policies.simulation.simulation import Simulation
    from tests import bulk
    from tests.factories import AUTHORITY, BY

    role = roles.create(root, "everybody", by=BY, authority=AUTHORITY)
    codes = [Privilege(code, "allow") for code in ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE")]
    roles.add_privileges(role, root, codes, by=BY, authority=AUTHORITY)
    bulk.run([_PRINCIPALS.format(realm=root.realm_id, kind="user", many=PEOPLE, prefix="p")])
    people = list(Principal.objects.filter(kind="user", name__startswith="p0").order_by("pk"))
    teams = [roles.create(root, f"team{number:02}", by=BY, authority=AUTHORITY) for number in range(TEAMS)]
    held = [(role, person) for person in people]
    held += [(teams[number % TEAMS], person) for number, person in enumerate(people)]
    bulk.put([Assignment(role_id=given.id, holder=person) for given, person in held], 1)
    change = RemoveFromRole(role, Target(root), ("SELECT_TABLE",))
    started = time.perf_counter()
    simulation = Simulation(root, [change], at=timezone.now())
    totals = Difference(simulation).totals
    took = time.perf_counter() - started
    print(
        f"{totals.pairs_losing:,} pairs of {totals.people_losing:,} people and {totals.objects_losing:,}"
        f" objects lose something: counted in {took:.1f} s, {len(simulation.alike):,} classes of people"
    )
    keys = Placement.objects.open().filter(type="table").values_list("securable", flat=True)[:100]
    tables = list(nodes(keys).values())
    some = [simulation.of_person[person.pk] for person in people[: EACH // len(tables)]]
    started, moment = time.perf_counter(), simulation.at.timestamp()
    for alike, table in product(some, tables):
        engine.abilities(alike.before, table.levels, now=moment)
        engine.abilities(alike.after, table.levels, now=moment)
    each = (time.perf_counter() - started) / (len(some) * len(tables))
    print(
        f"one by one, without reading any facts: {each * 1e6:.0f} us a pair,"
        f" {each * PEOPLE * TABLES:,.0f} s for all of them"
    )
    return took


def _plan(root: Any) -> float:
    """Seconds to plan a file as long as that, half of which is so already."""
    from policies.policy_files import document
    from policies.policy_files.plan import Plan
    from policies.policy_files.statements import of_realm

    text = document.write(root, of_realm(root))
    lines = text.splitlines()
    text = "\n".join(lines)
    extra: list[str] = []
    number = 0
    while len(lines) + len(extra) < LINES:
        extra += [f"  extra{number:06}:", "    allows:", "      metalake:", "        - USE_CATALOG"]
        number += 1
    head, _, tail = text.partition("\nroles:\n")
    text = f"{head}\nroles:\n" + "\n".join(extra) + f"\n{tail}\n"
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    plan = Plan(root, document.read(text))
    digest, took = plan.digest, time.perf_counter() - started
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(
        f"a file of {text.count(chr(10)):,} lines: {len(plan.steps):,} steps planned in {took:.1f} s,"
        f" {grown:,.0f} MB more at the most ({digest[:8]})"
    )
    return took


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    sys.exit(main())

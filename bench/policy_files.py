"""What a change would do, for 10,000 people on 10,000 tables; a plan of 100,000 lines, and drift.

python bench/policy_files.py
The role's change is worked out for classes of people on classes of objects, beside a decision for each pair;
once where people of a team hold the same, and once where many hold what nobody else does, so that it is a
worker's.
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
DIFFERENT = 5_000
"""So many of the people hold roles that nobody else holds together."""
CHECKED = 20
"""On so many objects everybody is decided on one by one, to hold against what the worker found."""
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
    _drift(root)
    _worker(root)
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
    started, processor = time.perf_counter(), time.process_time()
    simulation = Simulation(root, [change], at=timezone.now())
    totals = Difference(simulation).totals
    took, processor = time.perf_counter() - started, time.process_time() - processor
    print(
        f"{totals.pairs_losing:,} pairs of {totals.people_losing:,} people and {totals.objects_losing:,}"
        f" objects lose something: counted in {took:.1f} s, {processor:.1f} s of the"
        f" processor, {len(simulation.alike):,} classes of people"
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


def _worker(root: Any) -> None:
    """The same role's change where many people hold roles that nobody else holds together."""
    from django.utils import timezone

    from accounts import people
    from accounts.models import Principal
    from catalog.models import Placement
    from policies.calculations import asking, working
    from policies.models import Assignment, Calculation
    from policies.simulation.changes import RemoveFromRole, Target
    from policies.simulation.difference import Difference, TooLarge
    from policies.simulation.simulation import Simulation
    from tests import bulk
    from tests.factories import the

    placed = {row.name: row.securable_id for row in Placement.objects.open().filter(type="role")}
    roles = [number for name, number in sorted(placed.items()) if name.startswith("role0")][:14]
    persons = Principal.objects.filter(kind="user", name__startswith="p0").order_by("pk")[:DIFFERENT]
    some = list(enumerate(persons, start=1))
    held = [(role, who) for at, who in some for bit, role in enumerate(roles) if at >> bit & 1]
    bulk.put([Assignment(role_id=role, holder=who) for role, who in held], 1)
    change = RemoveFromRole(the("role", "everybody"), Target(root), ("SELECT_TABLE",))
    effect = asking.LargeEffect(root, [change], at=timezone.now())
    simulation = Simulation(root, [change], at=effect.at)
    difference = Difference(simulation)
    try:
        print(difference.totals, "was no large effect")
        return
    except TooLarge:
        row = asking.ask(effect, by=people.ensure("user", "marek"))
    started = time.perf_counter(), time.process_time()
    working.run_waiting()
    clock, processor = time.perf_counter() - started[0], time.process_time() - started[1]
    row = Calculation.objects.get(pk=row.pk)
    assert row.result is not None, row.trouble
    print(
        f"{DIFFERENT:,} of them alike with nobody: {row.total:,} decisions by a worker in {clock:.0f} s,"
        f" {processor:.0f} s of its processor; {row.result['totals']['pairs_losing']:,} pairs lose something"
    )
    exact = Difference(simulation, progress=lambda *_: None)
    print("ok" if _is_exact(exact, row.result["totals"]) else "WRONG")


def _is_exact(found: Any, totals: dict[str, int]) -> bool:
    """Whether some objects have just the effects that each person's own decision says, and the sums hold."""
    from dataclasses import asdict

    from catalog.nodes import nodes
    from lakewarden.law import engine

    simulation, lost = found.simulation, dict[int, int]()
    for effect in found._effects:
        for key in effect.objects:
            lost[key] = lost.get(key, 0) + (len(effect.people) if effect.loses else 0)
    moment, keys = simulation.at.timestamp(), sorted(found.objects)
    for node in nodes(keys[:: max(len(keys) // CHECKED, 1)]).values():
        alone = sum(
            len(alike.people)
            for alike in simulation.alike
            if engine.abilities(alike.before, node.levels, now=moment)
            - engine.abilities(alike.after, node.levels, now=moment)
        )
        if alone != lost.get(node.id, 0):
            return False
    return asdict(found.totals) == totals and sum(lost.values()) == totals["pairs_losing"]


def _drift(root: Any) -> None:
    """Say what differs from a file of the whole realm, with a role in it that 10,000 people hold."""
    from accounts.models import Principal
    from policies.authority import OPERATOR
    from policies.policy_files import document, drift
    from policies.policy_files.applying import apply
    from policies.policy_files.plan import Plan
    from policies.policy_files.statements import of_realm
    from policies.services import roles
    from tests.factories import AUTHORITY, BY, the

    text = document.write(root, of_realm(root))
    file = document.read(text)
    apply(root, file, seen=Plan(root, file).digest, by=OPERATOR)
    everybody = the("role", "everybody")
    for person in Principal.objects.filter(kind="user", name__startswith="p0").order_by("pk")[:100]:
        roles.unassign(everybody, person, by=BY, authority=AUTHORITY)
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    [found] = drift.of_root(root)
    parts, took = found.parts(500), time.perf_counter() - started
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(
        f"a file of {text.count(chr(10)):,} lines, {len(found.lines)} of which differ: told in {took:.1f} s,"
        f" {grown:,.0f} MB more at the most; of {len(found.sections):,} letters to paste a page shows"
        f" {len(parts.whole) + len(parts.put_in) + len(parts.take_out):,}"
    )


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
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, processor = time.perf_counter(), time.process_time()
    plan = Plan(root, document.read(text))
    digest, took = plan.digest, time.perf_counter() - started
    processor = time.process_time() - processor
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(
        f"a file of {text.count(chr(10)):,} lines: {len(plan.steps):,} steps planned in {took:.1f} s,"
        f" {processor:.1f} s of the processor,"
        f" {grown:,.0f} MB more at the most ({digest[:8]})"
    )
    return took


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    sys.exit(main())

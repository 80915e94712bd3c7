"""How expensive a filtered list is: the tables of a schema of 10,000, beside the same list unfiltered.

python bench/lists.py
Real PostgreSQL, the two kinds in turn, in one run; for a reader of all, of all but some, and of a few.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

LIMIT = 1.3
TABLES, ROUNDS = 10_000, 40


def world() -> Any:
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    from tests.factories import a_metalake, a_person, a_role, admit, under

    root = a_metalake()
    [shop] = under(root, "catalog", "shop")
    [sales] = under(shop, "schema", "sales")
    under(sales, "table", *(f"t{number:05}" for number in range(TABLES)))
    for name in ("all", "most", "few"):
        a_person(name)
    admit(root, "all", "most", "few")
    way = ("allow USE_CATALOG on catalog shop", "allow USE_SCHEMA on schema shop.sales")
    whole = "allow SELECT_TABLE on schema shop.sales"
    some = [f"shop.sales.t{number:05}" for number in range(0, TABLES, 50)]
    a_role(root, "all", *way, whole, held_by=("all",))
    a_role(
        root, "most", *way, whole, *(f"deny SELECT_TABLE on table {item}" for item in some), held_by=("most",)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # as the database does by itself a minute after such a load
    a_role(root, "few", *way, *(f"allow SELECT_TABLE on table {item}" for item in some), held_by=("few",))
    return sales


def lists(sales: Any) -> dict[str, Callable[[], int]]:
    from accounts import people
    from catalog.queries import below
    from policies.decisions import slices
    from policies.decisions.lookups import visible_objects

    def unfiltered() -> int:
        return len(below(sales, "table").values_list("securable", "name"))

    def filtered(name: str) -> Callable[[], int]:
        person = people.ensure("user", name)

        def run() -> int:
            slice_ = slices.current(person, sales)
            return len(visible_objects.children(slice_, sales, "table").values_list("securable", "name"))

        return run

    return {"unfiltered": unfiltered} | {
        f"reader of {name}": filtered(name) for name in ("all", "most", "few")
    }


def measure(sales: Any) -> bool:
    runs = lists(sales)
    times: dict[str, list[float]] = {name: [] for name in runs}
    lengths = {name: run() for name, run in runs.items()}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            started = time.perf_counter()
            run()
            times[name].append((time.perf_counter() - started) * 1000)
    floor = median(times["unfiltered"])
    for name, each in times.items():
        ratio = median(each) / floor
        print(f"{name:18}{lengths[name]:7} rows{median(each):8.2f} ms p50{ratio:7.2f} times unfiltered")
    good = all(median(each) <= LIMIT * floor for each in times.values())
    print(f"{'ok' if good else 'TOO SLOW'}: a filtered list may take {LIMIT} times the unfiltered one")
    return good


def main() -> int:
    from bench.servers import own_server

    with own_server():
        return 0 if measure(world()) else 1


if __name__ == "__main__":
    sys.exit(main())

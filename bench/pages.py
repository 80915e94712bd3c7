"""How long pages take on a site of 100,000 tables and 10,000 people, beside the same page on a small one.

python bench/pages.py [S|M|L]
Real PostgreSQL, one process, no network; printed for a look, nothing fails by it.  With a size it is the
world of `bench/worlds`, where hardly two people hold the same, and times of the processor and the database.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

ROUNDS = 5
ADDRESSES = {
    "home": "/",
    "a metalake": "/catalog/{root}",
    "a schema": "/catalog/{schema}",
    "a schema of 95,000": "/catalog/{flat}",
    "the same, filtered": "/catalog/{flat}?q=return",
    "a page of its tree": "/catalog/{flat}/nodes",
    "who has access": "/objects/{table}",
    "its rules": "/objects/{table}/rules",
    "a grant to a group of all": "/objects/{table}/grant?who=group:staff&who=group:everybody",
    "search, many hits": "/search?q=return",
    "search, one hit": "/search?q=refund_keys",
    "palette": "/search/found?q=ret",
    "palette, one letter": "/search/found?q=r",
    "people": "/people",
    "roles": "/roles",
    "history": "/history",
}


def times(root: Any) -> dict[str, float]:
    from django.test import Client

    from accounts.people import make_account
    from catalog.queries import find
    from lakewarden.law.objects import ObjectRef
    from tests.factories import the

    client = Client()
    client.force_login(make_account("marek"), backend="django.contrib.auth.backends.ModelBackend")
    flat = find(ObjectRef("schema", "demo", ("shop", "raw_events"))) or the("schema", "shop.sales")
    numbers = {
        "root": root.id,
        "schema": the("schema", "shop.sales").id,
        "flat": flat.id,
        "table": the("table", "shop.sales.orders").id,
    }
    return {name: _took(client, address.format(**numbers)) for name, address in ADDRESSES.items()}


def _took(client: Any, address: str) -> float:
    each = []
    for _ in range(ROUNDS + 1):
        started = time.perf_counter()
        answer = client.get(address)
        each.append((time.perf_counter() - started) * 1000)
        assert answer.status_code == 200, address
    return median(each[1:])


IN_A_WORLD = {
    "home": "/",
    "owners": "/owners",
    "a metalake, who has access": "/objects/{root}",
    "a catalog that all may use": "/objects/{catalog}",
    "a table, who has access": "/objects/{table}",
    "its rules": "/objects/{table}/rules",
    "the same as CSV": "/objects/{table}/access.csv",
    "palette": "/search/found?q=t000",
}


def measure_world(size: str) -> None:
    """The pages of the realm's owner, who may look at everything."""
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from accounts.people import make_account
    from bench.worlds import SIZES, build
    from catalog.models import Placement

    root = build(SIZES[size])
    first = {type: Placement.objects.filter(type=type).earliest("pk") for type in ("catalog", "table")}
    numbers = {"root": root.id, **{type: row.securable_id for type, row in first.items()}}
    client = Client()
    client.force_login(make_account("marek"), backend="django.contrib.auth.backends.ModelBackend")
    for name, address in IN_A_WORLD.items():
        _weight(client.get(address.format(**numbers)))
        with CaptureQueriesContext(connection) as queries:
            started = time.process_time()
            kilobytes = _weight(client.get(address.format(**numbers)))
            took = (time.process_time() - started) * 1000
        sql = sum(float(query["time"]) for query in queries.captured_queries) * 1000
        print(f"{name:28}{took:8.0f} ms {sql:8.0f} ms SQL {len(queries):4} queries {kilobytes:8.0f} kB")


def _weight(answer: Any) -> float:
    assert answer.status_code == 200, answer.request["PATH_INFO"]
    return len(b"".join(answer.streaming_content) if answer.streaming else answer.content) / 1000


def measure() -> None:
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    from authzsite import wsgi  # noqa: F401 - looks for cycles as seldom as a web process

    settings.ALLOWED_HOSTS = ["*"]
    if len(sys.argv) > 1:
        measure_world(sys.argv[1])
        return
    call_command("migrate", verbosity=0)
    from tests.console.conftest import make_shop
    from tests.console.large import fill

    root = make_shop()
    small = times(root)
    fill(root)
    large = times(root)
    for name, took in large.items():
        print(f"{name:28}{small[name]:8.0f} ms small {took:8.0f} ms large")


def main() -> int:
    from bench.servers import own_server

    with own_server():
        measure()
    return 0


if __name__ == "__main__":
    sys.exit(main())

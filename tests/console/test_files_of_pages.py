"""The tables of the rooms as files: emergencies, rules of separation, reviews, runs, a Herd, a CDAP."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import people
from catalog.nodes import Node
from policies.analytics.pipelines import control
from policies.models import AccessRecord, Backend, BackendFinding, Emergency, SyncRun
from policies.sync.differences.findings import VANISHED
from tests.console.cdap import test_who_may
from tests.console.herd import test_who_may as herd_test_who_may
from tests.console.reviews import test_who_may as reviews_test_who_may
from tests.console.test_files import lines
from tests.console.test_who_may import a_rule, an_emergency
from tests.factories import acting, the
from tests.herd.world import give, namespaces, the_herd
from tests.policies.conftest import make_shop

Enter = Callable[[str], Client]


def a_watched_shop() -> dict[str, int]:
    """Eve broke the glass, which waits for its review; two roles are kept apart; a pipeline was asked for."""
    shop = make_shop()
    people.make_account("marek")
    now = timezone.now()
    times = {"opened": now - timedelta(hours=2), "until": now - timedelta(hours=1)}
    Emergency.objects.filter(pk=an_emergency()).update(**times)
    control.ask("effective_access", shop, by=acting("marek"))
    return {"realm": shop.id, "rule": a_rule(shop), "backend": a_backend(shop).pk}


def a_backend(shop: Node) -> Backend:
    """One that was compared twice, and no longer has the orders on which Mia can read."""
    row = Backend.objects.create(realm_id=shop.realm_id, catalog_id=the("catalog", "shop").id, kind="ranger")
    now = timezone.now()
    ended: dict[str, Any] = {"started": now, "ended": now, "revision": 5}
    SyncRun.objects.create(backend=row, state="failed", errors=["=refused"], total=4, done=1, **ended)
    SyncRun.objects.create(backend=row, state="proved", **ended)
    BackendFinding.objects.create(
        backend=row, kind="unknown", what=VANISHED, place="sales", first_seen=now, last_seen=now,
        securable_id=the("schema", "shop.sales").id,
    )  # fmt: skip
    return row


WORLDS: dict[str, Callable[[], dict[str, int]]] = {
    "shop": a_watched_shop,
    "review": reviews_test_who_may.make_numbers,
    "herd": herd_test_who_may.make_numbers,
    "cdap": test_who_may.make_numbers,
}
FILES = {
    "shop": (
        (
            "marek",
            "/emergency.csv",
            "who, object, why, state",
            ["user:eve | demo/shop.sales | The nightly load stopped | Waits for its review"],
        ),
        ("eve", "/emergency.csv", "object, type, state", ["demo/shop.sales | schema | Waits for its review"]),
        ("mia", "/emergency.csv", "", []),
        (
            "marek",
            "/realms/{realm}/separation.csv",
            "",
            ["Apart | Role browse | Role no_contractors | 1 | 0"],
        ),
        ("olivia", "/realms/{realm}/separation.csv", "rule, conflicts, exceptions", ["Apart |  | "]),
        (
            "marek",
            "/separation/{rule}/conflicts.csv",
            "rule, who, the one by, the other by, let until",
            ["Apart | user:carl | Group staff > Role browse | Role no_contractors | "],
        ),
        (
            "marek",
            "/pipelines/runs.csv",
            "pipeline, over, by, state",
            ["Effective access | demo | Marek Malik | Waiting"],
        ),
        ("mia", "/pipelines/runs.csv", "", []),
        (
            "marek",
            "/sync/{backend}/runs.csv",
            "state, revision, steps, done, errors",
            ["Proved | 5 | 0 | 0 | ", "Failed | 5 | 4 | 1 | '=refused"],
        ),
        ("marek", "/sync/{backend}/runs.csv?s=wrong", "state", ["Failed"]),
        (
            "marek",
            "/sync/{backend}/vanished.csv",
            "object, type, grants on it, objects in it",
            ["demo/shop.sales | schema | 6 | 4"],
        ),
    ),
    "review": (
        (
            "olivia",
            "/reviews.csv",
            "title, started by, state, wait for you",
            ["Sales data | user:marek | open | 5"],
        ),
        ("zoe", "/reviews.csv", "", []),
    ),
    "herd": (
        ("zoe", "/herds/{herd}/namespaces.csv?q=sal", "", ["SALES | user:olivia | Nothing"]),
        ("zoe", "/herds/{herd}/namespaces.csv?s=lacking", "", []),
        ("mia", "/herds/{herd}/mine.csv", "", ["SALES | Read and Grant | By your own entry"]),
        (
            "zoe",
            "/herds/{herd}/roles.csv",
            "role, holder, looks after",
            ["DATA_OWNER | user:noah | ", "DATA_OWNER | user:olivia | SALES"],
        ),
        ("olivia", "/herds/{herd}/users.csv?id=carl", "user id, namespace, may", ["carl | SALES | Read"]),
        (
            "noah",
            "/namespaces/{namespace}/entries.csv?q=mi",
            "namespace, holder, READ, WRITE, GRANT",
            ["SALES | user:mia | yes |  | yes"],
        ),
    ),
    "cdap": (
        (
            "rita",
            "/instances/{realm}/names.csv",
            "name, holder, may, matches now, matched when given",
            ["dataset:ns1.* | user:hana | Read | 1 | 1"],
        ),
        ("zoe", "/instances/{realm}/names.csv", "", []),
        ("rita", "/instances/{realm}/names.csv?s=lost", "", []),
        (
            "hana",
            "/instances/{realm}/entities.csv?in=namespace:ns1&q=ord",
            "",
            ["dataset:ns1.orders | dataset | Read"],
        ),
        ("zoe", "/instances/{realm}/entities.csv", "", []),
    ),
}
"""Who asks, for what, which columns are looked at, and the rows."""


@pytest.mark.parametrize("world", FILES)
def test_a_file_holds_the_rows_of_its_page(world: str, db: None, signed_in: Enter) -> None:
    numbers, wrong = WORLDS[world](), {}
    for who, address, columns, rows in FILES[world]:
        head, *file_rows = lines(signed_in(who), address.format(**numbers))
        places = [head.index(item) for item in columns.split(", ")] if columns else range(len(head))
        cells = [" | ".join(line[place] for place in places) for line in file_rows]
        if cells != rows:
            wrong[who, address] = cells
    assert not wrong


def test_looks_at_others_are_recorded(db: None, signed_in: Enter) -> None:
    numbers = a_watched_shop()
    marek = signed_in("marek")
    for address in ("/separation/{rule}/conflicts.csv", "/sync/{backend}/vanished.csv"):
        lines(marek, address.format(**numbers))
    looked = AccessRecord.objects.filter(kind="looked").order_by("pk").values_list("operation", flat=True)
    assert list(looked)[-2:] == ["conflicts with rules of separation", "what is gone as a file"]


def test_more_rows_take_no_more_queries(db: None, signed_in: Enter) -> None:
    numbers = herd_test_who_may.make_numbers()
    olivia = signed_in("olivia")
    addresses = [
        item.format(**numbers) for item in ("/herds/{herd}/namespaces.csv", "/herds/{herd}/roles.csv")
    ]
    addresses.append("/namespaces/{namespace}/entries.csv".format(**numbers))

    def asked() -> list[int]:
        counts = []
        for address in addresses:
            with CaptureQueriesContext(connection) as queries:
                lines(olivia, address)
            counts.append(len(queries))
        return counts

    before = [asked(), asked()][-1]
    namespaces(the_herd(), *(f"MORE_{at}" for at in range(20)))
    for at in range(20):
        give(f"p{at}", "SALES", "READ")
    asked()
    assert asked() == before

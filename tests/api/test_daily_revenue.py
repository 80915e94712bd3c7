"""The demo's Spark job, run as it is: refused before it reads anything, then served, then refused again."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings

from accounts import people
from authzsite import embedded
from authzsite.demo import shop as demo_shop
from authzsite.demo import world
from catalog.nodes import Node, node
from policies.decisions import slices
from policies.models import Backend
from policies.services import grants
from policies.services.grants import GrantRequest
from policies.sync.connections.opening import open_backend
from policies.sync.discovery.objects import discover
from policies.sync.reconcile import reconcile
from tests.api.world import BY, token
from tests.factories import acting, the

JOB = Path(settings.BASE_DIR) / "examples" / "daily_revenue.py"
NEWEST = """
    SELECT ordered_at::date, label, sum(total)::text, count(*)
      FROM sales.orders JOIN sales.channels USING (channel_code)
     WHERE status NOT IN ('returned', 'cancelled') GROUP BY 1, 2 ORDER BY 1 DESC, 2 LIMIT 10
"""


class Demo:
    """The demo as `manage.py demo` makes it, on a server of its own, and the job in it."""

    def __init__(self, console: str, shop: demo_shop.ShopInfo) -> None:
        self.console, self.shop = console, shop
        slices.forget_all()
        world.accounts({})
        self.backend = world.connection(world.realm(), shop.url_for())
        source = open_backend(self.backend, self.catalog)
        discover(self.catalog, source.observe(), **BY)
        source.close()
        world.access(the("metalake"))
        self.push()

    @property
    def catalog(self) -> Node:
        catalog_node = node(self.backend.catalog_id)
        assert catalog_node is not None
        return catalog_node

    def push(self) -> None:
        reconcile(Backend.objects.get(pk=self.backend.pk))

    def run(self, person: str, *, shop: str | None = None) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "LAKEWARDEN_URL": self.console,
            "LAKEWARDEN_TOKEN": token("user", person, "check"),
            "SHOP_URL": shop or self.shop.url_for(person),
            "SPARK_MASTER": "local[1]",
        }
        return subprocess.run(
            [sys.executable, str(JOB), "--as", person],
            env=environment,
            capture_output=True,
            text=True,
            timeout=500,
        )


@pytest.fixture
def demo(transactional_db: None, live_server: Any, tmp_path: Path) -> Iterator[Demo]:
    server = embedded.PostgreSQL(tmp_path / "shop", version=demo_shop.VERSION, passwords=True, durable=False)
    try:
        yield Demo(live_server.url, demo_shop.ensure(tmp_path, on=server))
    finally:
        server.stop()


def rows(output: str) -> list[tuple[str, ...]]:
    lines = [line for line in output.splitlines() if line.startswith("|")][1:]
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]


def newest(url: str) -> list[tuple[str, ...]]:
    with psycopg.connect(url, options="-c timezone=UTC") as connection:
        return [tuple(map(str, row)) for row in connection.execute(NEWEST)]


@pytest.mark.spark
@pytest.mark.timeout(1200)
@pytest.mark.seed("S4-002")
def test_the_job_reads_what_was_granted_and_nothing_before_or_after(demo: Demo, java: str) -> None:
    orders, ana, olivia = the("table", "shop.sales.orders"), people.ensure("user", "ana"), acting("olivia")

    before = demo.run("ana", shop="postgresql://nobody@127.0.0.1:9/none")
    assert before.returncode == 1
    assert before.stdout == ""
    asking, *refusal = before.stderr.splitlines()
    assert asking.endswith(" s] asking the console whether user:ana may read sales.orders and sales.channels")
    assert refusal == [
        "access denied: 1 of 2 refused, nothing was read",
        "  user:ana may not read table demo/shop.sales.orders",
        "    lacks SELECT_TABLE on table demo/shop.sales.orders (owner: user:olivia)",
        f"    request access: {demo.console}/requests/new"
        "?resource=demo%2Fshop.sales.orders&type=table&action=read&for=user%3Aana",
    ]

    grants.add(GrantRequest(orders, (ana,), ("SELECT_TABLE",)), by=olivia, reason="for the daily revenue")
    demo.push()
    served = demo.run("ana")
    assert served.returncode == 0, served.stderr[-3000:]
    assert rows(served.stdout) == newest(demo.shop.superuser_url)
    assert [line.partition("] ")[2] for line in served.stderr.splitlines() if line.startswith("[")] == [
        "asking the console whether user:ana may read sales.orders and sales.channels",
        "starting Spark",
        "reading sales.orders from the shop's database",
        "reading sales.channels from the shop's database",
        "adding up the revenue",
    ]

    grants.remove(orders, [ana], ["SELECT_TABLE"], by=olivia)
    demo.push()
    assert demo.run("ana").returncode == 1
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        newest(demo.shop.url_for("ana"))


def test_every_lack_of_every_table_is_named_at_once(demo: Demo) -> None:
    refused = demo.run("carl")
    assert refused.returncode == 1
    assert "access denied: 2 of 2 refused" in refused.stderr
    assert refused.stderr.count("is denied SELECT_TABLE on schema demo/shop.sales (owner: user:olivia)") == 2


def test_without_a_console_nothing_is_read(demo: Demo) -> None:
    demo.console = "http://127.0.0.1:9"
    silent = demo.run("mia")
    assert silent.returncode == 2
    assert silent.stdout == ""
    assert "no decision, so nothing is read" in silent.stderr

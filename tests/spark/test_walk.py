"""docs/spark.md as a newcomer follows it: refused with all lacks at once, granted, served, seen as used."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("django", reason="the console is not in this environment")

from django.conf import settings

from accounts import people
from authzsite.demo import lake, world
from authzsite.demo import shop as demo_shop
from policies.analytics import uses
from policies.decisions import slices
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.api.world import token
from tests.factories import acting, the
from tests.spark.conftest import QUICK

ROOT = Path(settings.BASE_DIR)
JOB = ROOT / "examples" / "guarded_revenue.py"
DOCUMENT = (ROOT / "docs" / "spark.md").read_text()


@pytest.fixture
def demo(transactional_db: None, demo_shop: demo_shop.ShopInfo, tmp_path: Path) -> Iterator[Path]:
    slices.forget_all()
    world.accounts({})
    place = world.realm()
    world.access(place)
    lake.ensure(place, tmp_path, demo_shop.superuser_url)
    yield tmp_path / lake.CATALOG


def run(console: str, lake_folder: Path, spool: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "LAKEWARDEN_URL": console,
        "LAKEWARDEN_TOKEN": token("user", "ana", "check", "report"),
        "LAKEWARDEN_SPOOL": str(spool),
        "LAKE": str(lake_folder),
        "SPARK_MASTER": "local[1]",
        "JDK_JAVA_OPTIONS": QUICK,
    }
    return subprocess.run(
        [sys.executable, str(JOB)], env=environment, cwd=spool, capture_output=True, text=True, timeout=500
    )


@pytest.mark.spark
@pytest.mark.timeout(1200)
@pytest.mark.seed("S4-002")
def test_the_walk(demo: Path, live_server: Any, java: str, tmp_path: Path) -> None:
    refused = run(live_server.url, demo, tmp_path)
    assert refused.returncode == 1
    assert refused.stdout == ""
    message = refused.stderr[refused.stderr.index("access denied") :]
    assert message.replace(live_server.url, "http://127.0.0.1:8000") in DOCUMENT

    orders, customers = the("table", "lake.sales.orders"), the("table", "lake.sales.customers")
    for table in (orders, customers):
        grants.add(
            GrantRequest(table, (people.ensure("user", "ana"),), ("SELECT_TABLE",)),
            by=acting("olivia"),
            reason="",
        )
    assert uses.last_use(orders) is None

    served = run(live_server.url, demo, tmp_path)
    assert served.returncode == 0, served.stderr[-3000:]
    assert served.stdout.strip() in DOCUMENT
    for table in (orders, customers):
        last = uses.last_use(table)
        assert last is not None
        assert (str(last.principal), last.action) == ("user:ana", "read")

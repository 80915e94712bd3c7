"""The whole life of a request: a Spark job is refused, its link asks, two owners decide, and it runs."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("django", reason="the console is not in this environment")

from accounts import people
from policies.models import AccessRequest, Grant, RequestPart
from policies.services import owners, roles
from policies.services.roles import Privilege
from tests.console.conftest import NAMES, PASSWORD
from tests.console.test_browser import sign_in
from tests.factories import AUTHORITY, BY, a_role, an_account, the
from tests.spark.test_walk import demo, run

__all__ = ["demo"]  # a fixture
PICTURES = os.environ.get("LAKEWARDEN_PICTURES", "")


@pytest.fixture
def apart(demo: Path) -> Path:
    """Olivia owns the tables, Marek the schema that Ana cannot even use; all sign in with a password."""
    sales = the("schema", "lake.sales")
    for table in ("orders", "customers"):
        node, olivia = the("table", f"lake.sales.{table}"), people.ensure("user", "olivia")
        owners.set_owner(node, olivia, by=BY, authority=AUTHORITY)
    owners.set_owner(sales, people.ensure("user", "marek"), by=BY, authority=AUTHORITY)
    for row in Grant.objects.open().filter(securable=sales.id, privilege="USE_SCHEMA", role__isnull=False):
        role = the("role", row.role.placements.get(closed__isnull=True).name)
        roles.remove_privileges(role, sales, [Privilege("USE_SCHEMA")], by=BY, authority=AUTHORITY)
    way = ("allow USE_CATALOG on catalog lake", "allow USE_SCHEMA on schema lake.sales")
    a_role(the("metalake"), "keepers", *way, held_by=("olivia",))
    for name in ("ana", "olivia", "marek"):
        an_account(name, display_name=NAMES[name], password=PASSWORD)
    return demo


class Desk:
    """One person's browser."""

    def __init__(self, chromium: Any, site: str, name: str) -> None:
        self.page = chromium.new_context(base_url=site, viewport={"width": 1280, "height": 900}).new_page()
        self.page.set_default_timeout(90_000)
        self.name = name
        sign_in(self.page, name)

    def shot(self, what: str) -> None:
        if PICTURES:
            self.page.screenshot(path=Path(PICTURES) / f"life-{what}.png", full_page=True)

    def ask(self, link: str, also: str) -> str:
        """Follow the job's own link, add a second table, send; answers the request's address."""
        self.page.goto(link)
        self.page.get_by_role("combobox", name="Add another object").fill(also)
        self.page.get_by_role("button", name="Add").click()
        self.page.get_by_text("Three decisions, requested at the same time").wait_for()
        self.page.get_by_label("Why").fill("Revenue by country for the board")
        self.shot("ask")
        self.page.get_by_role("button", name="Send the request").click()
        self.page.get_by_role("heading", name="You ask to read").wait_for()
        self.shot("asked")
        return str(self.page.url)

    def decide(self, button: str) -> None:
        """From Home, by what waits there."""
        self.page.goto("/")
        self.page.get_by_role("link", name="Decide requests").click()
        self.page.get_by_role("link", name="Decide request").click()
        self.page.get_by_role("heading", name="What an approval adds").wait_for()
        self.shot(f"decide-{self.name}")
        self.page.get_by_role("button", name=button).click()
        self.page.get_by_role("status").get_by_text("approved").wait_for()


@pytest.mark.spark
@pytest.mark.browser
@pytest.mark.timeout(900)
def test_from_a_refused_job_to_its_second_run(
    apart: Path, live_server: Any, chromium: Any, java: str, tmp_path: Path
) -> None:
    refused = run(live_server.url, apart, tmp_path)
    assert refused.returncode == 1
    assert "USE_SCHEMA on schema demo/lake.sales" in refused.stderr
    links = re.findall(r"request access: (http\S+)", refused.stderr)
    [link] = [item for item in links if "orders" in item]

    ana, olivia, marek = (Desk(chromium, live_server.url, name) for name in ("ana", "olivia", "marek"))
    address = ana.ask(link, "demo/lake.sales.customers")
    parts = RequestPart.objects.order_by("number")
    assert [(part.type, part.privileges) for part in parts] == [
        ("schema", ["USE_SCHEMA"]),
        ("table", ["SELECT_TABLE"]),
        ("table", ["SELECT_TABLE"]),
    ]

    olivia.decide("Approve 2 decisions")  # what Olivia owns, and no more
    assert AccessRequest.objects.get().state == "asked"
    marek.decide("Approve")

    ana.page.goto(address)
    assert "Granted" in ana.page.locator(".stateline").inner_text()
    ana.shot("given")
    assert AccessRequest.objects.get().state == "approved"
    served = run(live_server.url, apart, tmp_path)
    assert served.returncode == 0, served.stderr[-3000:]
    assert "revenue" in served.stdout

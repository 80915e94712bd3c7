"""An operator runs pipelines from the console, an owner takes back what nobody uses; headless Chromium."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from catalog.nodes import Node
from policies.analytics import hints
from policies.analytics.pipelines import effective_access, running
from policies.models import Hint, PipelineRun
from tests.console.insights.test_pages import run
from tests.console.screens import LOOKS, faults_of
from tests.console.test_browser import can_read, site, visit
from tests.factories import a_use, acting, the

__all__ = ["site", "visit"]
pytestmark = pytest.mark.browser
Visit = Callable[..., Any]
SPARK = pytest.param("spark", marks=(pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(900)))


def covered() -> Node:
    """A realm that reports of uses cover: Marek read orders forty days ago, and nobody else anything."""
    a_use("marek", the("table", "shop.sales.orders"), days=40, by="etl")
    return the("metalake")


@contextmanager
def worker() -> Iterator[None]:
    """Another process's hands: what waits is run beside the page that watches it."""

    def work() -> None:
        try:
            running.run_waiting()
        finally:
            connection.close()

    thread = Thread(target=work)
    thread.start()
    yield
    thread.join()


def ran_from(page: Any, label: str) -> None:
    """Started by the button, watched to its end."""
    page.goto("/pipelines")
    page.get_by_role("button", name=f"Start {label} of demo").click()
    page.get_by_text("% done").wait_for()
    with worker():
        page.locator("#going").get_by_text("Done", exact=True).wait_for(timeout=180_000)
    page.locator("#going").get_by_role("link", name="See what it found").click()


def pairs(page: Any) -> int:
    shown = page.locator(".tile", has_text="Pairs that can read").locator("b").inner_text()
    return int(shown.replace(",", ""))


@pytest.mark.parametrize("where", ["the database", SPARK])
def test_a_hint_is_followed_and_the_pair_is_gone_from_the_next_run(
    where: str, visit: Visit, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, var=tmp_path)
    settings.SPARK_MASTER = "local[2]"
    if where == "spark":
        monkeypatch.setattr(effective_access, "SMALL", -1)
    covered()
    marek = visit("marek")
    ran_from(marek, "Effective access")
    before = pairs(marek)
    ran_from(marek, "Least privilege")
    marek.get_by_text("checked at revision").first.wait_for()
    masters = set(PipelineRun.objects.values_list("master", flat=True))
    assert masters == {"local[2]" if where == "spark" else ""}

    assert can_read("mia")
    olivia = visit("olivia")
    olivia.goto("/")
    olivia.get_by_role("link", name="Open hints in demo").click()
    row = olivia.get_by_role("row").filter(has_text="Read tables, by role sales_read")
    assert "it gives Read to 2 people" in row.inner_text()
    row.get_by_role("link", name="Revoke it").click()
    assert (
        "loses" in olivia.locator(".diff").first.inner_text()
        or "lose" in olivia.locator(".tally").inner_text()
    )
    assert can_read("mia")
    olivia.get_by_role("button", name="Revoke", exact=True).click()
    olivia.get_by_role("status").get_by_text("is revoked").wait_for()
    assert not can_read("mia")

    ran_from(marek, "Effective access")
    assert pairs(marek) < before
    ran_from(marek, "Least privilege")
    marek.get_by_text("checked at revision").first.wait_for()
    assert "Read tables, by role sales_read" not in marek.locator("main").inner_text()


def test_a_run_is_started_and_read_of_without_scripts(visit: Visit) -> None:
    covered()
    page = visit("marek", scripts=False)
    page.goto("/pipelines")
    page.get_by_role("button", name="Start Effective access of demo").click()
    page.get_by_text("% done").wait_for()
    running.run_waiting()
    page.get_by_role("link", name="Look again").click()
    page.get_by_role("link", name="See what it found").first.click()
    assert pairs(page) > 0


def rooms_with_something() -> tuple[str, ...]:
    root = covered()
    row = run(root, "effective_access")
    PipelineRun.objects.update(ended=timezone.now() - timedelta(days=3))
    run(root, "unused_grants")
    first, second = Hint.objects.filter(kind="unused_grant").order_by("pk")[:2]
    hints.dismiss(second.pk, by=acting("marek"), reason="Everybody starts here")
    PipelineRun.objects.create(
        name="effective_access",
        realm=row.realm,
        revision=row.revision + 9,
        by="system",
        asked=timezone.now(),
        ended=timezone.now(),
        state="done",
        result=row.result,
    )
    going = PipelineRun.objects.create(
        name="unused_grants",
        realm=row.realm,
        revision=row.revision + 9,
        by="system",
        asked=timezone.now(),
        state="running",
        started=timezone.now(),
        done=3,
        total=9,
    )
    failed = PipelineRun.objects.create(
        name="unused_grants",
        realm=row.realm,
        revision=row.revision + 8,
        by="operator",
        asked=timezone.now(),
        state="failed",
        trouble="the disk is full (3 MB free): /var/x",
    )
    return (
        *("/overview", f"/overview/{root.id}", "/hints", "/hints?show=dismissed", "/pipelines"),
        *(f"/pipelines/runs/{going.pk}", f"/pipelines/runs/{failed.pk}", f"/pipelines/runs/{row.pk}"),
        *(f"/hints/{first.pk}/mend", f"/hints/{first.pk}/dismiss"),
        *(f"/objects/{first.securable_id}", f"/roles/{first.role_id}"),
    )


@pytest.mark.slow
def test_every_room_is_accessible_and_fits(visit: Visit) -> None:
    assert not faults_of(visit("marek"), rooms_with_something(), LOOKS)

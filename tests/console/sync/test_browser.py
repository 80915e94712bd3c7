"""A grant made by hand in a real PostgreSQL, found on the board and decided there, in headless Chromium."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from policies import tasks
from policies.models import Backend
from policies.sync import worker
from tests.console.conftest import NAMES, PASSWORD
from tests.console.screens import LOOKS, faults_of
from tests.console.test_browser import EITHER_WAY, visit  # noqa: F401 -- a fixture
from tests.factories import an_account
from tests.sync.conftest import Source, make_governed

pytestmark = pytest.mark.browser
Visit = Callable[..., Any]


@pytest.fixture
def site(transactional_db: None, live_server: Any, source: Source) -> Iterator[str]:
    """Metalake demo over the database, settled once; everybody signs in with a password."""
    worker.deliver(make_governed(source))
    for name, display in NAMES.items():
        an_account(name, display_name=display, password=PASSWORD)
    yield str(live_server.url)


def on_the_board(page: Any, holder: str) -> Any:
    page.goto("/sync?s=foreign")
    return page.locator("[aria-labelledby=df] tr", has_text=holder).filter(has_text="sales.orders")


@EITHER_WAY
def test_a_grant_made_by_hand_is_revoked_on_the_board_with_the_proof_beside_it(
    scripts: bool,
    visit: Visit,  # noqa: F811
    source: Source,
) -> None:
    source.run("GRANT USAGE ON SCHEMA sales TO ana; GRANT SELECT ON sales.orders TO ana")
    assert source.reads("ana")
    tasks.look(Backend.objects.get().pk)  # what the beat asks for every minute
    page = visit("olivia", scripts=scripts)
    on_the_board(page, "ana").get_by_role("link", name="Revoke").click()
    page.get_by_role("heading", level=1, name="Revoke read on sales.orders from ana?").wait_for()
    page.get_by_label("Reason").fill("Nobody asked for it")
    page.get_by_role("button", name="Revoke read from ana").click()
    page.get_by_text("On its way").wait_for()
    tasks.deliver(Backend.objects.get().pk)
    assert not source.reads("ana")
    page.goto("/sync")
    decided = page.locator("tr", has_text="Revoked").filter(has_text="ana")
    assert "Olivia Owner" in decided.inner_text()
    assert "it is gone" in decided.inner_text()
    assert on_the_board(page, "ana").count() == 0


def test_a_grant_made_by_hand_is_adopted_on_the_board_and_nobody_is_cut_off(
    visit: Visit,  # noqa: F811
    source: Source,
) -> None:
    source.run("GRANT USAGE ON SCHEMA sales TO ana; GRANT SELECT ON sales.orders TO ana")
    tasks.look(Backend.objects.get().pk)
    page = visit("olivia")
    on_the_board(page, "ana").get_by_role("link", name="Adopt").click()
    page.get_by_role("button", name="Adopt read of ana").click()
    page.get_by_text("On its way").wait_for()
    tasks.deliver(Backend.objects.get().pk)
    assert source.reads("ana")
    page.goto("/sync")
    assert "replaced by our grant" in page.locator("tr", has_text="Adopted").inner_text()
    page.goto("/")
    page.get_by_role("searchbox").first.fill("orders")
    page.get_by_role("searchbox").first.press("Enter")
    page.get_by_role("link", name="orders", exact=True).click()
    page.get_by_role("main").get_by_text("Ana Analyst").first.wait_for()


@pytest.mark.slow
def test_the_rooms_of_sync_are_open_to_everybody(
    visit: Visit,  # noqa: F811
    source: Source,
) -> None:
    row = Backend.objects.get()
    run = row.runs.filter(applied__gt=0)[0].pk
    number = row.findings.filter(kind="foreign")[0].pk
    rooms = (
        "/sync",
        f"/sync/{row.pk}",
        f"/sync/{row.pk}/pause",
        f"/sync/{row.pk}/rate",
        f"/sync/{row.pk}/runs",
        f"/sync/{row.pk}/vanished",
        f"/sync/runs/{run}",
        f"/sync/findings/{number}/accept",
        f"/sync/findings/{number}/revoke",
    )
    assert not faults_of(visit("marek"), rooms, LOOKS)

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
from tests.console.test_walks import tab_to
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


def by_our_roles(source: Source, name: str, table: str) -> bool:
    """Whether roles of ours give it, as the database's own catalog has it."""
    [(can_read,)] = source.run(
        f"SELECT coalesce(bool_or(has_table_privilege(r.oid, 'sales.{table}', 'SELECT')), false)"
        " FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid"
        f" WHERE m.member = '{name}'::regrole AND r.rolname LIKE 'lw%'"
    )
    return bool(can_read)


def granted_by_hand(source: Source, name: str) -> int:
    """On how many tables somebody has reading without a role."""
    [(many,)] = source.run(
        "SELECT count(*) FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a"
        f" WHERE a.grantee = '{name}'::regrole AND a.privilege_type = 'SELECT'"
    )
    return int(many)


def test_several_grants_made_by_hand_are_adopted_together_by_keyboard(
    visit: Visit,  # noqa: F811
    source: Source,
) -> None:
    source.run("GRANT USAGE ON SCHEMA sales TO ana; GRANT SELECT ON sales.orders, sales.customers TO ana")
    tasks.look(Backend.objects.get().pk)
    page = visit("olivia")
    page.goto("/sync?s=foreign&q=ana&by=holder")
    for table in ("sales.customers", "sales.orders"):
        tab_to(page, page.get_by_label(f"Choose: ana may read {table}"))
        page.keyboard.press("Space")
    tab_to(page, page.get_by_role("button", name="Adopt chosen"))
    page.keyboard.press("Enter")
    page.get_by_role("heading", level=1, name="Adopt 2 grants of 1 holder?").wait_for()
    tab_to(page, page.get_by_role("button", name="Adopt 2 grants"))
    page.keyboard.press("Enter")
    page.get_by_text("2 grants adopted").first.wait_for()
    tasks.deliver(Backend.objects.get().pk)
    assert source.reads("ana")
    assert by_our_roles(source, "ana", "orders") and by_our_roles(source, "ana", "customers")
    assert granted_by_hand(source, "ana") == 0
    assert on_the_board(page, "ana").count() == 0


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

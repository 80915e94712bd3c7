"""From nothing to an adopted grant by the keyboard alone, over a real PostgreSQL: connect, try, read, grant,
find what somebody granted there by hand, adopt it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict

from policies import tasks
from policies.models import Backend
from policies.sync.actions import operations
from policies.sync.discovery import discoveries
from tests.console.conftest import NAMES, PASSWORD
from tests.console.test_browser import EITHER_WAY, visit  # noqa: F401 -- a fixture
from tests.console.test_walks import step
from tests.factories import BY, a_metalake, a_person, admit, an_account, the
from tests.sync.conftest import Source, source  # noqa: F401 -- a fixture

pytestmark = pytest.mark.browser


@pytest.fixture
def site(transactional_db: None, live_server: Any, source: Source) -> Iterator[str]:  # noqa: F811
    """A realm in which nothing is connected; Marek owns it, Ana is in it."""
    root = a_metalake()
    a_person("ana")
    admit(root, "ana")
    for name, display in NAMES.items():
        an_account(name, display_name=display, password=PASSWORD)
    yield str(live_server.url)


def connect(page: Any, source: Source) -> None:  # noqa: F811
    there = conninfo_to_dict(source.url())
    page.goto(f"/realms/{the('metalake').id}")
    for item in (
        ("link", "Connect a catalog"),
        ("link", "PostgreSQL"),
        ("textbox", "Catalog", "shop"),
        ("textbox", "Server", str(there["host"])),
        ("textbox", "Database", source.database),
        ("textbox", "Account", "postgres"),
        ("textbox", "Password", str(there["password"])),
        ("radio", "Only report", "", "ArrowDown"),
        ("button", "Test"),
        ("see", "It answers"),
        ("button", "Connect"),
        ("see", "shop is connected; read what it holds next"),
    ):
        step(page, *item)


def read(page: Any, *, scripts: bool) -> None:
    step(page, "button", "Read it now")
    step(page, "see", "Waiting for a worker")
    discoveries.run_waiting()
    if not scripts:
        page.reload()
    step(page, "see", "new, 0 renamed")


def grant(page: Any) -> None:
    page.goto(f"/objects/{the('table', 'shop.sales.orders').id}")
    for item in (
        ("link", "Grant access"),
        ("textbox", "Who", "ana", "Enter"),
        ("see", "may read orders"),
        ("button", "Grant read until"),
        ("see", "Ana Analyst: read on orders"),
        ("see", "Not yet compared"),
    ):
        step(page, *item)


@EITHER_WAY
def test_from_a_connection_to_an_adopted_grant(
    scripts: bool,
    visit: Callable[..., Any],  # noqa: F811
    source: Source,  # noqa: F811
) -> None:
    page = visit("marek", scripts=scripts)
    connect(page, source)
    row = Backend.objects.get()
    assert (row.policy, row.awaits) == ("repair", "new")
    operations.agree(row, by=BY, reason="the shop's own people asked for it", digest=operations.likeness(row))
    read(page, scripts=scripts)
    grant(page)
    tasks.deliver(row.pk)
    assert source.reads("ana")
    if not scripts:  # with scripts the line follows by itself
        page.reload()
    step(page, "see", "Applied")

    source.run("GRANT SELECT ON sales.customers TO ana")
    tasks.look(row.pk)
    page.goto("/sync?s=foreign")
    step(page, "link", "Adopt (ana may read sales.customers)")
    step(page, "button", "Adopt read of ana")
    step(page, "see", "On its way")
    tasks.deliver(row.pk)
    page.reload()
    step(page, "see", "replaced by our grant")
    assert source.reads("ana", "sales.customers")
    assert page.get_by_role("link", name="Adopt (ana may read").count() == 0

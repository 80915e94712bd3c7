"""Every page on a site of 100,000 tables and 10,000 people: asked of the database as often as on a small one.

The ledger of test_query_counts holds here too, but for what lies far back in the record; no page weighs more
than 100 kB; and whoever never saw the site finds the one table among all, sees who has access and why, and
grants a colleague read, by keyboard.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.people import ensure
from catalog.nodes import Node
from policies.decisions import ask
from tests.console.conftest import NAMES, PASSWORD
from tests.console.large import NEEDLE, fill
from tests.console.test_browser import find_understand_and_grant, visit
from tests.console.test_query_counts import PAGES, a_shop_of, count, counted, ledger
from tests.factories import a_person, a_role, admit, an_account, owned, the

__all__ = ["visit"]  # a fixture
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

LARGE = {
    "the metalake": ("marek", "/catalog/{root}"),
    "a schema of 95,000": ("marek", "/catalog/{flat}"),
    "the same, filtered": ("marek", "/catalog/{flat}?q=return"),
    "the same, from a letter on": ("marek", "/catalog/{flat}?from=R"),
    "its tree": ("marek", "/catalog/{flat}/nodes"),
    "what 10,000 can read": ("marek", "/objects/{table}"),
    "its group unfolded": ("marek", "/objects/{table}?group=everybody"),
    "a grant to 10,000": ("marek", "/objects/{table}/grant?who=group:everybody"),
    "a search with many hits": ("marek", "/search?q=return"),
    "the palette": ("marek", "/search/found?q=return"),
    "the palette, one letter": ("marek", "/search/found?q=r"),
    "people": ("marek", "/people"),
    "a group of 10,000": ("marek", "/people/{everybody}/groups"),
    "roles": ("marek", "/roles"),
    "personal roles": ("marek", "/roles?how=personal"),
    "the record": ("marek", "/history"),
    "the record of the metalake": ("marek", "/objects/{root}/history"),
    "home of who owns 95,000 tables": ("owen", "/"),
    "what they reach": ("owen", "/people/{owen}"),
    "what they reach, filtered": ("owen", "/people/{owen}?how=owned&q=return"),
    "what another sees of it": ("marek", "/people/{owen}"),
    "what they own": ("owen", "/owners"),
    "nobody's or gone": ("owen", "/owners?how=gone"),
    "their record": ("owen", "/history"),
    "all people": ("sam", "/people?q=a"),
    "accounts": ("sam", "/accounts"),
}
MOST = 60
OLDER = 6
"""So many queries more find what changed last, where that is not among the newest thousand changes: three for
each list of changes on a page."""


def large_shop() -> Node:
    root = a_shop_of(1)
    fill(root)
    return root


def test_pages_stay_quick_and_light(db: None, signed_in: Callable[[str], Client], settings: Any) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    root = large_shop()
    counts = ledger(PAGES)
    assert not {name: many for name, many in counted(signed_in).items() if many > counts[name] + OLDER}
    numbers = {
        "root": root.id,
        "table": the("table", "shop.sales.orders").id,
        "flat": the("schema", "shop.raw_events").id,
        "everybody": ensure("group", "everybody").pk,
        "owen": ensure("user", "owen").pk,
    }
    clients = {name: signed_in(name) for name in ("marek", "owen", "sam")}
    for who, address in LARGE.values():
        assert count(clients[who], address.format(**numbers)) < MOST, address


@pytest.mark.browser
def test_one_table_among_all_is_found_and_granted_by_keyboard(
    transactional_db: None, live_server: Any, visit: Callable[..., Any]
) -> None:
    root = large_shop()
    needle = the("table", f"teams.team_499.{NEEDLE}")
    admit(root, "petra")
    owned(the("schema", "teams.team_499"), "petra")
    a_role(root, "teams_way", "allow USE_CATALOG on catalog teams", held_by=("petra", "ana"))
    an_account("petra", display_name="Petra Prinz", password=PASSWORD)
    an_account("ana", display_name=NAMES["ana"])
    page = visit("petra", width=320)
    assert find_understand_and_grant(page, NEEDLE, ("Petra Prinz", "Owner of team_499"), "ana") < 25
    assert ask.ask(a_person("ana"), "read", needle)


@pytest.fixture
def site(live_server: Any) -> str:
    """The large site behind a real server."""
    return str(live_server.url)

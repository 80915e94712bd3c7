"""When an object was last used stands on its page and on the person's, for those who may know it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client
from django.utils import timezone

from accounts.people import ensure
from catalog.nodes import Node
from policies.analytics import uses
from policies.analytics.uses import ReportedUse
from tests.factories import the

Enter = Callable[[str], Client]


@pytest.fixture
def used(shop: Node) -> None:
    """Mia read orders just now; what carl only prepared was not done."""
    orders, now = the("table", "shop.sales.orders"), timezone.now()
    for name, executed in (("mia", True), ("carl", False)):
        use = ReportedUse(ensure("user", name), orders, "read", executed, now)
        uses.take(shop.realm_id, ensure("service", "etl"), f"run of {name}", [use])


def last_used(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    plain = re.sub(r"<[^>]+>|\s+", " ", answer.content.decode())
    match = re.search(r"Last used\s+(.{0,60})", plain)
    return re.sub(r"\s+", " ", match[1]) if match else ""


def test_the_owner_sees_who_used_it_last(used: None, signed_in: Enter) -> None:
    address = f"/objects/{the('table', 'shop.sales.orders').id}"
    assert re.match(r"(just now|\d+ s ago) read by mia", last_used(signed_in("olivia"), address))
    never = f"/objects/{the('table', 'shop.sales.customers').id}"
    assert last_used(signed_in("olivia"), never).startswith("No usage data")


def test_whoever_may_only_read_it_does_not(used: None, signed_in: Enter) -> None:
    assert last_used(signed_in("mia"), f"/objects/{the('table', 'shop.sales.orders').id}") == ""


def test_a_person_s_page_tells_what_was_used_last(used: None, signed_in: Enter) -> None:
    mia, carl = (f"/people/{ensure('user', name).pk}" for name in ("mia", "carl"))
    assert "read orders" in last_used(signed_in("mia"), mia)
    assert "read orders" in last_used(signed_in("olivia"), mia)
    assert last_used(signed_in("olivia"), carl).startswith("No usage data")

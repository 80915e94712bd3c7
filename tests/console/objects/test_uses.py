"""Uses as pictures: a line in each row of who has access, days of one person, people by objects."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts.people import ensure
from authzsite.console.kit.display import heat_map
from authzsite.console.objects import uses as pages
from catalog.nodes import Node
from policies.analytics import uses
from policies.analytics.uses import ReportedUse
from tests.console.conftest import NAMES
from tests.factories import a_person, admit, an_account, the, under

Enter = Callable[[str], Client]


@pytest.fixture
def used(shop: Node) -> Node:
    """Mia reads the orders on three days, once long ago; Carl was refused and only prepared to."""
    for name in ("mia", "carl"):
        an_account(name, display_name=NAMES[name])
    for days in (0, 3, 9, 60):
        use(the("table", "shop.sales.orders"), "mia", days)
    use(the("table", "shop.sales.orders"), "carl", 2, executed=False)
    return shop


def use(node: Node, name: str, days: int, *, executed: bool = True) -> None:
    at = timezone.now() - timedelta(days=days)
    told = ReportedUse(a_person(name), node, "read", executed, at)
    uses.take(node.realm_id, a_person("jobs"), f"{name} {node.name} {days}", [told])


def test_each_row_has_its_line_with_the_number_in_words(used: Node, signed_in: Enter) -> None:
    olivia, orders = signed_in("olivia"), the("table", "shop.sales.orders")
    body = olivia.get(f"/objects/{orders.id}").content.decode()
    assert "Use, 30 days" in body
    assert 'aria-label="3 uses in 30 days"' in body  # Mia's, and the same of the group
    assert "Not used" in body
    page = olivia.get(f"/objects/{orders.id}/uses?who={a_person('mia').pk}&days=90").content.decode()
    assert "Use of orders by Mia Meyer" in page
    assert "4 in 90 days" in page
    analysts = ensure("group", "analysts").pk
    assert "3 in 30 days" in olivia.get(f"/objects/{orders.id}/uses?who={analysts}").content.decode()


def test_without_any_report_no_column_stands_empty(shop: Node, signed_in: Enter) -> None:
    orders = the("table", "shop.sales.orders")
    olivia = signed_in("olivia")
    assert "Use, 30 days" not in olivia.get(f"/objects/{orders.id}").content.decode()
    assert "Nobody used it in these days" in olivia.get(f"/objects/{orders.id}/uses").content.decode()


def test_people_by_objects_with_a_table_behind(used: Node, signed_in: Enter) -> None:
    sales = the("schema", "shop.sales")
    body = signed_in("olivia").get(f"/objects/{sales.id}/uses").content.decode()
    assert "<title>Mia Meyer, orders: 3 uses</title>" in body
    assert body.count('<rect class="heat') == 1
    assert "As a table" in body
    assert "Carl Conrad" not in body.split("<main")[1]


def test_only_who_may_look_is_shown_and_only_what_they_see(used: Node, signed_in: Enter) -> None:
    orders = the("table", "shop.sales.orders")
    assert signed_in("ana").get(f"/objects/{orders.id}/uses").status_code == 404
    stranger = a_person("stranger")
    olivia = signed_in("olivia")
    assert olivia.get(f"/objects/{orders.id}/uses?who={stranger.pk}").status_code == 404
    use(orders, "stranger", 1)
    assert "stranger" not in olivia.get(f"/objects/{orders.id}/uses").content.decode().split("<main")[1]


def test_what_is_capped_says_so_and_goes_on(
    used: Node, signed_in: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PEOPLE", 2)
    monkeypatch.setattr(pages, "OBJECTS", 1)
    sales = the("schema", "shop.sales")
    under(sales, "table", "bills")
    for name in ("nils", "nora"):
        admit(used, name)
        use(the("table", "shop.sales.bills"), name, 1)
    olivia = signed_in("olivia")
    body = olivia.get(f"/objects/{sales.id}/uses").content.decode()
    assert "The 1 most used objects" in body
    assert "People 1 to 2 of 3" in body
    assert "People 3 to 3 of 3" in olivia.get(f"/objects/{sales.id}/uses?after=2").content.decode()


def test_darker_is_more() -> None:
    levels = [heat_map.heat(many, 1000) for many in (1, 10, 100, 1000)]
    assert levels == sorted(levels)
    assert (levels[0], levels[-1]) == (1, 4)

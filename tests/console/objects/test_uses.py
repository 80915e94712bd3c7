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
from policies.services import members
from tests.console.conftest import NAMES, shown
from tests.factories import AUTHORITY, BY, a_person, admit, an_account, the, under

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
    use_ = ReportedUse(a_person(name), node, "read", executed, at)
    uses.take(node.realm_id, a_person("jobs"), f"{name} {node.name} {days}", [use_])


def test_each_row_has_its_line_with_the_number_in_words(used: Node, signed_in: Enter) -> None:
    olivia, orders = signed_in("olivia"), the("table", "shop.sales.orders")
    body = shown(olivia, f"/objects/{orders.id}")
    assert "Use, 30 days" in body
    assert 'aria-label="3 uses in 30 days"' in body  # Mia's, and the same of the group
    assert "Not used" in body
    page = shown(olivia, f"/objects/{orders.id}/uses?who={a_person('mia').pk}&days=90")
    assert "Use of orders by Mia Meyer" in page
    assert "4 in 90 days" in page
    analysts = ensure("group", "analysts").pk
    assert "3 in 30 days" in shown(olivia, f"/objects/{orders.id}/uses?who={analysts}")


def test_without_any_report_no_column_stands_empty(shop: Node, signed_in: Enter) -> None:
    orders = the("table", "shop.sales.orders")
    olivia = signed_in("olivia")
    assert "Use, 30 days" not in shown(olivia, f"/objects/{orders.id}")
    assert "Nobody used it in these days" in shown(olivia, f"/objects/{orders.id}/uses")


def test_neither_link_nor_column_depends_on_the_page_of_the_table(
    used: Node, signed_in: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("authzsite.console.objects.access_table.SHOWN", 1)
    monkeypatch.setattr("authzsite.console.objects.views.SHOWN", 1)
    olivia, orders = signed_in("olivia"), the("table", "shop.sales.orders")
    for after in range(3):
        body = shown(olivia, f"/objects/{orders.id}?after={after}")
        assert f'href="/objects/{orders.id}/uses"' in body, after
        assert "Use, 30 days" in body, after


def test_the_link_stands_where_nobody_reported_a_use(shop: Node, signed_in: Enter) -> None:
    orders = the("table", "shop.sales.orders")
    assert f'href="/objects/{orders.id}/uses"' in shown(signed_in("olivia"), f"/objects/{orders.id}")
    assert f'href="/objects/{orders.id}/uses"' not in shown(signed_in("mia"), f"/objects/{orders.id}")


def test_hidden_uses_are_not_denied(shop: Node, signed_in: Enter) -> None:
    orders, olivia = the("table", "shop.sales.orders"), signed_in("olivia")
    use(orders, "stranger", 1)  # whom Olivia may not know of
    body = shown(olivia, f"/objects/{orders.id}/uses")
    assert "No use that you may see" in body
    assert "Nobody used it" not in body
    assert "stranger" not in body
    assert "No use in these days" in shown(olivia, f"/objects/{orders.id}/uses?who={a_person('mia').pk}")


def test_a_page_past_the_end_leads_back(
    used: Node, signed_in: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PEOPLE", 1)
    admit(used, "nils")
    sales = the("schema", "shop.sales")
    use(the("table", "shop.sales.orders"), "nils", 1)
    body = shown(signed_in("olivia"), f"/objects/{sales.id}/uses?after=40")
    assert "People 1 to 1 of 2" in body
    assert 'rel="prev"' in shown(signed_in("olivia"), f"/objects/{sales.id}/uses?after=1")


def test_a_group_counts_those_who_are_in_it_now(used: Node, signed_in: Enter) -> None:
    orders, mia = the("table", "shop.sales.orders"), a_person("mia", "readers")
    a_person("nils", "readers")
    admit(used, "group:readers")
    readers = ensure("group", "readers")
    use(orders, "nils", 2)
    page = f"/objects/{orders.id}/uses?who={readers.pk}"
    assert "4 in 30 days" in shown(signed_in("olivia"), page)  # though the group holds nothing here
    members.leave_group(readers, mia, by=BY, authority=AUTHORITY)
    assert "1 in 30 days" in shown(signed_in("olivia"), page)


def test_people_by_objects_with_a_table_behind(used: Node, signed_in: Enter) -> None:
    sales = the("schema", "shop.sales")
    body = shown(signed_in("olivia"), f"/objects/{sales.id}/uses")
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
    assert "stranger" not in shown(olivia, f"/objects/{orders.id}/uses").split("<main")[1]


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
    body = shown(olivia, f"/objects/{sales.id}/uses")
    assert "The 1 most used objects" in body
    assert "People 1 to 2 of 3" in body
    assert "People 3 to 3 of 3" in shown(olivia, f"/objects/{sales.id}/uses?after=2")


def test_who_used_only_what_is_not_shown_has_no_empty_row(
    used: Node, signed_in: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    sales, olivia = the("schema", "shop.sales"), signed_in("olivia")
    under(sales, "table", "bills")
    admit(used, "nils")
    use(the("table", "shop.sales.bills"), "nils", 1)
    assert "nils" in shown(olivia, f"/objects/{sales.id}/uses").split("<main")[1]
    monkeypatch.setattr(pages, "LOOKED", 1)  # the orders alone, which Mia used more often
    body = shown(olivia, f"/objects/{sales.id}/uses").split("<main")[1]
    assert "Mia Meyer" in body
    assert "nils" not in body


def test_darker_is_more() -> None:
    levels = [heat_map.heat(many, 1000) for many in (1, 10, 100, 1000)]
    assert levels == sorted(levels)
    assert (levels[0], levels[-1]) == (1, 4)

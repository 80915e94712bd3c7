"""Beside the plan of a change: which reported uses it would have refused, and how much is reported at all."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from accounts import people
from catalog.nodes import Node
from policies.record import access_log
from policies.requests import submission
from policies.requests.needs import WantedAction
from policies.requests.submission import Asking
from tests.factories import a_use, acting, the

Enter = Callable[[str], Client]


def text_of(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def test_taking_a_role_names_the_uses_that_it_would_refuse(shop: Node, signed_in: Enter) -> None:
    role = the("role", "sales_read").id
    address = f"/roles/{role}/unassign?who=group:analysts"
    quiet = text_of(signed_in("marek"), address)
    assert "No reported use" in quiet and "Usage is reported for 0 of" in quiet
    a_use("mia", the("table", "shop.sales.orders"), days=2)
    page = text_of(signed_in("marek"), address)
    assert "could no longer read shop.sales.orders" in page
    assert "Used in 1 run" in page and "Reported by nightly" in page
    a_use("mia", the("table", "shop.sales.orders"), days=200)
    assert "Used in 1 run" in text_of(signed_in("marek"), address)


def test_a_grant_names_the_refusals_that_it_would_end(shop: Node, signed_in: Enter) -> None:
    orders = the("table", "shop.sales.orders")
    access_log.refused(people.ensure("user", "ana"), "read", orders, via="console")
    page = text_of(signed_in("marek"), f"/objects/{orders.id}/grant?who=user:ana")
    assert "could read shop.sales.orders" in page and "Refused 1 time" in page


def test_a_form_that_is_not_filled_in_yet_has_no_replay(shop: Node, signed_in: Enter) -> None:
    page = text_of(signed_in("marek"), f"/objects/{the('schema', 'shop.sales').id}/owner")
    assert "Uses of the last" not in page


@pytest.mark.parametrize(
    "wanted",
    [("table", "demo/shop.sales.orders", "read"), ("role", "demo/sales_read", "hold")],
    ids=["a right", "a role"],
)
def test_a_request_names_the_refusals_that_an_approval_would_end(
    shop: Node, signed_in: Enter, wanted: tuple[str, str, str]
) -> None:
    orders, ana = the("table", "shop.sales.orders"), people.ensure("user", "ana")
    asked = Asking((WantedAction(*wanted),), ana, reason="For the board")
    number = submission.ask(asked, by=acting("ana")).pk
    quiet = text_of(signed_in("marek"), f"/requests/{number}/decide")
    assert "could read shop.sales.orders" not in quiet
    access_log.refused(ana, "read", orders, via="console")
    page = text_of(signed_in("marek"), f"/requests/{number}/decide")
    assert "Uses of the last" in page
    assert "could read shop.sales.orders" in page and "Refused 1 time" in page

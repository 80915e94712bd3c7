"""How long the reason of a grant must be: as the rule of requests that somebody set there."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from catalog.nodes import Node
from policies.decisions import ask
from policies.models import Change
from policies.requests import rules
from tests.factories import a_person, acting, owned, the

Enter = Callable[[str], Client]


@pytest.fixture
def orders(shop: Node) -> Node:
    owned(the("table", "shop.sales.orders"), "olivia")
    return the("table", "shop.sales.orders")


def grant(client: Client, node: Node, reason: str) -> str:
    sent = {"who": "user:ana", "may": "SELECT_TABLE", "until": "none", "reason": reason, "step": "save"}
    return client.post(f"/objects/{node.id}/grant", sent, follow=True).content.decode()


def can_read(node: Node) -> bool:
    return bool(ask.ask(a_person("ana"), "read", node))


@pytest.mark.parametrize("where", ["metalake", "schema", "table"])
@pytest.mark.parametrize("reason", ["", "Audit", "aaaaaaaaaaaaaaaaaaaaaaaaa", "  Audit of Q3   "])
def test_a_reason_shorter_than_the_rule_asks_is_refused_and_grants_nothing(
    where: str, reason: str, orders: Node, signed_in: Enter
) -> None:
    name = {"metalake": (), "schema": ("shop.sales",), "table": ("shop.sales.orders",)}[where]
    rules.set_rule(the(where, *name), by=acting("marek"), min_reason=15)
    olivia = signed_in("olivia")
    page = olivia.get(f"/objects/{orders.id}/grant").content.decode()
    assert "Required here: at least 15 characters." in page
    before = Change.objects.count()
    assert "Give a reason of at least 15 characters." in grant(olivia, orders, reason)
    assert Change.objects.count() == before
    assert not can_read(orders)
    grant(olivia, orders, "Audit of the third quarter")
    assert can_read(orders)


def test_a_reason_is_optional_where_nobody_set_a_rule(orders: Node, signed_in: Enter) -> None:
    olivia = signed_in("olivia")
    assert "Optional. Name the purpose" in olivia.get(f"/objects/{orders.id}/grant").content.decode()
    rules.set_rule(the("metalake"), by=acting("marek"), longest_days=30)
    grant(olivia, orders, "")
    assert can_read(orders)

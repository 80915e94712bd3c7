"""What the guide about privileges promises, asked in the copy of the tree in which it was followed."""

from __future__ import annotations

from collections.abc import Callable

from django.test import Client

from catalog.nodes import Node
from lakewarden.backends import kinds
from lakewarden.backends.network import Network
from policies.decisions.ask import ask
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.factories import a_person, acting, the


def test_it_is_decided_once_it_is_given(shop: Node) -> None:
    ana, orders = a_person("ana"), the("table", "shop.sales.orders")
    assert not ask(ana, "Table.truncateTable", orders)
    grants.add(GrantRequest(orders, (ana,), ("TRUNCATE_TABLE",)), by=acting("olivia"))
    assert ask(ana, "Table.truncateTable", orders)
    assert not ask(ana, "read", orders)


def test_the_form_offers_it_in_words(shop: Node, signed_in: Callable[[str], Client]) -> None:
    orders = the("table", "shop.sales.orders").id
    page = signed_in("olivia").get(f"/objects/{orders}/grant?who=user:ana").content.decode()
    assert "Empty" in page.split('value="TRUNCATE_TABLE"')[1][:200]


def test_the_backend_has_a_word_for_it() -> None:
    kind = kinds.get("postgresql")
    here = Network(("loopback",))
    there = kind.open("postgresql://lw@127.0.0.1/shop", realm="demo", mark="shop", network=here)
    assert there.rights_for("TRUNCATE_TABLE", "table") == ("TRUNCATE",)
    assert ("Table.truncateTable", "TRUNCATE_TABLE") in kind.carried["table"]

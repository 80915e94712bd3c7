"""Whatever the rooms of the past link to, whoever looks at them can open."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any
from urllib.parse import parse_qsl

import pytest
from django.test import Client

from accounts import people
from catalog.nodes import Node
from policies.models import Counter
from policies.services import duties, grants, objects, roles
from policies.services.grants import GrantRequest
from policies.services.roles import Privilege
from tests.factories import AUTHORITY, BY, a_person, acting, admit, the
from tests.kept import kept
from tests.policies.conftest import make_shop

Enter = Callable[[str], Client]
MAIN = re.compile(r"<main.*</main>", re.S)
LINK = re.compile(r'<a [^>]*href="([^"#][^"]*)"')


def make_past() -> Node:
    """Ana was given, denied and refused things where Ana sees nothing; Ada reads the history of sales alone,
    and is in no realm; Theo reads that of one table."""
    root = make_shop()
    items, ana = the("table", "shop.stock.items"), people.ensure("user", "ana")
    grants.add(
        GrantRequest(items, (ana,), ("SELECT_TABLE",), way=False), by=acting("marek"), reason="to count"
    )
    denies = roles.create(root, "no_refunds", by=BY, authority=AUTHORITY)
    refunds = Privilege("SELECT_TABLE", "deny")
    roles.add_privileges(denies, the("table", "shop.sales.refunds"), [refunds], by=BY, authority=AUTHORITY)
    roles.assign(denies, ana, by=BY, authority=AUTHORITY)
    gone = the("table", "shop.sales.customers")
    grants.add(GrantRequest(gone, (ana,), ("SELECT_TABLE",), way=False), by=acting("olivia"))
    objects.drop(gone, by=BY, authority=AUTHORITY)
    for name, type_, place in (("ada", "schema", "shop.sales"), ("theo", "table", "shop.sales.orders")):
        people.make_account(name)
        duties.give(the(type_, place), "view_history", a_person(name), by=BY, authority=AUTHORITY)
    admit(root, "theo")
    return root


past = kept(make_past)


def pages(name: str) -> Iterator[str]:
    """Where somebody may begin: the realm, the rooms of the record, and the past of what is there."""
    own, now = a_person(name), Counter.objects.get().revision
    yield f"/realms/{the('metalake').id}"
    yield from ("/history", "/history/looks", f"/people/{own.pk}/history", f"/people/{own.pk}/then?at={now}")
    for node in (the("schema", "shop.sales"), the("table", "shop.sales.orders")):
        yield from (f"/objects/{node.id}/history", f"/objects/{node.id}/then?at={now - 3}")
    yield f"/objects/{the('schema', 'shop.sales').id}/then?at={now - 9}&show=between"
    for role in ("sales_read", "no_refunds"):
        yield f"/roles/{the('role', role).id}/then?at={now}"


def alike(address: str) -> str:
    """Of addresses that differ in what they ask of one page alone, one is tried."""
    path, _, query = address.partition("?")
    return f"{path}?{' '.join(sorted(dict(parse_qsl(query))))}"


def slowly(name: str) -> Any:
    return pytest.param(name, marks=pytest.mark.slow)


@pytest.mark.parametrize("name", ["ana", slowly("ada"), slowly("theo"), slowly("olivia")])
def test_no_link_of_the_past_is_dead(past: Node, signed_in: Enter, name: str) -> None:
    client, tried = signed_in(name), dict[str, str]()
    client.get(f"/objects/{the('table', 'shop.stock.items').id}")  # refused to most, and so on record
    for page in pages(name):
        answer = client.get(page)
        if answer.status_code == 200:
            body = MAIN.search(answer.content.decode())
            assert body
            for link in map(unescape, LINK.findall(body[0])):
                address = page.partition("?")[0] + link if link[0] == "?" else link
                tried.setdefault(alike(address), address)
    assert len(tried) > 8
    assert not [address for address in tried.values() if client.get(address, follow=True).status_code >= 400]


def test_what_is_not_linked_is_named_all_the_same(past: Node, signed_in: Enter) -> None:
    """Ana learns of the grant; where nothing of the object is visible to Ana, there is no link."""
    items = the("table", "shop.stock.items")
    page = signed_in("ana").get("/history").content.decode()
    assert "to count" in page and "<span>shop.stock.items</span>" in page
    assert f"/objects/{items.id}" not in page
    linked = f'href="/objects/{items.id}">shop.stock.items</a>'
    assert linked in signed_in("marek").get("/history").content.decode()

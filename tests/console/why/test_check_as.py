"""Check as somebody: what the engine shows them, for viewers who may ask; what these may grant."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.people import make_account
from catalog.nodes import Node
from policies.models import AccessRecord
from policies.services import duties
from tests.factories import AUTHORITY, BY, a_person, a_role, owned, the

Enter = Callable[[str], Client]


def seen_as(client: Client, name: str, node: Node) -> set[str]:
    """The names of what is listed below an object."""
    answer = client.get(f"/people/{a_person(name).pk}/sees?in={node.id}")
    assert answer.status_code == 200
    body = answer.content.decode()
    return set(re.findall(r'role="rowheader".*?<b>([^<]+)</b>', body, re.DOTALL))


def test_the_owner_sees_the_catalog_as_another_does(shop: Node, signed_in: Enter) -> None:
    marek, sales = signed_in("marek"), the("schema", "shop.sales")
    assert seen_as(marek, "mia", shop) >= {"shop"}
    assert seen_as(marek, "mia", the("catalog", "shop")) == {"sales"}  # not stock
    assert seen_as(marek, "mia", sales) == {"orders", "customers", "refunds"}  # not the view
    assert seen_as(marek, "ana", sales) == set()


def test_a_denial_is_seen_too(shop: Node, signed_in: Enter) -> None:
    marek = signed_in("marek")
    assert seen_as(marek, "carl", the("schema", "shop.sales")) == set()
    assert seen_as(marek, "carl", the("catalog", "shop")) == {"sales"}


def test_it_is_what_the_person_finds(shop: Node, signed_in: Enter) -> None:
    catalog = the("catalog", "shop")
    for name in ("mia", "carl", "ana", "olivia"):
        own = signed_in(name).get(f"/catalog/{catalog.id}").content.decode()
        seen = seen_as(signed_in("marek"), name, catalog)
        schemas = {schema for schema in ("sales", "stock") if f"<b>{schema}</b>" in own}
        assert seen == schemas == ({"sales"} if name != "ana" else set()), name


def test_looking_is_recorded_and_looking_at_oneself_is_not(shop: Node, signed_in: Enter) -> None:
    seen_as(signed_in("mia"), "mia", the("schema", "shop.sales"))
    looks = AccessRecord.objects.filter(operation__startswith="the catalog as ")
    assert not looks.exists()
    seen_as(signed_in("marek"), "mia", the("schema", "shop.sales"))
    assert looks.get().actor == a_person("marek").pseudonym
    assert a_person("mia").pseudonym in looks.get().operation


def test_an_owner_of_a_part_asks_about_that_part(shop: Node, signed_in: Enter) -> None:
    olivia, person = signed_in("olivia"), a_person("mia").pk
    start = olivia.get(f"/people/{person}/sees").content.decode()
    assert f'href="?in={the("schema", "shop.sales").id}"' in start
    assert f'href="?in={shop.id}"' not in start
    assert olivia.get(f"/people/{person}/sees?in={shop.id}").status_code == 404
    assert olivia.get(f"/people/{person}/sees?in={the('schema', 'shop.stock').id}").status_code == 404


@pytest.mark.parametrize(("duty", "status"), [("view_history", 200), ("review_access", 404)])
def test_the_duty_to_read_the_history_lets_one_ask(
    duty: str, status: int, shop: Node, signed_in: Enter
) -> None:
    make_account("ana")
    for item in {duty, "view_history"} if status == 200 else {duty}:
        duties.give(shop, item, a_person("ana"), by=BY, authority=AUTHORITY)
    answer = signed_in("ana").get(f"/people/{a_person('mia').pk}/sees?in={shop.id}")
    assert answer.status_code == status


def test_a_service_admin_asks_without_being_a_member(shop: Node, signed_in: Enter, settings: Any) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    sam = signed_in("sam")
    assert seen_as(sam, "mia", the("schema", "shop.sales")) == {"orders", "customers", "refunds"}
    assert sam.get(f"/catalog/{shop.id}").status_code == 404


@pytest.mark.parametrize("wanted", ["0", "x", "9" * 30, "987654321"])
def test_what_is_not_there_is_not_found(wanted: str, shop: Node, signed_in: Enter) -> None:
    assert signed_in("marek").get(f"/people/{a_person('mia').pk}/sees?in={wanted}").status_code == 404


def test_one_filters_by_name(shop: Node, signed_in: Enter) -> None:
    sales = the("schema", "shop.sales").id
    body = signed_in("marek").get(f"/people/{a_person('mia').pk}/sees?in={sales}&q=ord").content.decode()
    assert "<b>orders</b>" in body
    assert "<b>refunds</b>" not in body


# What somebody may grant, and the own page


def test_what_somebody_may_grant_is_told(shop: Node, signed_in: Enter) -> None:
    a_role(shop, "granter", "allow MANAGE_GRANTS on table shop.stock.items", held_by=("mia",))
    owned(the("table", "shop.sales.orders"), "mia")
    body = signed_in("marek").get(f"/people/{a_person('mia').pk}?how=grant").content.decode()
    assert "May grant" in body
    assert "<b>orders</b>" in body
    assert "<b>sales</b>" not in body


def test_one_s_own_page_tells_how_to_get_more(shop: Node, signed_in: Enter) -> None:
    body = signed_in("ana").get(f"/people/{a_person('ana').pk}").content.decode()
    assert "Get more access" in body
    assert "owns demo" in body
    asked = signed_in("ana").get("/why?who=user:ana&action=read&what=shop.sales.orders").content.decode()
    assert "shop.sales.orders" in asked
    other = signed_in("marek").get(f"/people/{a_person('ana').pk}").content.decode()
    assert "Get more access" not in other

"""One combobox for people, groups, roles and objects: what it offers, to whom, by which parts of names."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from catalog.nodes import Node
from tests.console.test_browser import site, visit
from tests.factories import the

__all__ = ["site", "visit"]  # fixtures


@pytest.fixture
def named(shop: Node, signed_in: Callable[[str], Client]) -> Client:
    """Olivia's browser, where Ana has a full name."""
    signed_in("ana")
    return signed_in("olivia")


def offered(client: Client, address: str) -> list[str]:
    answer = client.get(address)
    assert answer.status_code == 200
    return re.findall(r'data-value="([^"]*)"', answer.content.decode())


@pytest.mark.parametrize("text", ["ana", "ANALY", "Ana Analyst", "lyst an"])
def test_people_are_found_by_any_part_in_any_case(text: str, named: Client) -> None:
    assert "ana" in offered(named, f"/search/names?of=people&q={text}")


def test_groups_roles_and_objects_come_as_their_fields_take_them(
    shop: Node, signed_in: Callable[[str], Client]
) -> None:
    client = signed_in("olivia")
    assert offered(client, "/search/names?of=people&q=analysts") == ["group:analysts"]
    assert "demo/shop.sales.orders" in offered(client, "/search/names?of=objects&q=orders")
    assert "shop.sales.orders" in offered(client, "/search/names?of=objects&plain&q=sales.ord")
    assert offered(client, "/search/names?of=people&q=orders") == []


def test_nobody_is_offered_whom_the_viewer_may_not_know(
    shop: Node, signed_in: Callable[[str], Client]
) -> None:
    client = signed_in("ana")
    assert "olivia" not in offered(client, "/search/names?of=people&q=o")
    assert offered(signed_in("bert"), "/search/names?of=objects&q=orders") == []


def test_a_form_offers_those_that_may_be_chosen_in_it(
    named: Client, signed_in: Callable[[str], Client]
) -> None:
    owner = f"/objects/{the('table', 'shop.sales.orders').id}/owner"
    assert offered(named, f"{owner}?choices=who&find=lyst+ana") == ["group:analysts", "user:ana"]
    assert offered(named, f"{owner}?choices=who&find=lyst+ana&who=user:ana") == ["group:analysts"]
    assert named.get(f"{owner}?choices=reason").status_code == 404
    assert signed_in("bert").get(f"{owner}?choices=who&find=a").status_code == 404


def test_why_takes_parts_of_a_name(named: Client) -> None:
    page = named.get("/why?who=WNER&action=read&what=demo/shop.sales.orders").content.decode()
    assert "Olivia Owner can read" in page


@pytest.mark.browser
def test_a_name_is_chosen_by_keyboard(visit: Callable[..., Any]) -> None:
    page = visit("olivia")
    page.goto("/why")
    who = page.get_by_role("combobox", name="Who", exact=True)
    who.fill("lyst")
    page.get_by_role("option", name="Ana Analyst").wait_for()
    who.press("ArrowUp")
    assert who.get_attribute("aria-activedescendant")
    who.press("Enter")
    assert who.input_value() == "ana"
    assert not page.locator(".combo").first.is_visible()
    who.fill("ol")
    page.get_by_role("option", name="Olivia Owner").click()
    assert who.input_value() == "olivia"


@pytest.mark.browser
def test_enter_takes_the_first_name_of_the_list(visit: Callable[..., Any]) -> None:
    page = visit("olivia")
    page.goto("/why")
    who = page.get_by_role("combobox", name="Who", exact=True)
    who.fill("Owner")
    page.get_by_role("option", name="Olivia Owner").wait_for()
    who.press("Enter")
    assert who.input_value() == "olivia"
    who.press("Enter")
    assert page.url.endswith("/why")  # what it is about is still to be named
    what = page.get_by_role("combobox", name="What", exact=True)
    assert what.evaluate("it => it === document.activeElement")
    what.fill("shop.sales.orders")
    page.get_by_role("option", name="shop.sales.orders").first.wait_for()
    what.press("Enter")  # a whole name is asked about at once
    page.get_by_text("can read shop.sales.orders").first.wait_for()

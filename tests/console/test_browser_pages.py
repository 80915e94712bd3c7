"""Walks through People, Roles and settings in headless Chromium: without scripts, and at the thumb."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.console.screens import LOOKS, faults_of
from tests.console.test_browser import EITHER_WAY, can_read, site, visit
from tests.factories import a_person, the

__all__ = ["site", "visit"]  # fixtures
pytestmark = pytest.mark.browser


def addresses() -> dict[str, str]:
    role, person = the("role", "sales_read").id, a_person("carl").pk
    table, root = the("table", "shop.sales.orders").id, the("metalake").id
    return {
        "people": "/people",
        "a person": f"/people/{person}",
        "groups of a person": f"/people/{person}/groups",
        "granting to a person": f"/people/{person}/grant?q=o",
        "roles": "/roles",
        "a role": f"/roles/{role}",
        "giving a role": f"/roles/{role}/assign?who=group:staff",
        "taking a role": f"/roles/{role}/unassign?who=group:analysts",
        "what a role gives": f"/roles/{role}/give/{table}",
        "a new role": f"/roles/new?in={root}",
        "the owner": f"/objects/{table}/owner?who=user:ana",
        "a new member": f"/realms/{root}/members/add",
        "settings": "/profile",
    }


@pytest.mark.slow
def test_every_room_is_accessible_and_fits(visit: Callable[..., Any]) -> None:
    assert not faults_of(visit("marek"), addresses().values(), LOOKS)


@EITHER_WAY
def test_a_role_is_given_on_a_small_screen(scripts: bool, visit: Callable[..., Any]) -> None:
    page = visit("marek", scripts=scripts, width=320)
    page.locator(".nav .more summary").click()
    page.locator(".nav .more").get_by_role("link", name="People").click()
    page.get_by_role("link", name="Roles", exact=True).click()
    page.get_by_role("link", name="sales_read").click()
    page.get_by_role("link", name="Assign the role").click()
    page.get_by_label("Who", exact=True).fill("ana")
    page.get_by_label("Who", exact=True).press("Enter")
    page.get_by_text("read all tables in sales").wait_for()
    assert not can_read("ana")
    page.get_by_role("button", name="Assign sales_read until").click()
    page.get_by_role("status").get_by_text("Ana Analyst: role sales_read until").wait_for()
    assert can_read("ana")

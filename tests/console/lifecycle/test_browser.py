"""Somebody leaves, and what they had is handed over in one plan, in headless Chromium."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from policies.decisions.lookups.visible_objects import owner_of
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.console.test_browser import EITHER_WAY, site, visit  # noqa: F401 -- fixtures
from tests.factories import a_person, acting, the

pytestmark = pytest.mark.browser


@EITHER_WAY
def test_what_a_leaver_had_is_handed_over_and_taken_back(scripts: bool, visit: Callable[..., Any]) -> None:  # noqa: F811
    sales, orders = the("schema", "shop.sales"), the("table", "shop.sales.orders")
    grants.add(GrantRequest(orders, (a_person("ana"),), ("SELECT_TABLE",)), by=acting("olivia"))
    page = visit("marek", scripts=scripts)
    page.goto(f"/people/{a_person('olivia').pk}")
    page.get_by_role("link", name="Leaving").click()
    page.get_by_label("Hand over to", exact=True).fill("mia")
    page.get_by_label("Hand over to", exact=True).press("Enter")
    page.get_by_text("becomes the owner of 1 object").wait_for()
    page.get_by_label("What happens to demo").select_option(label="Leave")
    page.get_by_role("button", name="Preview the change").last.click()
    page.get_by_role("button", name=re.compile("^Carry out 1 line")).wait_for()
    page.get_by_label("Reason").fill("The last day is Friday")
    page.get_by_role("button", name=re.compile("^Carry out")).click()
    page.get_by_role("heading", name="One change is saved").wait_for()
    assert owner_of(sales) == a_person("mia")
    page.locator("main").get_by_role("button", name=re.compile("^Undo")).click()
    page.get_by_role("status").get_by_text("is undone").wait_for()
    assert owner_of(sales) == a_person("olivia")


def test_a_newcomer_is_given_what_a_colleague_has(visit: Callable[..., Any]) -> None:  # noqa: F811
    orders = the("table", "shop.sales.orders")
    grants.add(GrantRequest(orders, (a_person("ana"),), ("SELECT_TABLE",)), by=acting("olivia"))
    page = visit("olivia")
    page.goto(f"/people/{a_person('mia').pk}/same?as=user:ana")
    assert "Read" in page.locator("[data-label=Gives]").last.inner_text()
    page.get_by_role("button", name=re.compile("^Grant . line")).click()
    page.get_by_role("heading", name=re.compile("change is saved")).wait_for()
    assert grants.direct(orders, a_person("mia")).exists()

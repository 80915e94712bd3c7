"""Requests in headless Chromium: every room accessible, decided by keys alone, asked for without scripts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from accounts import people
from policies.models import AccessRequest
from policies.requests import decisions, submission
from policies.requests.needs import WantedAction
from policies.requests.submission import Asking
from tests.console.screens import EVERY_LOOK, faults
from tests.console.test_browser import can_read, site, visit
from tests.factories import acting, the

__all__ = ["site", "visit"]  # fixtures
pytestmark = pytest.mark.browser

ORDERS = "demo/shop.sales.orders"


def a_request(name: str, reason: str, *, action: str = "read", lasts: str = "P30D") -> int:
    asking = Asking(
        (WantedAction("table", ORDERS, action),), people.ensure("user", name), reason=reason, lasts=lasts
    )
    return submission.ask(asking, by=acting(name)).pk


def some_requests() -> dict[str, int]:
    first = a_request("ana", "Returns report for the board, SALES-419")
    second = a_request("mia", "Corrects returns that were booked twice", action="write", lasts="")
    third = a_request("carl", "Quarterly figures for the auditors", action="write", lasts="P7D")
    done = a_request("ana", "Compares the two returns of March", action="write")
    decisions.approve(done, by=acting("olivia"), lasts="P7D", note="For one week, to begin with")
    asked = a_request("mia", "Something with orders", action="grant")
    decisions.ask_back(asked, "What for, and whom will you let in?", by=acting("olivia"))
    return {"ana": first, "mia": second, "carl": third, "done": done, "asked": asked}


def addresses(numbers: dict[str, int]) -> dict[str, tuple[str, str]]:
    new = f"/requests/new?resource={ORDERS}&type=table&action=write"
    new += "&resource=demo/shop.stock&type=schema&action=use"
    return {
        "to decide": ("olivia", "/requests"),
        "home": ("olivia", "/"),
        "decide": ("olivia", f"/requests/{numbers['ana']}/decide"),
        "decide one denied": ("olivia", f"/requests/{numbers['carl']}/decide"),
        "together": ("olivia", f"/requests/together?on={numbers['ana']}&on={numbers['mia']}"),
        "rules": ("olivia", f"/objects/{the('schema', 'shop.sales').id}/asking"),
        "away": ("olivia", "/profile/away"),
        "mine": ("mia", "/requests?tab=mine"),
        "asked back": ("mia", f"/requests/{numbers['asked']}"),
        "approved": ("ana", f"/requests/{numbers['done']}"),
        "new": ("mia", new),
        "why": ("ana", f"/why?action=read&what={ORDERS}&type=table"),
        "grant": ("olivia", f"/objects/{the('table', 'shop.sales.orders').id}/grant?from=date"),
    }


@EVERY_LOOK
def test_every_room_is_accessible_and_fits(looks: Any, visit: Callable[..., Any]) -> None:
    problems, pages = [], dict[str, Any]()
    for name, (who, address) in addresses(some_requests()).items():
        if who not in pages:
            pages[who] = visit(who)
        pages[who].goto(address)
        pages[who].wait_for_load_state("networkidle")
        problems += faults(pages[who], looks, name)
    assert not problems


def test_an_owner_decides_by_keys_alone(visit: Callable[..., Any]) -> None:
    numbers = some_requests()
    page = visit("olivia")
    keys = page.keyboard
    keys.press("g")
    keys.press("r")
    page.get_by_role("heading", name="requests wait for you").wait_for()
    page.locator(".nav .n.due").get_by_text("3").wait_for()
    for key in "jjk":
        keys.press(key)
    keys.press("j")
    keys.press("k")
    keys.press("Enter")
    page.wait_for_url(f"**/requests/{numbers['ana']}/decide")
    keys.press("j")
    page.wait_for_url(f"**/requests/{numbers['mia']}/decide")
    keys.press("k")
    page.wait_for_url(f"**/requests/{numbers['ana']}/decide")
    page.get_by_role("button", name="Approve 2 decisions").focus()
    keys.press("Enter")
    page.get_by_role("status").get_by_text("approved").wait_for()
    assert can_read("ana")


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_asked_from_a_refusal_and_decided_on_a_small_screen(scripts: bool, visit: Callable[..., Any]) -> None:
    ana = visit("ana", scripts=scripts, width=320)
    ana.goto(f"/why?action=read&what={ORDERS}&type=table")
    ana.get_by_role("link", name="Request access").click()
    ana.get_by_text("Two decisions, requested at the same time").wait_for()
    ana.get_by_label("Why").fill("Returns report for the board")
    ana.get_by_role("button", name="Send the request").click()
    ana.get_by_text("Waiting for a decision").first.wait_for()

    olivia = visit("olivia", scripts=scripts, width=320)
    olivia.get_by_role("link", name="Decide requests").click()
    olivia.get_by_role("link", name="Decide request").click()
    olivia.get_by_text("gains").first.wait_for()
    olivia.get_by_role("button", name="Approve 2 decisions").click()
    olivia.get_by_role("status").get_by_text("approved").wait_for()
    ana.reload()
    assert "Granted" in ana.locator(".stateline").inner_text()
    assert can_read("ana")
    assert AccessRequest.objects.get().state == "approved"


def test_what_it_takes_follows_the_form(visit: Callable[..., Any]) -> None:
    page = visit("mia")
    page.goto(f"/requests/new?resource={ORDERS}&type=table&action=write")
    page.get_by_text("Write on orders").wait_for()
    page.get_by_label("Manage grants on").check()
    page.locator("#preview").get_by_text("Manage grants").wait_for()
    page.get_by_label("A date").first.check()
    assert page.get_by_label("End date and time").is_visible()

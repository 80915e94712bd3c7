"""What takes its time says so: a part that is asked for is busy, and after two seconds the page counts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.console.test_browser import orders, site, visit

__all__ = ["site", "visit"]  # fixtures
pytestmark = pytest.mark.browser


def at_will(page: Any, address: str) -> None:
    """A page whose clock stands until the test has it run; a busy machine needs seconds between two steps."""
    page.clock.install(time=0)
    page.goto(address)
    page.clock.pause_at(3600)


def test_a_slow_answer_is_told_of(visit: Callable[..., Any]) -> None:
    page, held = visit("olivia"), list[Any]()
    at_will(page, f"/objects/{orders().id}/grant?who=user:ana&may=SELECT_TABLE")
    page.route("**/grant/preview", lambda route: held.append(route))
    page.get_by_label("Write").check()
    page.clock.run_for(200)
    page.locator("#preview[aria-busy=true]").wait_for()
    assert page.get_by_text("Still working").count() == 0
    page.clock.run_for(2000)
    page.get_by_role("status").get_by_text("Still working 2 s").wait_for()
    page.clock.resume()
    held.pop().continue_()
    page.get_by_text("may read and write orders").wait_for()
    page.locator("[aria-busy]").wait_for(state="detached")
    page.get_by_text("Still working").wait_for(state="detached")


def test_a_whole_page_that_is_slow_is_told_of(visit: Callable[..., Any]) -> None:
    page = visit("olivia")
    at_will(page, f"/objects/{orders().id}")
    page.route("**/catalog*", lambda route: route.fulfill(status=204))  # the page stays, as long as one waits
    catalog = page.get_by_role("link", name="Catalog", exact=True).first
    catalog.click()
    page.clock.run_for(1500)
    assert page.get_by_text("Still working").count() == 0
    page.clock.run_for(6000)
    page.get_by_role("status").get_by_text("Still working 7 s").wait_for()
    page.unroute("**/catalog*")
    catalog.click()
    page.wait_for_url(re.compile("/catalog"))
    assert page.get_by_text("Still working").count() == 0


def test_a_file_that_comes_while_the_page_stays_is_no_wait(visit: Callable[..., Any]) -> None:
    page = visit("olivia")
    page.goto(f"/objects/{orders().id}")
    page.clock.install()
    with page.expect_download():
        page.get_by_role("link", name="Save as CSV").first.click(no_wait_after=True)
    page.clock.run_for(5000)
    assert page.get_by_text("Still working").count() == 0

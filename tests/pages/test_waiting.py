"""What takes its time says so: a part that is asked for is busy, and after two seconds the page counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.pages.test_browser import orders, site, visit

__all__ = ["site", "visit"]  # fixtures
pytestmark = pytest.mark.browser


def test_a_slow_answer_is_told_of(visit: Callable[..., Any]) -> None:
    page, held = visit("olivia"), list[Any]()
    page.clock.install()
    page.goto(f"/objects/{orders().id}/grant?who=user:ana&may=SELECT_TABLE")
    page.route("**/grant/preview", lambda route: held.append(route))
    page.get_by_label("Write").check()
    page.clock.run_for(200)
    page.locator("#preview[aria-busy=true]").wait_for()
    assert page.get_by_text("Still working").count() == 0
    page.clock.run_for(2000)
    page.get_by_role("status").get_by_text("Still working 2 s").wait_for()
    held.pop().continue_()
    page.get_by_text("may read and write orders").wait_for()
    assert page.locator("[aria-busy]").count() == 0
    assert page.get_by_text("Still working").count() == 0

"""Rooms looked at as people see them: narrow and wide, dark and light; accessible, nothing sideways."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

WIDTHS = (320, 1280)
LOOKS = ((320, "dark"), (320, "light"), (1280, "light"), (1280, "dark"))
"""Where most goes wrong comes first."""
EVERY_LOOK = pytest.mark.parametrize(
    "looks", [pytest.param(LOOKS[:1], id="320-dark"), pytest.param(LOOKS, id="every", marks=pytest.mark.slow)]
)
AXE = {
    "runOnly": {
        "type": "tag",
        "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    }
}
"""With the size of targets, which is of WCAG 2.2."""
Look = tuple[int, str]


def turned(page: Any, look: Look) -> Any:
    """The same page at another width and in another theme; what came once need not come again."""
    width, theme = look
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=theme)
    return page


def faults(page: Any, looks: Sequence[Look], room: str) -> list[tuple[object, ...]]:
    """What axe finds on the page that is open, and whether it scrolls sideways, in each look."""
    problems: list[tuple[object, ...]] = []
    for look in looks:
        turned(page, look)
        violations = Axe().run(page, options=AXE).response["violations"]
        problems += [
            (room, *look, item["id"], [node["target"] for node in item["nodes"]]) for item in violations
        ]
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            problems.append((room, *look, "scrolls sideways"))
    return problems


def faults_of(page: Any, addresses: Iterable[str], looks: Sequence[Look]) -> list[tuple[object, ...]]:
    """The faults of rooms that open, each come to once."""
    problems: list[tuple[object, ...]] = []
    for address in addresses:
        assert page.goto(address).ok, address
        problems += faults(page, looks, address)
    return problems

"""Every room with something going on in it: accessible and fitting, light and dark, narrow and wide."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.test import Client

from catalog.nodes import Node
from tests.factories import the
from tests.pages.rooms import ADMIN, ROOMS, furnish
from tests.pages.test_browser import AXE, THEMES, WIDTHS, site, visit
from tests.pages.test_nothing_vanishes import Controls

__all__ = ["site", "visit"]  # fixtures
VISITORS = sorted({who for _, who, _ in ROOMS})


@pytest.fixture(autouse=True)
def runs_the_site(settings: Any) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({ADMIN})


def test_every_room_can_be_entered_and_says_why_what_is_disabled_is(
    shop: Node, signed_in: Callable[[str], Client]
) -> None:
    numbers, wrong = furnish(shop), []
    clients = {who: signed_in(who) for who in VISITORS}
    for name, who, address in ROOMS:
        answer = clients[who].get(address.format(**numbers))
        if answer.status_code != (404 if name == "Not found" else 200):
            wrong.append((name, who, str(answer.status_code)))
        wrong += [(name, who, control) for control in (*unexplained(answer), *skipped_levels(answer))]
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize("who", VISITORS)
def test_what_is_disabled_for_anybody_says_why(
    who: str, shop: Node, signed_in: Callable[[str], Client]
) -> None:
    numbers, client = furnish(shop), signed_in(who)
    answers = {name: client.get(address.format(**numbers)) for name, _, address in ROOMS}
    assert not {name: unexplained(answer) for name, answer in answers.items() if unexplained(answer)}


def skipped_levels(answer: Any) -> list[str]:
    """The headings of a page that skip a level: an h3 right below the h1."""
    levels = [int(level) for level in re.findall(r"<h([1-6])[ >]", answer.content.decode())]
    return [f"h{two} after h{one}" for one, two in pairwise(levels) if two > one + 1]


def unexplained(answer: Any) -> list[str]:
    """The disabled controls of a page that no reason on it is tied to."""
    _, main, body = answer.content.decode().partition('<main id="main"')
    found = Controls()
    found.feed(main + body)
    return [control for control, why in found.disabled.items() if why not in found.ids - {""}]


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_room_is_accessible_and_fits(width: int, theme: str, visit: Callable[..., Any]) -> None:
    numbers, pages, found = furnish(the("metalake")), dict[str, Any](), []
    for name, who, address in ROOMS:
        if who not in pages:
            pages[who] = visit(who, width=width, theme=theme)
            pages[who].set_default_timeout(60_000)
        page = pages[who]
        page.goto(address.format(**numbers))
        page.wait_for_load_state("networkidle")
        findings = Axe().run(page, options=AXE).response["violations"]
        found += [(name, one["id"], [node["target"] for node in one["nodes"]]) for one in findings]
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found.append((name, "scrolls sideways", []))
    assert not found

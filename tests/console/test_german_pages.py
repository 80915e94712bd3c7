"""Every page in German, whose words are longer: nothing is wider than the window, no word breaks in two.

The same from right to left, as a third language may be written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from policies.analytics import uses
from policies.analytics.uses import ReportedUse
from policies.models import Backend
from policies.services import grants
from policies.services.grants import GrantRequest
from policies.sync import worker
from tests.console.screens import WIDTHS
from tests.console.site_pages import ADMIN, ROOMS, furnish, mirrored
from tests.console.test_browser import site, visit
from tests.factories import a_person, acting, the
from tests.sync.conftest import Source

__all__ = ["site", "visit"]  # fixtures
pytestmark = pytest.mark.browser
Room = tuple[str, str, str]
TOO_WIDE = """() => document.documentElement.scrollWidth <= innerWidth ? [] :
    [...document.querySelectorAll("body *")].filter(
        item => item.getBoundingClientRect().right > innerWidth && !item.closest("[hidden]")
    ).slice(-3).map(item => `${item.tagName}.${item.className}: ${item.textContent.trim().slice(0, 60)}`)"""
"""The innermost elements that reach beyond the window, when the page scrolls sideways."""

SIDEWAYS = """() => {
    document.documentElement.dir = "rtl";
    const sideways = document.documentElement.scrollWidth > innerWidth ? ["right to left, it scrolls"] : [];
    document.documentElement.dir = "ltr";
    return sideways;
}"""
BROKEN = """() => {
    const words = new Set(), shown = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const lines = range => new Set([...range.getClientRects()].map(line => Math.round(line.top))).size;
    while (shown.nextNode()) {
        const text = shown.currentNode, parent = text.parentElement;
        if (parent.closest("pre, code, .mono, [hidden], .sr") || !parent.checkVisibility()) continue;
        for (const word of text.data.matchAll(/[\\p{L}\\p{N}_\\u00ad]{3,24}/gu)) {
            if (word[0].includes("\\u00ad") || parent.clientWidth === 1) continue;
            const range = document.createRange();
            range.setStart(text, word.index);
            range.setEnd(text, word.index + word[0].length);
            if (lines(range) > 1) words.add(word[0]);
        }
    }
    const pen = document.createElement("canvas").getContext("2d");
    for (const cell of document.querySelectorAll("td[data-label]")) {
        const look = getComputedStyle(cell, "::before");
        if (getComputedStyle(cell).display !== "grid" || look.content === "none") continue;
        pen.font = look.font;
        const room = parseFloat(getComputedStyle(cell).gridTemplateColumns) + 1;
        const labels = cell.dataset.label.split(/[ \\u00ad-]/);
        for (const word of labels) if (pen.measureText(word).width > room) words.add(word);
    }
    return [...words];
}"""
"""The words that go on in the next line without a hyphen: of texts, and of labels of rows on a phone."""

LOOKED_FOR = (TOO_WIDE, BROKEN, SIDEWAYS)
CROWDED = (800, 900, 1024)
"""Between a phone and a desktop the widest tables have no room for whole words."""


EVERY_FOURTH = ROOMS[::4]


@pytest.mark.parametrize(
    "rooms, widths",
    [
        pytest.param(EVERY_FOURTH, WIDTHS[:1], id="some at 320"),
        pytest.param(ROOMS, WIDTHS, id="every", marks=pytest.mark.slow),
    ],
)
def test_every_page_fits_in_german(
    rooms: tuple[Room, ...], widths: tuple[int, ...], visit: Callable[..., Any], settings: Any
) -> None:
    """What the browser complains of fails it too, such as a number in a drawing that has a comma."""
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({ADMIN})
    numbers = furnish(the("metalake"))
    wrong = [
        page
        for visitor in dict.fromkeys(room[1] for room in rooms)
        for page in too_wide(visit(visitor, width=widths[0]), _seen_by(visitor, rooms), numbers, widths)
    ]
    assert not wrong


def _seen_by(visitor: str, rooms: tuple[Room, ...]) -> list[Room]:
    return [room for room in rooms if room[1] == visitor]


def too_wide(
    page: Any, rooms: list[Room], numbers: dict[str, int], widths: tuple[int, ...]
) -> Iterator[tuple[str, int, list[str]]]:
    page.set_extra_http_headers({"Accept-Language": "de"})
    for name, _, address in rooms:
        page.goto(address.format(**numbers))
        for width in widths:
            page.set_viewport_size({"width": width, "height": 900})
            looks = [look for look in LOOKED_FOR if look != BROKEN or width not in CROWDED]
            if wide := [fault for look in looks for fault in page.evaluate(look)]:
                yield name, width, wide


@pytest.mark.slow
def test_the_widest_tables_fit_with_all_that_they_can_show(visit: Callable[..., Any], source: Source) -> None:
    """Who has access: ends, usage, the state there, grants made outside.  Sync: three buttons a row."""
    numbers = mirrored(the("metalake"), source)
    table, now = the("table", "lake.sales.orders"), timezone.now()
    wish = GrantRequest(table, (a_person("ana"),), ("SELECT_TABLE",), None, now + timedelta(days=9))
    grants.add(wish, by=acting("olivia"))
    worker.deliver(Backend.objects.get(pk=numbers["backend"]))
    use = ReportedUse(a_person("ana"), table, "read", executed=True, at=now - timedelta(days=1))
    uses.take(table.realm_id, a_person("jobs"), "nightly", [use])
    page = visit("olivia", width=1280)
    rooms = [("Object", "olivia", "/objects/{lake_orders}"), ("Sync", "olivia", "/sync")]
    assert list(too_wide(page, rooms, numbers, (800, 900, 1024, 1152, 1280, 1440))) == []

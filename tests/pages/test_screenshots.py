"""The contact sheet: every room that links lead to, light and dark, narrow and wide, in var/screenshots.

`make screenshots` writes it; look at it.  It fails where a room answers with an error or scrolls sideways.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.urls import Resolver404, resolve

from policies.services import grants
from policies.services.grants import Wish
from tests.factories import a_person, acting, the, under
from tests.pages.test_browser import THEMES, WIDTHS, site, visit

__all__ = ["site", "visit"]  # fixtures
pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(1800)]

WHO = ("marek", "olivia")
PARTS = ("found", "nodes", "object_state", "grant_people", "sign_out")
"""What is no page of its own."""


def rooms(page: Any, known: dict[str, str]) -> dict[str, str]:
    """The first address of each route that links lead to, from Home on."""
    found, waiting = {"home": "/"}, ["/"]
    while waiting:
        page.goto(waiting.pop(0))
        for link in page.locator("a[href]").evaluate_all("all => all.map(one => one.getAttribute('href'))"):
            parts = urlsplit(link)
            if parts.netloc or not parts.path.startswith("/") or parts.path.endswith(".csv"):
                continue
            try:
                name = resolve(parts.path).url_name
            except Resolver404:
                continue
            if name and name not in found and name not in known and name not in PARTS:
                found[name] = link
                waiting.append(link)
    return found


def sheet(folder: Path, shots: list[tuple[str, str, str]]) -> None:
    """One page with all of them, four beside one another."""
    rows: dict[str, list[str]] = {}
    for name, address, file in shots:
        width = 90 if "-320-" in file else 320
        image = f'<a href="{file}"><img src="{file}" width="{width}" loading="lazy" alt="{escape(file)}"></a>'
        rows.setdefault(f"{name} <code>{escape(address)}</code>", []).append(image)
    body = "".join(f"<h2>{head}</h2><p>{' '.join(images)}</p>" for head, images in sorted(rows.items()))
    style = "body{font:14px sans-serif;background:#ddd}img{vertical-align:top;border:1px solid #888}"
    page = f"<!doctype html><meta charset=utf-8><title>Contact sheet</title><style>{style}</style>{body}"
    (folder / "index.html").write_text(page)


def test_every_room_has_its_picture(visit: Callable[..., Any]) -> None:
    under(the("schema", "shop.sales"), "table", *(f"{letter}_{at}" for letter in "bkpw" for at in range(20)))
    grants.add(
        Wish(the("table", "shop.sales.orders"), (a_person("ana"),), ("SELECT_TABLE",)), by=acting("olivia")
    )
    folder = Path(settings.BASE_DIR) / "var" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    shots: list[tuple[str, str, str]] = []
    known: dict[str, str] = {}
    wrong = []
    for who in WHO:
        here = rooms(visit(who), known)
        for width in WIDTHS:
            for theme in THEMES:
                page = visit(who, width=width, theme=theme)
                for name, address in here.items():
                    answer = page.goto(address)
                    if answer.status >= 400 or page.evaluate(
                        "document.documentElement.scrollWidth > innerWidth"
                    ):
                        wrong.append((who, name, address, width, answer.status))
                    file = f"{name}-{width}-{theme}.png"
                    page.screenshot(path=folder / file, full_page=True)
                    shots.append((name, address, file))
        known |= here
    sheet(folder, shots)
    assert not wrong
    assert len(known) > 20

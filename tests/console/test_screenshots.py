"""The contact sheet: every room with something going on, light and dark, narrow and wide, in var/screenshots.

`make screenshots` writes it; look at it.  It fails where a room answers with an error or scrolls sideways.
`LOCALE=de make screenshots` takes them in another language that the site offers, into a folder of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import pytest

from tests.console.screens import LOOKS, Look, turned
from tests.console.site_pages import ADMIN, ROOMS, ROOMS_OUT_THERE, furnish, mirrored
from tests.console.test_browser import site, visit
from tests.factories import the, under
from tests.sync.conftest import Source

__all__ = ["site", "visit"]  # fixtures
pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(3600)]


def sheet(folder: Path, shots: list[tuple[str, str, str]]) -> None:
    """One page with all of them, four beside one another."""
    rows: dict[str, list[str]] = {}
    for name, address, file in shots:
        width = 90 if "-320-" in file else 320
        image = f'<a href="{file}"><img src="{file}" width="{width}" loading="lazy" alt="{escape(file)}"></a>'
        rows.setdefault(f"{name} <code>{escape(address)}</code>", []).append(image)
    body = "".join(f"<h2>{head}</h2><p>{' '.join(images)}</p>" for head, images in rows.items())
    style = "body{font:14px sans-serif;background:#ddd}img{vertical-align:top;border:1px solid #888}"
    page = f"<!doctype html><meta charset=utf-8><title>Contact sheet</title><style>{style}</style>{body}"
    (folder / "index.html").write_text(page)


def file_of(name: str, look: Look) -> str:
    width, theme = look
    return f"{re.sub('[^a-z]+', '-', name.lower())}-{width}-{theme}.png"


def test_every_room_has_its_picture(visit: Callable[..., Any], settings: Any, source: Source) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({ADMIN})
    under(the("schema", "shop.sales"), "table", *(f"{letter}_{at}" for letter in "bkpw" for at in range(20)))
    numbers = {**furnish(the("metalake")), **mirrored(the("metalake"), source)}
    wrong, pages, rooms = [], dict[str, Any](), (*ROOMS, *ROOMS_OUT_THERE)
    language = os.environ.get("LOCALE", "en")
    assert language in dict(settings.LANGUAGES)
    folder = (
        Path(settings.BASE_DIR) / "var" / ("screenshots" if language == "en" else f"screenshots-{language}")
    )
    folder.mkdir(parents=True, exist_ok=True)
    shots: list[tuple[str, str, str]] = []
    for name, who, address in rooms:
        if who not in pages:
            pages[who] = visit(who)
            pages[who].set_extra_http_headers({"Accept-Language": language})
        page = pages[who]
        answer = page.goto(address.format(**numbers))
        page.wait_for_load_state("networkidle")
        for look in LOOKS:
            turned(page, look)
            sideways = page.evaluate("document.documentElement.scrollWidth > innerWidth")
            if sideways or (answer.status >= 400 and name != "Not found"):
                wrong.append((name, who, address, look, answer.status))
            page.screenshot(path=folder / file_of(name, look), full_page=True)
            shots.append((name, address, file_of(name, look)))
    sheet(folder, shots)
    assert not wrong

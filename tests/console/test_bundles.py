"""What a browser loads with a page: one style sheet, one file of scripts, compressed and kept for ever."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from typing import Any

from django.test import Client

from authzsite.environment import CHECKOUT
from authzsite.runtime.static_files import bundles
from catalog.nodes import Node

FIRST_PAGE = 60_000  # bytes over the wire, with nothing in the browser's cache
ZIPPED = {"HTTP_ACCEPT_ENCODING": "gzip"}


def loads_of(page: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r'(?:href|src)="(/static/[^"#]+)', page)))


def test_a_first_page_is_light(shop: Node, signed_in: Callable[[str], Client]) -> None:
    client = signed_in("olivia")
    page = client.get("/", **ZIPPED)
    assert page["Content-Encoding"] == "gzip"
    loads = loads_of(gzip.decompress(page.content).decode())
    assert [re.sub(r"\.[0-9a-f]{12}\.", ".", name) for name in loads] == [
        "/static/favicon.svg",
        "/static/console.css",
        "/static/console.js",
        "/static/icons.svg",
    ]
    answers = [client.get(name, **ZIPPED) for name in loads]
    assert {answer["Cache-Control"] for answer in answers} == {bundles.FOR_EVER}
    assert sum(len(answer.content) for answer in (page, *answers)) < FIRST_PAGE


def test_files_bear_their_content_in_their_name(client: Client, settings: Any, monkeypatch: Any) -> None:
    settings.DEBUG = True  # made anew each time
    before = bundles.name_of("console.css")
    read = bundles._read
    monkeypatch.setattr(bundles, "_read", lambda name: read(name) + b"/* changed */")
    assert bundles.name_of("console.css") != before
    stale = client.get(f"/static/{before}")
    assert b"/* changed */" in stale.content
    assert stale["Cache-Control"] == "no-store"


def test_all_sources_are_in_one_of_the_files() -> None:
    for folder, kind, taken in (("css", "css", bundles.STYLES), ("js", "js", bundles.SCRIPTS)):
        there = {f"{folder}/{path.name}" for path in (CHECKOUT / "static" / folder).glob(f"*.{kind}")}
        assert there == set(taken)


def test_programs_get_what_is_not_compressed(client: Client) -> None:
    assert "Content-Encoding" not in client.get("/health/live", **ZIPPED).headers
    plain = client.get(f"/static/{bundles.name_of('console.js')}")
    assert b"htmx" in plain.content
    assert plain["Vary"] == "Accept-Encoding"

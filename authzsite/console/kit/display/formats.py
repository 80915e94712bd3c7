"""How dates and numbers are written for somebody: as they chose, else as their language does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from django.utils import translation


@dataclass(frozen=True)
class Formats:
    """Django's date letters for a day within the year, one far away and a time of day; marks in numbers."""

    code: str
    name: str
    near: str
    far: str
    time: str
    thousands: str
    language: str = "en-GB"


KNOWN = (
    Formats("en-gb", "Fri 27 Nov, 18:00 · 100,214", "D j M", "j M Y", "H:i", ","),
    Formats("en-us", "Fri, Nov 27, 6:00 PM · 100,214", "D, M j", "M j, Y", "g:i A", ",", "en-US"),
    Formats("de", "Fri 27. Nov, 18:00 · 100.214", "D j. M", "j. M Y", "H:i", "."),
    Formats(
        "fr",
        "Fri 27 Nov, 18:00 · 100\N{NARROW NO-BREAK SPACE}214",
        "D j M",
        "j M Y",
        "H:i",
        "\N{NARROW NO-BREAK SPACE}",
    ),
    Formats(
        "iso",
        "2026-11-27, 18:00 · 100\N{NARROW NO-BREAK SPACE}214",
        "Y-m-d",
        "Y-m-d",
        "H:i",
        "\N{NARROW NO-BREAK SPACE}",
    ),
)
DEFAULT = KNOWN[0]
_BY_CODE = {item.code: item for item in KNOWN}
_now: ContextVar[str] = ContextVar("formats", default="")


def known(code: str) -> Formats:
    """Those of that code; without one those of the language that is spoken now."""
    return _BY_CODE.get(code) or _BY_CODE.get(translation.get_language() or "", DEFAULT)


def current() -> Formats:
    return known(_now.get())


@contextmanager
def written(code: str) -> Iterator[None]:
    """Within the block dates and numbers are written so."""
    token = _now.set(code)
    try:
        yield
    finally:
        _now.reset(token)

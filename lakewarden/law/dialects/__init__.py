"""The laws Lakewarden speaks, each as data.  `get("gravitino")` answers one, built on first use and kept."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from lakewarden.law.dialects.base import Dialect, Listing, Operation, Privilege
from lakewarden.law.dialects.patterns import TextDialect

_PLACES = {
    "gravitino": "gravitino",
    "herd": "herd",
    "cdap34": "cdap.cdap34",
    "cdap35": "cdap.cdap35",
    "cdap43": "cdap.cdap43",
}
CODES = tuple(_PLACES)

__all__ = [
    "CODES",
    "Dialect",
    "Listing",
    "Operation",
    "Privilege",
    "TextDialect",
    "UnknownDialect",
    "every",
    "get",
]


class UnknownDialect(LookupError):
    """No law of that name is built in."""


@cache
def get(code: str) -> Dialect:
    """The dialect of that code.  Raises UnknownDialect."""
    if code not in CODES:
        raise UnknownDialect(f"`{code}` is no dialect; known are {', '.join(CODES)}")
    dialect: Dialect = import_module(f"lakewarden.law.dialects.{_PLACES[code]}").DIALECT
    return dialect


def every() -> tuple[Dialect, ...]:
    """All dialects, in the order of their codes."""
    return tuple(get(code) for code in CODES)

"""Patterns with `*` (any characters, or none) and `?` (exactly one), and many of them asked at once.

A pattern holds for a whole text and tells capitals from small letters.  No pattern can make a test slow:
the pieces between stars are looked for from left to right, once each.  The text may itself be a pattern; then
the answer is yes only where everything like the text is like the pattern too, so `?` never stands for a `*`.
"""

from __future__ import annotations

import re
from functools import lru_cache

_WILD = re.compile(r"[*?]")


def is_glob(text: str) -> bool:
    return "*" in text or "?" in text


class Glob:
    """One pattern, taken apart once: what the text begins and ends with, and the pieces between stars."""

    __slots__ = ("first", "last", "least", "pieces", "starred")

    def __init__(self, pattern: str) -> None:
        first, *rest = pattern.split("*")
        self.starred = bool(rest)
        self.first = _Piece(first)
        self.last = _Piece(rest[-1]) if rest else _Piece("")
        self.pieces = [_Piece(text) for text in rest[:-1] if text]
        self.least = len(pattern) - len(rest)

    def __call__(self, text: str) -> bool:
        if len(text) < self.least or not self.first.at(text, 0):
            return False
        if not self.starred:
            return len(text) == self.first.length
        end = len(text) - self.last.length
        if not self.last.at(text, end):
            return False
        place = self.first.length
        for piece in self.pieces:
            place = piece.after(text, place, end)
            if place < 0:
                return False
        return place <= end


class _Piece:
    """What stands between two stars: letters, and places where any one letter may be."""

    __slots__ = ("form", "length", "text")

    def __init__(self, text: str) -> None:
        self.text, self.length = text, len(text)
        self.form = None
        if "?" in text:
            self.form = re.compile("".join("[^*]" if item == "?" else re.escape(item) for item in text))

    def at(self, text: str, place: int) -> bool:
        if self.form is None:
            return text.startswith(self.text, place)
        return self.form.match(text, place) is not None

    def after(self, text: str, start: int, end: int) -> int:
        """Where the first such piece from `start` ends, at `end` at the latest; -1 when there is none."""
        if self.form is None:
            place = text.find(self.text, start, end)
            return -1 if place < 0 else place + self.length
        match = self.form.search(text, start, end)
        return -1 if match is None else match.end()


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> Glob:
    return Glob(pattern)


def like(pattern: str, text: str) -> bool:
    """Whether the whole text is like the pattern."""
    return pattern == text if not is_glob(pattern) else _compiled(pattern)(text)


def edges(pattern: str) -> tuple[str, str]:
    """What every text like the pattern begins and ends with."""
    return _WILD.split(pattern, maxsplit=1)[0], re.split(r"[*?]", pattern)[-1]


def pieces(pattern: str) -> list[str]:
    """The letters that stand together between what a pattern begins and ends with."""
    return [piece for piece in re.split(r"[*?]", pattern)[1:-1] if piece]

"""Text as the database can hold it: no NUL, and no half of a character that lies beyond the first plane."""

from __future__ import annotations

import re

from django.db.models import Q

_BEYOND = re.compile("[\0\ud800-\udfff]")


def holdable(text: str) -> bool:
    """Whether the database can hold a text; what it cannot hold it cannot find either."""
    return _BEYOND.search(text) is None


def recordable(text: str, longest: int) -> str:
    """A text to be recorded whatever it holds: cut to so many characters, each unholdable one replaced."""
    return _BEYOND.sub("\N{REPLACEMENT CHARACTER}", text[:longest])


def in_capitals(text: str) -> str:
    """A text as the database compares texts in any case: letter by letter.

    `str.upper` makes two letters of some (`ﬁ`, `ß`), and with them one name of two that the laws keep apart.
    """
    return "".join(large if len(large := letter.upper()) == 1 else letter for letter in text)


def called(text: str, holder: str = "") -> Q:
    """The principals whose names hold every word of a text, in any case: `ana ly` finds Ana Analyst.

    `holder` leads to the principal from other rows: `asker__`.
    """
    wanted = Q()
    for word in text.split():
        wanted &= Q((f"{holder}name__icontains", word)) | Q((f"{holder}display_name__icontains", word))
    return wanted

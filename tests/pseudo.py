"""A language made of English, for tests: ⟦Ĝŕåñţ åççéšš⟧.  What lies outside its brackets was not marked.

`CODE` is read from the left, `MIRRORED` from the right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.utils.translation import trans_real
from django.utils.translation.trans_real import CONTEXT_SEPARATOR

CODE, MIRRORED = "en-xa", "ar-xb"
LETTERS = frozenset("ACDEGHIJKLNORSTUYZacdeghijklnorstuyz")
"""Those that a marked text has with accents alone."""
_ACCENTED = str.maketrans("ACDEGHIJKLNORSTUYZacdeghijklnorstuyz", "ÅÇÐÉĜĤÎĴĶĻÑÖŔŠŢÛÝŽåçðéĝĥîĵķļñöŕšţûýž")
_KEPT = re.compile(r"%(?:\(\w+\))?[sd%]|<[^>]*>|&\w+;|\{\w*\}")
"""What stands within a text and is no word: what is filled in, and marks of HTML."""


def of(text: str) -> str:
    """A text in that language."""
    parts, at = [], 0
    for kept in _KEPT.finditer(text):
        parts += [text[at : kept.start()].translate(_ACCENTED), kept.group()]
        at = kept.end()
    return f"⟦{''.join(parts)}{text[at:].translate(_ACCENTED)}⟧"


class Pseudo(trans_real.DjangoTranslation):
    """Every text there is, without a catalogue."""

    def gettext(self, message: str) -> str:
        return of(message.rpartition(CONTEXT_SEPARATOR)[2]) if message else ""

    def ngettext(self, singular: str, plural: str, number: Any) -> str:
        return of((singular if number == 1 else plural).rpartition(CONTEXT_SEPARATOR)[2])


@contextmanager
def offered(settings: Any) -> Iterator[None]:
    """Both may be chosen, beside English."""
    settings.LANGUAGES = [("en", "English"), (CODE, "Pseudo"), (MIRRORED, "Mirrored")]
    for code in (CODE, MIRRORED):
        trans_real._translations[code] = Pseudo(code)  # type: ignore[attr-defined]
    yield
    for code in (CODE, MIRRORED):
        del trans_real._translations[code]  # type: ignore[attr-defined]

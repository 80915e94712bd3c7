"""Words in the record: names and reasons fall into words at dots, dashes and slashes; beginnings find it."""

from __future__ import annotations

import re

from django.contrib.postgres.search import SearchQuery, SearchVector
from django.db.models import F, Func, TextField, Value

SIMPLE = "simple"  # no stems and no stop words: names belong to no language
_JOINTS = "/._-\"'"


def _words(field: str) -> SearchVector:
    parted = Func(
        F(field),
        Value(_JOINTS),
        Value(" " * len(_JOINTS)),
        function="translate",
        output_field=TextField(),
    )
    return SearchVector(parted, config=SIMPLE)


NAME_WORDS = _words("object_name")
REASON_WORDS = _words("reason")


def beginning_so(text: str) -> SearchQuery | None:
    """Every word of the text, or one that begins with it; None when the text has no word."""
    words = re.findall(r"\w+", text)
    raw = " & ".join(f"{word}:*" for word in words)
    return SearchQuery(raw, config=SIMPLE, search_type="raw") if words else None

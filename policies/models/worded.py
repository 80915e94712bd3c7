"""Words in the record: names of objects fall into words at dots and slashes; beginnings find words."""

from __future__ import annotations

import re

from django.contrib.postgres.search import SearchQuery, SearchVector
from django.db.models import F, Func, TextField, Value

SIMPLE = "simple"  # no stems and no stop words: names belong to no language
NAME_WORDS = SearchVector(
    Func(F("object_name"), Value("/._-\"'"), Value("      "), function="translate", output_field=TextField()),
    config=SIMPLE,
)
REASON_WORDS = SearchVector("reason", config=SIMPLE)


def beginning_so(text: str) -> SearchQuery | None:
    """Every word of the text, or one that begins with it; None when the text has no word."""
    words = re.findall(r"\w+", text)
    raw = " & ".join(f"{word}:*" for word in words)
    return SearchQuery(raw, config=SIMPLE, search_type="raw") if words else None

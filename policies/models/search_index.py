"""What changes are found by: words of reasons and names, people, objects, kinds; and the indexes of these.

Names and reasons fall into words at dots, dashes and slashes; the beginning of a word finds it.
"""

from __future__ import annotations

import re

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.search import SearchQuery, SearchVector, SearchVectorField
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

# the same for an index: each word and facet behind the block of revisions it was said in (docs/adr/0017)
EVENT_FACETS = Func(
    "change",
    "kind",
    "lineage",
    "people",
    function="lakewarden_event_facets",
    output_field=ArrayField(TextField()),
)
EVENT_WORDS = Func("change", "object_name", function="lakewarden_words", output_field=SearchVectorField())
CHANGE_FACETS = Func(
    "revision", "actor", function="lakewarden_change_facets", output_field=ArrayField(TextField())
)
CHANGE_WORDS = Func("revision", "reason", function="lakewarden_words", output_field=SearchVectorField())
LONGEST_WORD = 200
"""Characters of a word that the index knows."""


def beginning_so(text: str) -> SearchQuery | None:
    """Every word of the text, or one that begins with it; None when the text has no word."""
    raw = words_in(text)
    return SearchQuery(raw, config=SIMPLE, search_type="raw") if raw else None


def words_in(text: str) -> str:
    """The words of a text as `to_tsquery` takes them; empty when there is none."""
    return " & ".join(f"{word[:LONGEST_WORD]}:*" for word in re.findall(r"[^\W_]+", text))

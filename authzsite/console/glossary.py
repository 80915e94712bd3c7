"""Help: the words of the console, and where to read on."""

from __future__ import annotations

from django.http import HttpResponse

from authzsite.console.door import signed_in
from authzsite.console.glossary_words import GROUPS
from authzsite.console.methods import reads
from authzsite.console.requests import Request
from authzsite.console.shell import page


@reads
@signed_in
def room(request: Request) -> HttpResponse:
    """Every word, by where one meets it."""
    text = request.GET.get("q", "").strip()[:255]
    folded = text.casefold()
    groups = [
        (heading, [one for one in some if folded in f"{one.word} {one.text}".casefold()])
        for heading, some in GROUPS
    ]
    context = {
        "heading": "Help and words",
        "lead": "What the console's words mean. A question mark beside one leads here.",
        "asked": text,
        "groups": [(heading, some) for heading, some in groups if some],
    }
    return page(request, "console/help.html", context)

"""Help: the words of the console, and where to read on."""

from __future__ import annotations

from django.http import HttpResponse
from django.utils.translation import gettext as _

from authzsite.console.help.glossary import GROUPS, Word
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page


def _translated(item: Word) -> Word:
    """A word and its meaning in the reader's language."""
    return Word(item.code, _(item.word), _(item.text))


@reads
@login_required
def glossary_page(request: Request) -> HttpResponse:
    """Every word, by where one meets it."""
    text = request.GET.get("q", "").strip()[:255]
    folded = text.casefold()
    groups = [
        (
            _(heading),
            [item for item in map(_translated, some) if folded in f"{item.word} {item.text}".casefold()],
        )
        for heading, some in GROUPS
    ]
    context = {
        "heading": _("Help and words"),
        "lead": _("The words of the console and their meaning. A question mark beside a word leads here."),
        "asked": text,
        "groups": [(heading, some) for heading, some in groups if some],
    }
    return page(request, "console/help/help.html", context)

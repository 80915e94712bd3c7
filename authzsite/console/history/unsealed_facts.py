"""Facts that were written past the console, as pages tell of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Note
from policies.decisions.seals import unsealed
from policies.models import UnsealedFact

SHOWN = 100


@dataclass(frozen=True)
class UnsealedFactRow:
    """One such fact: what it says now, and what is known of who wrote it."""

    code: str
    says: str
    by: str
    found: datetime


def note() -> Note | None:
    """The banner for who runs the site.  One query."""
    many = unsealed.standing().count()
    if not many:
        return None
    return Note(
        "bad",
        ngettext(
            "%(many)s fact was written into the database outside the console.",
            "%(many)s facts were written into the database outside the console.",
            many,
        )
        % {"many": words.number(many)},
        _("They are not used for decisions."),
        reverse("console:integrity"),
        _("See which"),
    )


def rows() -> list[UnsealedFactRow]:
    """The first of them, oldest first.  One query."""
    return [_row(item) for item in unsealed.standing()[:SHOWN]]


def _row(unsealed_fact: UnsealedFact) -> UnsealedFactRow:
    says = ", ".join(
        f"{name} {value}" for name, value in unsealed_fact.content.items() if value not in (None, "")
    )
    if not unsealed_fact.writer:
        deleted = _("It is gone: a session of the database deleted it. Which one is not known.")
        return UnsealedFactRow(str(unsealed_fact), says, deleted, unsealed_fact.found)
    when = words.moment(unsealed_fact.written) if unsealed_fact.written else _("when is not known")
    by = _(
        "a session of the database, in its transaction %(writer)s; %(when)s. Its role is not known here."
    ) % {"writer": unsealed_fact.writer, "when": when}
    return UnsealedFactRow(str(unsealed_fact), says, by, unsealed_fact.found)

"""The steps of a policy file's plan, counted and written out, removals first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Count, DiffLine, Tally
from policies.policy_files.comparison import ADD, CHANGE, REMOVE

SHOWN = 40
"""So many steps of each kind are written out; of the rest the page says how many there are."""
KINDS = (
    (REMOVE, "lose", gettext_lazy("to remove"), gettext_lazy("Removed")),
    (CHANGE, "change", gettext_lazy("to change"), gettext_lazy("Changed")),
    (ADD, "gain", gettext_lazy("to add"), gettext_lazy("Added")),
)
Steps = Sequence[tuple[str, object]]
"""Each by its action and what says it in a sentence."""


def tally(steps: Steps) -> Tally:
    """How many there are of each kind that there is."""
    counted = (
        (sum(action == word for word, _text in steps), label, kind) for action, kind, label, _subject in KINDS
    )
    return Tally(tuple(Count(words.number(many), str(label), kind) for many, label, kind in counted if many))


def lines(steps: Steps) -> Iterator[DiffLine]:
    """The first of each kind, and of the rest how many there are."""
    for action, kind, _label, subject in KINDS:
        texts = [text for word, text in steps if word == action]
        yield from (DiffLine(kind, str(subject), str(text)) for text in texts[:SHOWN])
        if len(texts) > SHOWN:
            yield DiffLine(kind, words.number(len(texts) - SHOWN), _("more steps of this kind"))

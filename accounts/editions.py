"""Which sealed rows a change has written anew, so that the record can tell their newest edition.

A seal proves that the console wrote a row once.  Its edition, which the seal covers and the record tells,
proves that it wrote nothing later: an earlier state that somebody puts back has an earlier one (adr 0056).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.db.models import Model

Written = dict[tuple[type[Model], int], int]
"""The edition that each row got."""
_written: ContextVar[Written | None] = ContextVar("written", default=None)


@contextmanager
def gathered() -> Iterator[Written]:
    """What is written inside, as it comes."""
    found: Written = {}
    token = _written.set(found)
    try:
        yield found
    finally:
        _written.reset(token)


def note(model: type[Model], number: int, edition: int) -> None:
    """A row got that edition; the change that is under way tells so in the record."""
    written = _written.get()
    if written is not None:
        written[model, number] = edition


def code_of(row: Model) -> str:
    """The name of a row in the record: `substitute:17`."""
    return f"{row._meta.model_name}:{row.pk}"

"""Which sealed rows a change has written anew, so that the record can tell their newest edition.

A seal proves that the console wrote a row once.  Its edition, which the seal covers and the record tells,
proves that it wrote nothing later: an earlier state that somebody puts back has an earlier one (adr 0056).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.db.models import Model

Written = dict[tuple[type[Model], int], int]
"""The edition that each row got."""
_written: ContextVar[Written | None] = ContextVar("written", default=None)


@contextmanager
def gathered() -> Iterator[Written]:
    """What is written inside, as it comes."""
    written: Written = {}
    token = _written.set(written)
    try:
        yield written
    finally:
        _written.reset(token)


class Untold(RuntimeError):
    """A sealed row was written where nothing tells its edition: whoever puts it back is not found."""

    def __init__(self, codes: Iterable[str]) -> None:
        super().__init__(f"nothing in the record would tell that {', '.join(codes)} was written")


def are_gathered() -> bool:
    """Whether somebody here tells which sealed rows are written, as a change does."""
    return _written.get() is not None


def note(model: type[Model], number: int, edition: int) -> None:
    """A row got that edition; the change that is under way tells so in the record.  Raises Untold."""
    written = _written.get()
    if written is None:
        raise Untold([f"{model._meta.model_name}:{number}"])
    written[model, number] = edition


def noted(model: type[Model], number: int) -> int:
    """The edition that a row got in the change that is under way; 0 for none."""
    return (_written.get() or {}).get((model, number), 0)


def code_of(row: Model) -> str:
    """The name of a row in the record: `substitute:17`."""
    return f"{row._meta.model_name}:{row.pk}"

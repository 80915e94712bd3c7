"""While the console's database is away nothing is decided: 503 and when to come again, never a 500."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import Error, InterfaceError, OperationalError

TEXT = "the console's database does not answer now; no decision was made and nothing was changed"
RETRY_AFTER = "2"
"""Seconds."""
_READ_ONLY = "25006"
"""What a standby answers that did not yet take over."""


def is_outage(error: BaseException | None) -> bool:
    """Whether an error means that the database is away, full or busy: what passes, and is no answer."""
    return any(
        isinstance(item, OperationalError | InterfaceError) or _sqlstate(item) == _READ_ONLY
        for item in _chain(error)
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _sqlstate(error: BaseException) -> str:
    return str(getattr(error.__cause__, "sqlstate", "")) if isinstance(error, Error) else ""

"""What went wrong in the backend, named by what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lakewarden.backends.base import Step


class BackendError(Exception):
    """A backend did not do what was asked; the text is in the backend's own words."""


class Transient(BackendError):
    """It may work the next time: try again, later each time."""


class NotAnswering(Transient):
    """It took the call and gave no answer in time; what was asked of it may have been done or not."""


class KeptBack(Transient):
    """It was not tried, as it waits for another step that failed: `first`."""

    def __init__(self, first: Step) -> None:
        super().__init__(f"waits for what failed: {first.kind} {first.role or first.person}")
        self.first = first


class Gone(BackendError):
    """The object or principal is not there any more: observe again."""


class Rejected(BackendError):
    """It will never work as it is: park it and show it to the owner."""


class Misconfigured(BackendError):
    """Nothing will work until the connection is mended: pause the backend, raise one alert."""


_WORST_FIRST = (Misconfigured, Transient, Rejected, Gone)


def worst(errors: Sequence[BackendError]) -> BackendError:
    """The one of several that matters most, which says how many more there are."""
    first = min(
        errors, key=lambda error: next(n for n, kind in enumerate(_WORST_FIRST) if isinstance(error, kind))
    )
    return type(first)(f"{first} (and {len(errors) - 1} more)") if len(errors) > 1 else first


def kind_of(error: Exception) -> str:
    """transient, gone, rejected, misconfigured; "" for what is no error of a backend."""
    kinds = (Transient, Gone, Rejected, Misconfigured)
    return next((kind.__name__.lower() for kind in kinds if isinstance(error, kind)), "")

"""Carrying out a plan step by step; what would be unsafe after a failure is kept back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Optional

from lakewarden.backends.base import Outcome, Step
from lakewarden.backends.errors import BackendError, Gone, KeptBack
from lakewarden.backends.planning.ordering import waits_for

Do = Callable[[Step], object]
"""Carries out one step; raises BackendError when it is not done."""


def in_turn(steps: Iterable[Step], do: Do) -> Iterator[Outcome]:
    """Try each step and say what became of it."""
    failed: list[Step] = []
    for step in steps:
        yield attempted(step, failed, do)


def attempted(step: Step, failed: list[Step], do: Do) -> Outcome:
    """Try a step unless it waits for one of `failed`, where it is added when it is not done."""
    error = kept_back(step, failed)
    if error is None:
        try:
            do(step)
            return Outcome(step)
        except BackendError as reason:
            error = reason
    if not (step.kind == "give" and isinstance(error, Gone)):
        failed.append(step)  # nobody waits for rights on what is no longer there
    return Outcome(step, error)


def kept_back(step: Step, failed: Iterable[Step]) -> Optional[BackendError]:
    """The error of a step that waits for one that failed; None when nothing keeps it."""
    first = waits_for(step, failed)
    if first is None:
        return None
    return KeptBack(first)

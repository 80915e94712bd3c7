"""Waiting for what another process or thread does."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 240.0
"""Seconds after which nobody believes in it any more; long, for busy machines."""


def until(
    true: Callable[[], bool],
    missing: Callable[[], object] = lambda: "it did not come true",
    *,
    pause: Callable[[], object] = lambda: time.sleep(0.02),
) -> None:
    """Come back as soon as it is true.  Raises AssertionError with what is missing where it stays untrue."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, missing()
        pause()

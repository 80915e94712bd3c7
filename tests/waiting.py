"""Waiting for what another process does."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 120.0
"""Seconds after which nobody believes in it any more; long, for busy machines."""


def until(true: Callable[[], bool]) -> None:
    """Come back as soon as it is true.  Raises AssertionError when it does not come true."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.05)

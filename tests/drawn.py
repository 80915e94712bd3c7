"""Worlds that tests draw: a few on each change, all of them by the slow tests."""

from __future__ import annotations

from typing import Any

import pytest


def seeds(many: int, *, fast: int = 1) -> Any:
    """For each of so many seeds, of which the first few are tried on each change."""
    slow = (pytest.param(seed, marks=pytest.mark.slow) for seed in range(fast, many))
    return pytest.mark.parametrize("seed", [*range(fast), *slow])

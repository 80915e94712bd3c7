"""Everything here is marked `real`: it needs servers of others, which `make real` fetches and starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.real.results import Figures

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.real)


@pytest.fixture(scope="session")
def figures() -> Any:
    """What a test counts, for docs/real.md."""
    return Figures()

"""One Spark for the tests of this folder, and a place of its own for what the site writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.spark.conftest import place, plain

__all__ = ["place", "plain"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent) and "plain" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(autouse=True)
def var(tmp_path: Path, settings: Any) -> Iterator[Path]:
    """Where the site writes, and the small Spark that it writes with."""
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, var=tmp_path)
    settings.SPARK_MASTER = "local[2]"
    yield tmp_path

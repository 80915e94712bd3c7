"""Gravitino and the console's own interface, both over HTTP, for all tests of this folder."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from tests.api_gravitino.conftest import site  # noqa: F401 - a fixture
    from tests.api_gravitino.world import Site
    from tests.real.gravitino.server import Gravitino
    from tests.real.gravitino.sides import Rest


@pytest.fixture(scope="package")
def gravitino() -> Iterator[Gravitino]:
    running = Gravitino()
    yield running
    running.stop()


@pytest.fixture(scope="package")
def theirs(gravitino: Gravitino) -> Iterator[Rest]:
    side = Rest(gravitino.port)
    yield side
    side.close()


@pytest.fixture(scope="package")
def ours(site: Site) -> Iterator[Rest]:
    side = Rest(int(site.url.rpartition(":")[2]))
    yield side
    side.close()

"""One CDAP for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.real.cdap_server.server import Cdap
from tests.real.cdap_server.worlds import ADMIN, MAKER, PEOPLE


@pytest.fixture(scope="package")
def cdap() -> Iterator[Cdap]:
    running = Cdap(ADMIN, MAKER, *PEOPLE)
    yield running
    running.stop()

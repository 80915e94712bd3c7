"""The contract of the backend `gravitino` on a metalake of Apache Gravitino."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lakewarden.backends.base import Right
from lakewarden.backends.testing.contract import Contract
from lakewarden.backends.testing.kit import READS, WRITES
from lakewarden.backends.testing.suite import ORDERS
from tests.real.gravitino.lake import Lake, There, on
from tests.real.gravitino.server import Gravitino

pytestmark = pytest.mark.django_db


class TestGravitino(Contract):
    READ = on(*ORDERS, READS)
    WRITE = on(*ORDERS, READS, WRITES)
    COSTS = on("sales", "costs", READS)
    on = staticmethod(on)
    has_ids = False  # names are all the API tells
    denies = True
    refuses = True
    blinds = True
    odd_names = ("a-b", "a=b", "_", "x" * 60)
    seeds = range(50)

    @pytest.fixture
    def site(self, gravitino: Gravitino) -> Iterator[Lake]:
        lake = Lake(There(gravitino.port), str(gravitino.home))
        yield lake
        lake.do("DELETE", f"/api/metalakes/{lake.name}?force=true")

    def denial(self, schema: str, table: str) -> frozenset[Right]:
        return frozenset({Right("fileset", (schema, table), "DENY READ_FILESET")})

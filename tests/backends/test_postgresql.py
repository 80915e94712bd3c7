"""The contract on real PostgreSQL servers."""

from __future__ import annotations

import pytest

from lakewarden.backends.testing.contract import Contract
from tests.backends.worlds import ROUNDS


class TestPostgreSQL(Contract):
    refuses = True
    seeds = ROUNDS

    @pytest.fixture
    def site(self, shop):
        return shop

"""The contract on real PostgreSQL servers."""

import pytest

from tests.backends.contract import Contract


class TestPostgreSQL(Contract):
    @pytest.fixture
    def site(self, shop):
        return shop

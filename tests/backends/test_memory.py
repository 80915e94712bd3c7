"""The contract on the twin in memory."""

from __future__ import annotations

import pytest

from lakewarden.backends.contract import Contract
from tests.backends.worlds import ROUNDS, MemorySite


class TestMemory(Contract):
    blinds = True
    refuses = True
    seeds = ROUNDS

    @pytest.fixture
    def site(self):
        return MemorySite()

    def test_what_cannot_be_read_blocks_the_connection(self, site):
        with site.blinded():
            assert [finding.blocks for finding in site.backend().check()] == [True]

"""The contract on the twin in memory."""

import pytest

from lakewarden.backends import planning
from lakewarden.backends.base import Desired
from tests.backends.contract import READ, Contract
from tests.backends.worlds import MemorySite, look, settle, wanted


class TestMemory(Contract):
    @pytest.fixture
    def site(self):
        return MemorySite()

    def test_nothing_is_removed_when_not_all_could_be_read(self, site, ana):
        settle(site, wanted({"r": READ}, r={ana}))
        site.world.readable = False
        assert planning.plan(Desired({}, {}), look(site)).steps == ()
        assert [finding.blocks for finding in site.backend().check()] == [True]

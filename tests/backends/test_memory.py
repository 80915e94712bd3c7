"""The contract on the twin in memory."""

from __future__ import annotations

import pytest

from lakewarden.backends.testing.contract import Contract
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


def test_each_ability_brings_its_tests_and_the_lack_of_one_takes_them_away():
    class Able(Contract):
        blinds = denies = refuses = True

    class Unable(Able):
        blinds = has_roles = False

    class AbleAgain(Unable):
        blinds = True

    needing = {name for name in vars(Contract) if hasattr(vars(Contract)[name], "needs")}
    assert {vars(Contract)[name].needs for name in needing} >= {"blinds", "denies", "refuses", "has_roles"}
    assert all(getattr(Able, name) for name in needing)
    lost = {name for name in needing if vars(Contract)[name].needs in ("blinds", "has_roles")}
    assert {name for name in needing if getattr(Unable, name) is None} == lost
    regained = {name for name in lost if vars(Contract)[name].needs == "blinds"}
    assert {name for name in needing if getattr(AbleAgain, name) is None} == lost - regained

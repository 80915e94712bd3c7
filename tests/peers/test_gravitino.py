"""The contract on a metalake of a second console, over its own REST API."""

from __future__ import annotations

import pytest

from lakewarden.backends.base import Right
from lakewarden.backends.testing.contract import Contract, assert_settled
from lakewarden.backends.testing.kit import READS, WRITES, look, settle, wanted
from lakewarden.backends.testing.suite import ORDERS
from policies.sync.backends.gravitino.names import OWNER, owner_key
from tests.backends.worlds import rounds
from tests.peers.worlds import Lake

pytestmark = pytest.mark.django_db
WORDS = {READS: "SELECT_TABLE", WRITES: "MODIFY_TABLE"}


def on(schema: str, table: str, *deeds: str) -> frozenset[Right]:
    """Privileges on a table and the way to it."""
    way = (Right("catalog", (), "USE_CATALOG"), Right("schema", (schema,), "USE_SCHEMA"))
    return frozenset((*way, *(Right("table", (schema, table), WORDS[deed]) for deed in deeds)))


class TestGravitino(Contract):
    READ = on(*ORDERS, READS)
    WRITE = on(*ORDERS, READS, WRITES)
    COSTS = on("sales", "costs", READS)
    on = staticmethod(on)
    has_ids = False  # names are all the API tells
    denies = True
    refuses = True
    blinds = True
    odd_names = (
        "a/b",
        "x" * 64,
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("a-b", "a=b", "_")),
    )
    seeds = rounds(1)  # they take seconds

    @pytest.fixture
    def site(self, peer):
        return Lake(peer)

    def denial(self, schema, table):
        return frozenset({Right("table", (schema, table), "DENY SELECT_TABLE")})

    def test_a_denial_takes_the_place_of_what_was_allowed_on_the_same_object(self, site, ana):
        """One role cannot hold both, so the one goes before the other comes."""
        settle(site, wanted({"r": self.READ}, r={ana}))
        denied = self.READ - on(*ORDERS, READS) | on("sales", "x") | self.denial(*ORDERS)
        settle(site, desired := wanted({"r": denied}, r={ana}))
        assert_settled(site, desired)
        assert not site.may(ana, READS, *ORDERS)
        settle(site, desired := wanted({"r": self.READ}, r={ana}))
        assert_settled(site, desired)
        assert site.may(ana, READS, *ORDERS)

    def test_what_is_out_of_sight_for_a_while_is_ours_afterwards(self, site, ana):
        owned = frozenset({Right("table", ORDERS, OWNER)})
        settle(site, desired := wanted({owner_key(ana): owned}, **{owner_key(ana): {ana}}))
        with site.blinded():
            assert look(site).roles == {}
        assert look(site).roles == {owner_key(ana): owned}
        assert_settled(site, desired)

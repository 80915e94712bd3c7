"""The contract on a metalake of a second console, over its own REST API."""

from __future__ import annotations

import pytest

from lakewarden.backends.base import Right
from lakewarden.backends.contract import Contract, assert_settled
from lakewarden.backends.kit import settle, wanted
from tests.peers.worlds import Lake

pytestmark = pytest.mark.django_db


def on(schema: str, table: str, *words: str) -> frozenset[Right]:
    """Rights on a table and the way to it, in the suite's words."""
    way = (Right("catalog", (), "CONNECT"), Right("schema", (schema,), "USAGE"))
    return frozenset((*way, *(Right("table", (schema, table), word) for word in words)))


class TestGravitino(Contract):
    READ = on("sales", "orders", "SELECT")
    WRITE = on("sales", "orders", "SELECT", "DELETE")
    COSTS = on("sales", "costs", "SELECT")
    on = staticmethod(on)
    has_ids = False  # the API tells none, so what is renamed looks like another
    odd_names = ("a-b", "a=b", "a/b", "_", "x" * 64)  # of those that Gravitino lets objects have

    @pytest.fixture
    def site(self, peer):
        return Lake(peer)

    def test_people_are_called_as_they_are(self, site, ana):
        person = site.person("bo %s Größe")
        settle(site, desired := wanted({"r": self.READ}, r={person}))
        assert_settled(site, desired)

"""The contract on a metalake of a second console, over its own REST API."""

from __future__ import annotations

import pytest

from lakewarden.backends.base import Desired, Right
from tests.backends.contract import Contract, assert_settled, plan_of
from tests.backends.worlds import look, settle, wanted
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

    @pytest.fixture
    def site(self, peer):
        return Lake(peer)

    def test_a_recreated_object_has_lost_its_rights(self, site, ana):
        desired = wanted({"r": self.WRITE}, r={ana})
        settle(site, desired)
        site.drop("sales", "orders")
        site.table("sales", "orders")
        assert (plan_of(site, desired).missing, plan_of(site, desired).extra) == (2, 0)
        settle(site, desired)
        assert_settled(site, desired)

    def test_a_renamed_object_keeps_its_rights_under_the_new_name(self, site, ana):
        """The API has no ids: it looks like one that vanished and a new one, and is told as such."""
        settle(site, wanted({"r": self.READ}, r={ana}))
        site.rename("sales", "orders", "sold")
        names = {found.path for found in look(site).objects if found.kind == "table"}
        assert names == {("sales", "sold"), ("sales", "costs")}
        assert_settled(site, wanted({"r": on("sales", "sold", "SELECT")}, r={ana}))

    @pytest.mark.parametrize("name", ["a-b", "a=b", "a/b", "_", "x" * 64])
    def test_any_name_is_just_a_name(self, site, name):
        """Of those that Gravitino lets objects have; people are called as they are."""
        site.schema(name)
        site.table(name, name)
        person, key = site.person(f"{name[:20]} %s Größe"), f"role {name}"
        desired = Desired({key: on(name, name, "SELECT")}, {key: frozenset({person})}, {key: f"for {name}"})
        assert [one.error for one in settle(site, desired) if one.error] == []
        assert_settled(site, desired)
        settle(site, Desired({}, {}))
        assert look(site).roles == {}

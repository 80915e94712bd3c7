"""A catalog that names what guards its data outside is never taken without being guarded."""

from __future__ import annotations

import pytest

from tests.api_gravitino.test_rules import shop  # noqa: F401 - a fixture
from tests.api_gravitino.world import ADMIN, Lake

RANGER = {"authorization-provider": "ranger", "authorization.ranger.admin.url": "http://localhost:6080"}


def a_catalog(**properties: str) -> dict[str, object]:
    return {"name": "hive1", "type": "RELATIONAL", "provider": "hive", "properties": properties}


@pytest.mark.parametrize("provider", ["ranger", "RANGER", "jdbc-postgresql"])
def test_a_provider_that_guards_nothing_is_refused_with_what_connects_it(shop: Lake, provider: str) -> None:  # noqa: F811
    body = a_catalog(**{**RANGER, "authorization-provider": provider})
    refused = shop.send("POST", "/catalogs", body, who=ADMIN)
    assert refused.status == 400
    assert f"manage.py connect {shop.name}/hive1 KIND" in refused.body["message"]
    assert shop.send("GET", "/catalogs/hive1", who=ADMIN).status == 404


def test_an_unknown_provider_is_refused_too(shop: Lake) -> None:  # noqa: F811
    refused = shop.send("POST", "/catalogs", a_catalog(**{"authorization-provider": "magic"}), who=ADMIN)
    assert refused.status == 400 and "not known here" in refused.body["message"]


def test_a_chain_of_providers_is_refused_with_what_is_missing_and_what_there_is(shop: Lake) -> None:  # noqa: F811
    chain = {"authorization-provider": "chain", "authorization.chain.plugins": "hive1,hdfs1"}
    refused = shop.send("POST", "/catalogs", a_catalog(**chain), who=ADMIN)
    assert refused.status == 400
    assert "a catalog has one connection here, and a chain needs several" in refused.body["message"]
    assert f"manage.py connect {shop.name}/hive1 KIND" in refused.body["message"]
    assert shop.send("GET", "/catalogs/hive1", who=ADMIN).status == 404


def test_nor_can_it_be_said_of_a_catalog_afterwards(shop: Lake) -> None:  # noqa: F811
    update = {"@type": "setProperty", "property": "authorization-provider", "value": "ranger"}
    refused = shop.send("PUT", "/catalogs/rel", {"updates": [update]}, who=ADMIN)
    assert refused.status == 400 and "is not connected" in refused.body["message"]
    other = {**update, "property": "owner-team"}
    assert shop.send("PUT", "/catalogs/rel", {"updates": [other]}, who=ADMIN).status == 200

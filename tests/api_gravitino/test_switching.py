"""Switching a catalog off: who may, and what is decided while it is off."""

from __future__ import annotations

from typing import Any

import pytest

from catalog.models import Realm
from catalog.queries import realm_named
from lakewarden.client.snapshot import SCHEMA, SCHEMA_OFF, Snapshot
from lakewarden.law.objects import ObjectRef
from tests.api_gravitino.test_rules import shop  # noqa: F401 - a fixture
from tests.api_gravitino.world import ADMIN, OK, Lake, beside
from tests.factories import rewritten

OFF, ON = {"inUse": False}, {"inUse": True}


@pytest.fixture
def used(shop: Lake) -> Lake:  # noqa: F811
    """The shop, where ana may use the catalog and read a table."""
    shop.join("ana")
    shop.role(
        "use", "allow USE_CATALOG catalog rel", "allow USE_SCHEMA schema rel.s",
        "allow SELECT_TABLE table rel.s.t", to=("ana",),
    )  # fmt: skip
    return shop


def asks(lake: Lake, what: str, type_: str, name: str, who: str = "ana") -> Any:
    body = {
        "subject": {"type": "user", "id": who},
        "action": {"name": what},
        "resource": {"type": type_, "id": f"{lake.name}/{name}"},
    }
    return lake.site.send("POST", "/access/v1/evaluation", body, who=who).body


def test_the_owner_alone_switches_a_catalog(used: Lake) -> None:
    assert used.send("PATCH", "/catalogs/rel", OFF, who="ana").status == 403
    assert used.send("GET", "/catalogs/rel/schemas/s/tables/t", who="ana").told == OK
    assert asks(used, "Catalog.setCatalog", "catalog", "rel")["decision"] is False
    assert used.send("PATCH", "/catalogs/rel", OFF, who=ADMIN).told == OK
    assert used.send("PATCH", "/catalogs/rel", ON, who="ana").status == 403


def test_a_realm_can_do_as_the_release_does(used: Lake) -> None:
    realm = realm_named(used.name)
    assert realm is not None
    assert asks(used, "Catalog.setCatalog", "catalog", "rel")["decision"] is False
    beside(lambda: rewritten(Realm.objects.filter(pk=realm.pk), settings={"switching": "release"}))
    assert asks(used, "Catalog.setCatalog", "catalog", "rel")["decision"] is True
    assert asks(used, "Catalog.setCatalog", "catalog", "rel", "bob")["decision"] is False
    assert used.send("PATCH", "/catalogs/rel", OFF, who="bob").status == 403
    assert used.send("PATCH", "/catalogs/rel", OFF, who="ana").told == OK
    assert used.send("GET", "/catalogs/rel/schemas", who=ADMIN).status == 409
    assert asks(used, "Catalog.setCatalog", "catalog", "rel")["decision"] is True
    assert used.send("PATCH", "/catalogs/rel", ON, who="ana").told == OK


def test_while_it_is_off_decisions_agree(used: Lake) -> None:
    assert asks(used, "read", "table", "rel.s.t")["decision"] is True
    assert used.send("PATCH", "/catalogs/rel", OFF, who=ADMIN).told == OK
    for who in ("ana", ADMIN):
        assert used.send("GET", "/catalogs/rel/schemas/s/tables/t", who=who).status == 409
        refused = asks(used, "read", "table", "rel.s.t", who)
        assert refused["decision"] is False
        assert refused["context"]["missing"][0]["kind"] == "switched_off"
        assert refused["context"]["missing"][0]["object"]["id"] == f"{used.name}/rel"
        assert asks(used, "Catalog.loadCatalog", "catalog", "rel", who)["decision"] is True
    assert used.send("PATCH", "/catalogs/rel", ON, who=ADMIN).told == OK
    assert asks(used, "read", "table", "rel.s.t")["decision"] is True


def test_searches_agree(used: Lake) -> None:
    body = {
        "subject": {"type": "user", "id": "ana"},
        "action": {"name": "read"},
        "resource": {"type": "table"},
    }

    def found() -> Any:
        return used.site.send("POST", "/access/v1/search/resource", body, who="ana").body["results"]

    assert {"type": "table", "id": f"{used.name}/rel.s.t"} in found()
    used.send("PATCH", "/catalogs/rel", OFF, who=ADMIN)
    assert {"type": "table", "id": f"{used.name}/rel.s.t"} not in found()


def test_snapshots_agree(used: Lake) -> None:
    used.send("PATCH", "/catalogs/rel", OFF, who=ADMIN)
    held = snapshot(used)
    table = ObjectRef("table", used.name, ("rel", "s", "t"))
    refused = held.decide("read", table)
    assert (refused.allowed, refused.reason) == (False, "switched_off")
    assert held.explain("read", table).missing[0].name == f"{used.name}/rel"
    assert held.decide("Catalog.loadCatalog", ObjectRef("catalog", used.name, ("rel",)))
    # under a spelling that only the switch knows, too
    other = ObjectRef("table", used.name, ("REL", "s", "t"))
    assert not all(held.decide("read", other, lineage=way) for way in held.lineages(other))
    used.send("PATCH", "/catalogs/rel", ON, who=ADMIN)
    assert snapshot(used).decide("read", table)


def test_a_snapshot_of_a_metalake_that_is_off_allows_nothing_in_it(used: Lake) -> None:
    used.send("PATCH", "", OFF, who=ADMIN)
    table = ObjectRef("table", used.name, ("rel", "s", "t"))
    assert snapshot(used).decide("read", table).reason == "switched_off"
    used.send("PATCH", "", ON, who=ADMIN)
    assert snapshot(used).decide("read", table)


def test_an_old_client_refuses_a_snapshot_of_what_is_off(used: Lake) -> None:
    assert fetched(used)["schema"] == SCHEMA
    used.send("PATCH", "/catalogs/rel", OFF, who=ADMIN)
    assert fetched(used)["schema"] == SCHEMA_OFF


def fetched(lake: Lake, who: str = "ana") -> Any:
    return lake.site.send("GET", f"/authz/v1/snapshot?realm={lake.name}", who=who).body


def snapshot(lake: Lake) -> Snapshot:
    return Snapshot.read(fetched(lake))

"""What lies in a metalake over there is brought here, again and again; names alone tell who is who."""

from __future__ import annotations

from typing import Any

import pytest

from catalog.models import Detail
from catalog.nodes import last
from lakewarden.backends.base import Right
from policies.models import Backend, BackendFinding, BackendLogins
from policies.sync import worker
from policies.sync.connections import registration
from policies.sync.connections.opening import open_backend
from policies.sync.discovery.objects import Discovered, discover, read
from tests.factories import AUTHORITY, BY, a_metalake, the
from tests.peers.worlds import Lake

pytestmark = pytest.mark.django_db


@pytest.fixture
def lake(peer) -> Lake:
    there = Lake(peer)
    there.schema("sales")
    there.table("sales", "orders")
    kinds = {"files": ("fileset", "hadoop"), "queue": ("messaging", "kafka"), "brains": ("model", "")}
    for name, (type_, provider) in kinds.items():
        there.make("/catalogs", name=name, type=type_, **({"provider": provider} if provider else {}))
        there.make(f"/catalogs/{name}/schemas", name="raw")
    locations: dict[str, Any] = {"type": "external", "storageLocation": "file:/data/landing"}
    there.make("/catalogs/files/schemas/raw/filesets", name="landing", **locations)
    there.make("/catalogs/queue/schemas/raw/topics", name="clicks")
    there.make("/catalogs/brains/schemas/raw/models", name="churn")
    return there


@pytest.fixture
def governed(lake: Lake) -> Backend:
    root = a_metalake()
    return registration.connect(root, "", "gravitino", lake.url, policy="repair", by=BY, authority=AUTHORITY)


def brought(row: Backend, **more: Any) -> Discovered:
    node = last(row.catalog_id)
    assert node is not None
    source = open_backend(row, node)
    try:
        return discover(node, read(source), by=BY, authority=AUTHORITY, **more)
    finally:
        source.close()


def test_everything_that_lies_there_is_brought_here_once(governed: Backend) -> None:
    # four catalogs, each with a schema and something in it; a queue has the schema `default` of itself
    assert brought(governed).added == 13
    for type_, name in (
        ("table", "shop.sales.orders"),
        ("fileset", "files.raw.landing"),
        ("topic", "queue.raw.clicks"),
        ("model", "brains.raw.churn"),
    ):
        assert the(type_, name)
    shop = Detail.objects.get(securable=the("catalog", "shop").id)
    assert (shop.properties["type"], shop.properties["provider"]) == ("relational", "hive")
    orders = Detail.objects.get(securable=the("table", "shop.sales.orders").id)
    assert [column["name"] for column in orders.columns] == ["x"]
    again = brought(governed)
    assert (again.added, again.renamed, again.described, again.vanished) == (0, 0, 0, [])


def test_a_rename_is_told_as_one_that_vanished_and_a_new_one(governed: Backend, lake: Lake) -> None:
    brought(governed)
    lake.rename("sales", "orders", "sold")
    changes = brought(governed)
    assert (changes.added, changes.renamed, changes.vanished) == (1, 0, ["shop.sales.orders"])
    assert the("table", "shop.sales.sold").id != the("table", "shop.sales.orders").id


def test_owners_grants_and_people_over_there_are_shown_as_others(governed: Backend, lake: Lake) -> None:
    brought(governed)
    lake.on("POST", "/users", {"name": "carl"})
    lake.on("PUT", "/owners/catalog/shop", {"name": "carl", "type": "USER"})
    lake.give_by_hand(Right("schema", ("sales",), "USE_SCHEMA"), "carl")
    worker.now(governed)
    findings = BackendFinding.objects.filter(kind="foreign", holder="carl").order_by("place")
    assert [(item.place, item.what) for item in findings] == [("shop", "OWNER"), ("shop.sales", "USE_SCHEMA")]
    assert "carl" in BackendLogins.objects.get(backend=governed).names

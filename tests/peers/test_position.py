"""A metalake is expensive to read: between whole looks its roles and who holds them are enough."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from lakewarden.backends.base import Right
from policies.models import Backend, BackendFinding
from policies.sync import worker
from policies.sync.backends.shared.rest import Rest
from policies.sync.connections import registration
from tests.factories import AUTHORITY, BY, a_metalake, under
from tests.peers.worlds import Lake

pytestmark = pytest.mark.django_db
TABLES = [f"t{number}" for number in range(6)]


@pytest.fixture
def lake(peer) -> Lake:
    there = Lake(peer, realm="demo", mark="-")
    there.schema("sales")
    for name in TABLES:
        there.table("sales", name)
    return there


@pytest.fixture
def governed(lake: Lake) -> Backend:
    root = a_metalake()
    [shop] = under(root, "catalog", "shop")
    [sales] = under(shop, "schema", "sales")
    under(sales, "table", *TABLES)
    row = registration.connect(root, "", "gravitino", lake.url, policy="repair", by=BY, authority=AUTHORITY)
    worker.now(row)
    return row


@pytest.fixture
def calls(governed: Backend, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The paths that are asked for, once it was compared."""
    send, made = Rest._send, list[str]()

    def heard(self: Rest, method: str, path: str, *more: object) -> object:
        made.append(path)
        return send(self, method, path, *more)

    monkeypatch.setattr(Rest, "_send", heard)
    return made


def looked(row: Backend) -> bool:
    """Look as each minute does; whether all was compared."""
    row.refresh_from_db()
    return worker.look(row) is not None


def test_a_look_in_between_asks_for_no_object_and_proves_nothing(governed: Backend, calls: list[str]) -> None:
    governed.refresh_from_db()
    proved = governed.proved_at
    assert not looked(governed)
    assert calls
    assert not [path for path in calls if "/owners/" in path or "/schemas" in path]
    governed.refresh_from_db()
    assert governed.proved_at == proved
    assert governed.looked_at is not None
    assert governed.looked_at > governed.whole_at


def test_what_somebody_grants_there_is_seen_by_the_next_look(
    governed: Backend, lake: Lake, calls: list[str]
) -> None:
    bo = lake.person("bo")
    assert looked(governed)  # there is somebody new
    assert not looked(governed)
    lake.give_by_hand(Right("table", ("sales", "t1"), "SELECT_TABLE"), bo)
    assert looked(governed)
    assert BackendFinding.objects.filter(backend=governed, kind="foreign", holder=bo).exists()
    assert not looked(governed)


def test_after_an_hour_all_is_read_though_nothing_seems_to_have_changed(
    governed: Backend, lake: Lake, calls: list[str]
) -> None:
    eve = lake.person("eve")
    assert looked(governed)
    lake.on("PUT", "/owners/table/shop.sales.t2", {"name": eve, "type": "USER"})
    assert not looked(governed)
    long_ago = timezone.now() - timedelta(hours=2)
    Backend.objects.filter(pk=governed.pk).update(whole_at=long_ago, proved_at=long_ago)
    assert looked(governed)  # whose it is differs
    assert [path for path in calls if "/owners/" in path]
    Backend.objects.filter(pk=governed.pk).update(whole_at=long_ago, proved_at=long_ago)
    assert not looked(governed)
    governed.refresh_from_db()
    assert governed.proved_at > long_ago
    assert governed.whole_at > long_ago

"""A program that changed something in the backend says so; the console looks at once, not within a minute."""

from __future__ import annotations

import pytest

from accounts import people
from policies.models import AccessRecord, Backend, OutboxEntry
from policies.services import duties, members
from policies.sync.connections import registration
from tests.api.world import BY, Caller, Shop, token
from tests.factories import KEPT

BODIES = [b"", b"{}", b'{"objects": ["shop.sales.orders"]}']


@pytest.fixture
def backend(shop: Shop) -> Backend:
    row = registration.connect(
        shop.realm,
        "shop",
        "postgresql",
        "postgresql://x@127.0.0.1:1/shop",
        policy="repair",
        registered=KEPT,
        **BY,
    )
    OutboxEntry.objects.all().delete()
    return row


@pytest.fixture
def watcher(shop: Shop) -> Caller:
    """A service account with the duty, through a group of such."""
    watchers = people.ensure("group", "watchers")
    members.join_group(watchers, people.ensure("service", "watcher"), **BY)
    duties.give(shop.catalog, "operate_sync", watchers, **BY)
    return Caller(token("service", "watcher", "report"))


def address(backend: Backend) -> str:
    return f"/authz/v1/backends/{backend.pk}/changed"


@pytest.mark.parametrize("body", BODIES)
def test_the_service_named_for_a_backend_has_it_looked_at(
    backend: Backend, watcher: Caller, body: bytes
) -> None:
    answer = watcher.send(address(backend), body)
    assert (answer.status_code, answer.json()) == (202, {"backend": backend.pk, "state": "new"})
    watcher.send(address(backend), body)
    assert OutboxEntry.objects.filter(backend=backend, key="changed").count() == 1


@pytest.mark.parametrize(
    ("kind", "name", "scopes", "status"),
    [
        ("service", "etl", (), 403),  # a service account without the duty
        ("user", "marek", (), 403),  # the owner is a person
        ("service", "watcher", ("check",), 403),  # a token that may not report
    ],
)
def test_nobody_else_has(
    backend: Backend, watcher: Caller, kind: str, name: str, scopes: tuple[str, ...], status: int
) -> None:
    answer = Caller(token(kind, name, *scopes)).send(address(backend), {})
    assert answer.status_code == status
    assert not OutboxEntry.objects.filter(key="changed").exists()


def test_what_is_not_there_reads_like_what_is_not_ones_own(
    backend: Backend, shop: Shop, watcher: Caller
) -> None:
    etl = Caller(token("service", "etl"))
    absent = watcher.send("/authz/v1/backends/987654/changed", {})
    assert (absent.status_code, absent.json()) == (403, etl.send(address(backend), {}).json())
    assert AccessRecord.objects.filter(operation="operate_sync").exists()


@pytest.mark.parametrize("body", [b"[]", b'{"objects": "x"}', b'{"objects": [1]}', b"{"])
def test_a_body_that_says_nothing_is_refused(backend: Backend, watcher: Caller, body: bytes) -> None:
    answer = watcher.send(address(backend), body)
    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"
    assert not OutboxEntry.objects.filter(key="changed").exists()

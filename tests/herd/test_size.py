"""A namespace with a hundred thousand authorizations."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client

from accounts import people
from accounts.models import Principal
from catalog.nodes import Node
from policies.decisions.lookups.entries import entries
from policies.models import Grant
from tests.bulk import put
from tests.console.conftest import BACKEND
from tests.herd.world import ENTRIES, Caller, give, the_namespace

MANY = 100_000


@pytest.fixture
def crowd(herd: Node) -> Node:
    node = the_namespace("STOCK")
    rows = [Principal(kind="user", name=f"u{at:06}", pseudonym=f"p{at:06}") for at in range(MANY)]
    Principal.objects.bulk_create(rows, batch_size=5000)
    put([Grant(holder=row, securable_id=node.id, privilege="READ") for row in rows], opened=5)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return node


@pytest.mark.slow
def test_the_grid_shows_a_page_of_a_crowd(crowd: Node, django_assert_max_num_queries: Any) -> None:
    client = Client()
    client.force_login(people.make_account("admin"), backend=BACKEND)
    address = f"/namespaces/{crowd.id}"
    client.get(address)
    with django_assert_max_num_queries(37):
        answer = client.get(f"{address}?q=u0543")
    assert "100 entries" in answer.content.decode()
    assert len(answer.content) < 100_000
    assert "100,000 entries" in client.get(address).content.decode()


@pytest.mark.slow
def test_a_crowd_is_listed_and_a_check_does_not_notice(
    crowd: Node, herd: Node, admin: Caller, pdp: Caller, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(16):
        answer = admin.get(f"{ENTRIES}/namespaces/STOCK")
    assert answer.content.count(b'"id"') == MANY
    assert pdp.may("U054321", "read", "stock")
    assert not pdp.may("nobody", "read", "stock")
    give("*54321", "SALES", "READ")
    assert pdp.may("u054321", "read", "sales")
    [entry] = entries(herd, holders=[Principal.objects.get(name="u000007").pk])
    assert entry.name == "u000007"
    assert admin.get(f"{ENTRIES}/userIds/U000007/namespaces/stock").status_code == 200

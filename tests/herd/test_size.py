"""A namespace with a hundred thousand authorizations."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.db import connection

from accounts.models import Principal
from catalog.nodes import Node
from policies.entries import entries
from policies.models import Grant
from tests.herd.world import ENTRIES, Caller, give, the_namespace

MANY = 100_000


@pytest.fixture
def crowd(herd: Node) -> Node:
    node = the_namespace("STOCK")
    rows = [Principal(kind="user", name=f"u{at:06}", pseudonym=f"p{at:06}") for at in range(MANY)]
    Principal.objects.bulk_create(rows, batch_size=5000)
    grants = [Grant(holder=row, securable_id=node.id, privilege="READ", opened=5) for row in rows]
    Grant.objects.bulk_create(grants, batch_size=5000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return node


@pytest.mark.slow
def test_a_crowd_is_listed_and_a_check_does_not_notice(
    crowd: Node, herd: Node, admin: Caller, pdp: Caller, django_assert_max_num_queries: Any
) -> None:
    started = time.perf_counter()
    with django_assert_max_num_queries(16):
        answer = admin.get(f"{ENTRIES}/namespaces/STOCK")
    assert answer.content.count(b'"id"') == MANY
    assert time.perf_counter() - started < 10
    started = time.perf_counter()
    assert pdp.may("U054321", "read", "stock")
    assert not pdp.may("nobody", "read", "stock")
    give("*54321", "SALES", "READ")
    assert pdp.may("u054321", "read", "sales")
    [entry] = entries(herd, holders=[Principal.objects.get(name="u000007").pk])
    assert entry.name == "u000007"
    assert admin.get(f"{ENTRIES}/userIds/U000007/namespaces/stock").status_code == 200
    assert time.perf_counter() - started < 3

"""Ten thousand open requests: the rooms ask the database as often as for one, and stay light."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client

from accounts import people
from catalog.nodes import Node
from policies.models import AccessRequest, RequestPart, RequestWant
from policies.requests import submission
from policies.requests.needs import WantedAction
from policies.requests.submission import Asking
from tests.console.test_query_counts import count, ledger
from tests.factories import acting, the

PAGES = {
    "requests to decide": "/requests",
    "own requests": "/requests?tab=mine",
    "all requests": "/requests?tab=all",
    "ended requests": "/requests?tab=ended",
    "filtered requests": "/requests?tab=all&q=board",
    "how many requests wait": "/requests/count",
    "a request": "/requests/{request}",
    "deciding a request": "/requests/{request}/decide",
    "deciding together": "/requests/together?on={request}",
    "asking": "/requests/new?resource=demo/shop.sales.orders&type=table&action=write",
    "requests of an object": "/objects/{table}/requests",
    "what requests must say": "/objects/{table}/asking",
    "while away": "/profile/away",
}
MANY = 10_000


def a_request() -> AccessRequest:
    ana = people.ensure("user", "ana")
    asking = Asking((WantedAction("table", "demo/shop.sales.orders", "read"),), ana, reason="For the board")
    return submission.ask(asking, by=acting("ana"))


def copies(row: AccessRequest, many: int) -> None:
    """The same request so many times, written as fast as the database can."""
    wants, parts = list(row.wants.all()), list(row.parts.all())
    first = row.pk + 1
    rows = [_like(row, pk=first + at, digest=str(at)) for at in range(many)]
    AccessRequest.objects.bulk_create(rows, batch_size=2000)
    for model, some in ((RequestWant, wants), (RequestPart, parts)):
        model.objects.bulk_create(
            (_like(item, pk=None, request_id=number.pk) for number in rows for item in some), batch_size=2000
        )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE policies_accessrequest, policies_requestpart, policies_requestwant")


def _like(row, **changed):  # type: ignore[no-untyped-def]
    fields = {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}
    fields.pop(row._meta.pk.attname)
    return type(row)(
        **{**fields, **{("id" if name == "pk" else name): value for name, value in changed.items()}}
    )


@pytest.mark.parametrize("many", [0, pytest.param(MANY, marks=pytest.mark.slow)])
def test_the_ledger_holds_for_one_request_and_for_ten_thousand(
    many: int, shop: Node, signed_in: Callable[[str], Client]
) -> None:
    for name in ("ana", "olivia", "marek"):
        people.make_account(name)
    row = a_request()
    copies(row, many)
    numbers, olivia = {"request": row.pk, "table": the("table", "shop.sales.orders").id}, signed_in("olivia")
    counted = {name: count(olivia, page.format(**numbers)) for name, page in PAGES.items()}
    assert counted == ledger(PAGES)

"""Each page asks the database as often for many rows as for one; the ledger says how often.

A page that needs another number gets it by hand, with a reason in the commit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.people import ensure, make_account
from authzsite.console.kit import navigation
from catalog.nodes import Node
from policies import notices
from policies.lifecycle.expirations import ENDS_SOON
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.console.conftest import make_shop
from tests.factories import a_person, a_role, acting, admit, the, under

LEDGER = Path(__file__).with_name("query_counts.json")
MANY = 55
"""More than the fifty rows of a page, so that what a list does to go on is counted too."""

PAGES = {
    "home": "/",
    "catalog of a schema": "/catalog/{schema}",
    "tree below a schema": "/catalog/{schema}/nodes",
    "access": "/objects/{table}",
    "access of a schema": "/objects/{schema}",
    "rules": "/objects/{table}/rules",
    "history of a table": "/objects/{table}/history",
    "columns": "/objects/{table}/columns",
    "sync state": "/objects/{table}/state",
    "grant": "/objects/{table}/grant?who=user:ana",
    "people to grant to": "/objects/{table}/grant/people?find=a",
    "revoke": "/objects/{table}/revoke?who=user:ana",
    "granting on many": "/objects/many?on={table}&who=user:ana",
    "revoking on many": "/objects/many?on={table}&do=revoke&who=user:ana",
    "why": "/why?who=mia&action=read&what=shop.sales.orders&type=table",
    "history": "/history",
    "refusals and views": "/history/looks",
    "integrity": "/history/integrity",
    "archive of the history": "/history/archive?realm=demo&q=x",
    "past of a table": "/objects/{table}/then?at=2099-01-01",
    "changes since": "/objects/{table}/then?at=2026-01-01&show=changes",
    "search": "/search?q=o",
    "search with a dot": "/search?q=sales.o",
    "palette": "/search/found?q=o",
    "sync": "/sync",
    "keys": "/keys",
    "people": "/people",
    "a person's reach": "/people/{person}",
    "a person's groups": "/people/{person}/groups",
    "a group's people": "/people/{group}/groups",
    "what somebody leaves": "/people/{person}/leaving?who=user:olivia",
    "the same as a colleague": "/people/{other}/same?as=user:mia",
    "granting to a person": "/people/{person}/grant?q=o",
    "roles": "/roles",
    "role": "/roles/{role}",
    "giving a role": "/roles/{role}/assign?who=group:staff",
    "taking a role": "/roles/{role}/unassign?who=group:analysts",
    "what a role gives": "/roles/{role}/give/{table}",
    "profile": "/profile",
    "inbox": "/inbox",
    "emergencies": "/emergency",
    "how one is told": "/inbox/settings",
    "duties": "/objects/{table}/duties",
    "giving a duty": "/objects/{schema}/duties/give?who=user:ana&duty=view_history",
    "owners": "/owners?type=table",
    "handing over": "/owners/hand-over?of=olivia&who=user:ana",
    "comparing roles": "/roles/compare?a=sales_read&b=mia",
    "many objects of a role": "/roles/{role}/many",
    "a role on many objects": "/roles/{role}/many/give",
    "seen as somebody": "/people/{person}/sees?in={schema}",
    "giving several roles": "/people/{person}/roles",
    "accounts": "/accounts",
    "service accounts": "/accounts?kind=services",
    "account": "/accounts/{account}",
    "disabling an account": "/accounts/{account}/disable",
    "service account": "/services/{service}",
    "joining a group": "/groups/{group}/join?who=user:ana",
    "leaving a group": "/groups/{group}/leave?who=user:mia",
}
ADMINS = ("/accounts", "/services", "/groups")


def grow(orders: Node, many: int) -> None:
    """So many tables, people with a direct grant, people in the group, roles and changes."""
    names = [f"n{at:03}" for at in range(many)]
    under(the("schema", "shop.sales"), "table", *(f"order_{name}" for name in names))
    for name in names:
        a_person(name, "analysts")
        make_account(name)
        ensure("service", f"job_{name}")
        admit(the("metalake"), name)
        grants.add(GrantRequest(orders, (a_person(name),), ("SELECT_TABLE",)), by=acting("olivia"))
        a_role(
            the("metalake"), f"role_{name}", "allow SELECT_TABLE on table shop.sales.orders", held_by=(name,)
        )


def a_shop_of(many: int) -> Node:
    root = make_shop()
    make_account("olivia")
    orders = the("table", "shop.sales.orders")
    grants.add(GrantRequest(orders, (a_person("ana"),), ("SELECT_TABLE",)), by=acting("olivia"))
    grow(orders, many)
    for number in range(many):
        notices.tell(a_person("olivia"), ENDS_SOON, "{who} asks.", key=f"{number}", who=a_person("ana"))
    return root


def counted(signed_in: Callable[[str], Client]) -> dict[str, int]:
    """How often each page asks the database, by whoever finds everything on it."""
    clients = {name: signed_in(name) for name in ("olivia", "marek", "sam")}
    numbers = {
        "table": the("table", "shop.sales.orders").id,
        "schema": the("schema", "shop.sales").id,
        "person": a_person("mia").pk,
        "other": a_person("ana").pk,
        "group": ensure("group", "analysts").pk,
        "role": the("role", "sales_read").id,
        "account": make_account("mia").pk,
        "service": ensure("service", "etl").pk,
    }
    return {
        name: count(clients[_visitor(address)], address.format(**numbers)) for name, address in PAGES.items()
    }


def ledger(pages: Collection[str]) -> dict[str, int]:
    """What the ledger says of these pages."""
    counts = json.loads(LEDGER.read_text())
    return {name: counts.get(name, 0) for name in pages}


def _visitor(address: str) -> str:
    if address.startswith(ADMINS):
        return "sam"
    return "marek" if address.startswith("/roles") or "/duties/" in address else "olivia"


def count(client: Client, address: str) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(navigation, "LASTS", math.inf)  # what is kept for a minute does not end in between
        client.get(address)  # what is kept in the process is kept by now
        with CaptureQueriesContext(connection) as queries:
            answer = client.get(address)
    assert answer.status_code == 200, address
    assert len(answer.content) < 100_000, f"{address} weighs {len(answer.content)} bytes"
    return len(queries)


@pytest.mark.parametrize("many", [1, MANY])
def test_the_ledger_holds_for_one_row_and_for_many(
    many: int, db: None, signed_in: Callable[[str], Client], settings: Any
) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    a_shop_of(many)
    assert counted(signed_in) == ledger(PAGES)

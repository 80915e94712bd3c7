"""Each kind of change in a metalake says on its page which reported uses it would refuse, or newly allow."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.test import Client

from accounts import people
from accounts.models import Principal
from catalog.nodes import Node
from policies.models import Change
from policies.record import access_log
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.factories import a_person, a_use, acting, the

Enter = Callable[[str], Client]
LOST, GAINED = "could no longer read shop.sales.orders", "could read shop.sales.orders"
COVERED = "Usage is reported for 1 of "


def orders() -> Node:
    return the("table", "shop.sales.orders")


def page(client: Client, address: str, **sent: object) -> str:
    answer = client.post(address, sent) if sent else client.get(address)
    assert answer.status_code == 200, answer.status_code
    return " ".join(unescape(answer.content.decode()).split())


def refused(name: str) -> Principal:
    """Somebody whom the console told that they may not read orders."""
    person = people.ensure("user", name)
    access_log.refused(person, "read", orders(), via="console")
    return person


def shows(body: str, *texts: str) -> None:
    assert "Uses of the last 90 days" in body
    for text in texts:
        assert text in body


@pytest.fixture
def ana(shop: Node) -> Node:
    """Ana reads orders by a direct grant, mia by the role of the analysts; a job reports both."""
    grants.add(GrantRequest(orders(), (a_person("ana"),), ("SELECT_TABLE",)), by=acting("olivia"))
    for name in ("ana", "mia"):
        a_use(name, orders())
    return shop


def test_revoking(ana: Node, signed_in: Enter) -> None:
    address = f"/objects/{orders().id}/revoke?who=user:ana"
    shows(page(signed_in("olivia"), address), LOST, COVERED, "Used in 1 run", "Reported by nightly")


def test_revoking_on_many(ana: Node, signed_in: Enter) -> None:
    address = f"/objects/many?on={orders().id}&do=revoke&who=user:ana"
    shows(page(signed_in("olivia"), address), LOST, COVERED)


@pytest.mark.parametrize("state", ["deny", ""], ids=["a denial", "no longer allowed"])
def test_what_a_role_says(ana: Node, signed_in: Enter, state: str) -> None:
    on = orders() if state else the("schema", "shop.sales")
    address = f"/roles/{the('role', 'sales_read').id}/give/{on.id}"
    shows(page(signed_in("marek"), address, SELECT_TABLE=state, step="look"), LOST, COVERED)


def test_giving_a_role(shop: Node, signed_in: Enter) -> None:
    refused("ana")
    address = f"/roles/{the('role', 'sales_read').id}/assign"
    shows(page(signed_in("marek"), address, who="user:ana", step="look"), GAINED, "Refused 1 time")


def test_taking_a_role_that_denies(shop: Node, signed_in: Enter) -> None:
    refused("carl")
    address = f"/roles/{the('role', 'no_contractors').id}/unassign?who=user:carl"
    shows(page(signed_in("marek"), address), GAINED, "Refused 1 time")


def test_deleting_a_role(ana: Node, signed_in: Enter) -> None:
    shows(page(signed_in("marek"), f"/roles/{the('role', 'sales_read').id}/delete"), LOST, COVERED)


def test_a_new_role_with_its_holders(shop: Node, signed_in: Enter) -> None:
    sales = the("schema", "shop.sales")
    refused("ana")
    typed = {"name": "sales_desk", "on": "shop.sales", "who": "user:ana", "rights_of": sales.id}
    rights = ["USE_SCHEMA", "SELECT_TABLE"]
    looked = page(signed_in("marek"), f"/roles/new?in={shop.id}", **typed, rights=rights, step="look")
    shows(looked, GAINED, "Refused 1 time")


@pytest.fixture
def sam(ana: Node, signed_in: Enter, settings: Any) -> Client:
    """A site admin, who is in no realm."""
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    return signed_in("sam")


def test_leaving_a_group(sam: Client) -> None:
    address = f"/groups/{people.ensure('group', 'analysts').pk}/leave?who=user:mia"
    shows(page(sam, address), LOST, COVERED)


def test_joining_a_group(sam: Client) -> None:
    grants.remove(orders(), (a_person("ana"),), ("SELECT_TABLE",), by=acting("olivia"))
    address = f"/groups/{people.ensure('group', 'analysts').pk}/join"
    shows(page(sam, address, who="user:ana", step="look"), GAINED, COVERED)


def test_another_owner(ana: Node, signed_in: Enter) -> None:
    a_use("olivia", orders())
    address = f"/objects/{the('schema', 'shop.sales').id}/owner"
    shows(page(signed_in("marek"), address, who="user:ana", step="look"), LOST, COVERED)


def test_undoing_a_grant(ana: Node, signed_in: Enter) -> None:
    revision = Change.objects.filter(kind="grant.added").latest("revision").revision
    shows(page(signed_in("olivia"), f"/undo/{revision}"), LOST, COVERED)

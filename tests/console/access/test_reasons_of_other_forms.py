"""Every form that gives access asks for the reason that the rule of requests asks for, not grants alone."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.test import Client

from accounts.people import ensure
from catalog.nodes import Node
from policies.models import Change, RequestRule
from policies.requests import rules
from policies.services import grants, roles
from policies.services.grants import GrantRequest
from tests.cdap.world import a_cdap
from tests.factories import AUTHORITY, BY, a_person, a_role, acting, admit, the
from tests.herd.conftest import make_herd
from tests.herd.test_pages import form_of, turned
from tests.herd.world import the_namespace

Enter = Callable[[str], Client]
ASKED, LONG = "Give a reason of at least 15 characters.", "Audit of the third quarter"


def saves(client: Client, address: str, sent: dict[str, Any]) -> bool:
    """Whether what is sent changes anything; that too short a reason does not is said beside the field."""
    before = Change.objects.count()
    body = client.post(address, {"step": "save", **sent}, follow=True).content.decode()
    changed = Change.objects.count() > before
    assert changed != (ASKED in unescape(body))
    return changed


def asks_for_a_reason(client: Client, address: str, sent: dict[str, Any], page: str = "") -> None:
    assert "at least 15 characters" in client.get(page or address).content.decode()
    assert not saves(client, address, {**sent, "reason": "Audit"})
    assert saves(client, address, {**sent, "reason": LONG})


@pytest.fixture
def sales(shop: Node) -> Node:
    """A reason of 15 characters is asked on schema sales alone; the desk reads it."""
    a_role(shop, "desk", "allow SELECT_TABLE on schema shop.sales")
    rules.set_rule(the("schema", "shop.sales"), by=acting("marek"), min_reason=15)
    return the("schema", "shop.sales")


def test_giving_a_role_asks_what_a_grant_on_its_objects_would(sales: Node, signed_in: Enter) -> None:
    address = f"/roles/{the('role', 'desk').id}/assign"
    asks_for_a_reason(signed_in("marek"), address, {"who": "user:ana", "until": "never"})


def test_an_owner_is_named_with_such_a_reason(sales: Node, signed_in: Enter) -> None:
    asks_for_a_reason(signed_in("marek"), f"/objects/{sales.id}/owner", {"who": "user:ana"})


def test_a_role_that_gives_nothing_there_asks_for_none(sales: Node, signed_in: Enter) -> None:
    a_role(the("metalake"), "packers", "allow MODIFY_TABLE on schema shop.stock")
    address = f"/roles/{the('role', 'packers').id}/assign"
    assert saves(signed_in("marek"), address, {"who": "user:ana", "until": "never", "reason": ""})


def test_a_role_that_only_denies_there_asks_for_none(sales: Node, signed_in: Enter) -> None:
    address = f"/roles/{the('role', 'no_contractors').id}/assign"
    assert saves(signed_in("marek"), address, {"who": "user:mia", "until": "never", "reason": ""})


def test_several_roles_for_somebody_ask_what_one_of_them_does(sales: Node, signed_in: Enter) -> None:
    numbers = [the("role", name).id for name in ("browse", "desk")]
    page = f"/people/{a_person('ana').pk}/roles"
    sent = {"role": numbers, "until": "never"}
    marek = signed_in("marek")
    assert not saves(marek, page, {**sent, "reason": "Audit"})
    assert saves(marek, page, {**sent, "reason": LONG})


def test_a_right_for_a_role_asks_and_taking_it_back_does_not(sales: Node, signed_in: Enter) -> None:
    marek, address = signed_in("marek"), f"/roles/{the('role', 'desk').id}/give/{sales.id}"
    asks_for_a_reason(marek, address, {"SELECT_TABLE": "allow", "MODIFY_TABLE": "allow"})
    assert saves(marek, address, {"SELECT_TABLE": "allow", "MODIFY_TABLE": "", "reason": ""})
    assert saves(marek, address, {"SELECT_TABLE": "allow", "MODIFY_TABLE": "deny", "reason": ""})


def test_rights_on_many_objects_ask_where_one_of_them_does(sales: Node, signed_in: Enter) -> None:
    tables = [the("table", name).id for name in ("shop.sales.orders", "shop.stock.items")]
    address = f"/roles/{the('role', 'desk').id}/many/give?" + "&".join(f"o={table}" for table in tables)
    asks_for_a_reason(signed_in("marek"), address, {"MODIFY_TABLE": "allow"})


def test_a_new_role_with_rights_asks_and_an_empty_one_does_not(sales: Node, signed_in: Enter) -> None:
    marek, address = signed_in("marek"), f"/roles/new?in={the('metalake').id}"
    given = {"on": "shop.sales", "rights": "SELECT_TABLE", "rights_of": sales.id}
    assert not saves(marek, address, {"name": "readers", **given, "reason": "Audit"})
    assert saves(marek, address, {"name": "readers", **given, "reason": LONG})
    assert saves(marek, address, {"name": "empty", "reason": ""})


@pytest.mark.parametrize("by_role", [True, False])
def test_the_same_as_a_colleague_asks_what_its_parts_do(by_role: bool, sales: Node, signed_in: Enter) -> None:
    admit(the("metalake"), "noah")
    if not by_role:
        orders = the("table", "shop.sales.orders")
        grants.add(
            GrantRequest(orders, (a_person("ana"),), ("SELECT_TABLE",), way=False), by=acting("olivia")
        )
    like = "mia" if by_role else "ana"
    if by_role:
        roles.assign(the("role", "desk"), a_person("mia"), by=BY, authority=AUTHORITY)
    picked = f"role-{the('role', 'desk').id}" if by_role else f"give-{the('table', 'shop.sales.orders').id}"
    page = f"/people/{ensure('user', 'noah').pk}/same?as=user:{like}"
    asks_for_a_reason(signed_in("marek"), page, {"who": f"user:{like}", "pick": picked}, page)


def test_a_herd_s_grid_asks_to_give_and_not_to_take(db: None, signed_in: Enter) -> None:
    herd = make_herd()
    RequestRule.objects.create(securable_id=herd.id, min_reason=15)
    admin, page = signed_in("admin"), f"/namespaces/{the_namespace('SALES').id}"
    sent = turned(form_of(admin, page), on=("WRITE user:olivia",))
    asks_for_a_reason(admin, page, sent, page)
    less = turned(form_of(admin, page), off=("WRITE user:olivia",))
    assert saves(admin, page, {**less, "reason": ""})


def test_a_herd_s_roles_ask(db: None, signed_in: Enter) -> None:
    herd = make_herd()
    RequestRule.objects.create(securable_id=herd.id, min_reason=15)
    address = f"/herds/{herd.id}/roles"
    asks_for_a_reason(signed_in("admin"), address, {"who": "dora", "role": "DATA_OWNER"})


@pytest.mark.parametrize("text", ["dataset:ns1.orders", "dataset:ns1.*"])
def test_a_grant_on_a_name_of_a_cdap_asks(text: str, db: None, signed_in: Enter) -> None:
    root = a_cdap()
    a_person("ana")
    RequestRule.objects.create(securable_id=root.id, min_reason=15)
    address = f"/instances/{root.id}/grant"
    asks_for_a_reason(signed_in("admin"), address, {"text": text, "who": "user:ana", "may": "READ"})
